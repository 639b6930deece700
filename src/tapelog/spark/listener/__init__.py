"""A streaming query, seen as a consumer: how far it has come is committed to a consumer group, after its checkpoint.

`progress` is what Spark tells, as values; `publisher` commits, on a thread of its own and without ever raising;
`listener` is what Spark calls on the driver. The group has no members: nothing is read or assigned through it.
"""
