"""`format("tapelog")`: the classes that Spark calls, thin over `plan` (what to read), `client` and `decode` (how).

On the driver, Spark asks a reader for ranges; in the executors it hands them back one by one and takes Arrow batches.
What travels between both is frozen values. `errors` makes three lines of what goes wrong.
"""
