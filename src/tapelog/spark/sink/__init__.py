"""`format("tapelog")` for writing: the classes that Spark calls, thin over `plan.write_*` (what) and `encode` (how).

A task writes inside a transaction and leaves it open; the driver ends it. `asking` performs the steps of the protocol
on a cluster, `task` writes rows, `writers` are what Spark sees. ADR 0018 tells why it is exactly once.
"""
