"""Server-side assignors of consumer groups: pure functions from a `spec.GroupSpec` to who should own what.

`uniform` balances all partitions over all members, `range` gives each member the same run of partitions of every topic.
Both keep what members have where that is possible. `by_name` is the table of names that clients may ask for.
"""
