"""Committed offsets: kept apart from membership, so that every kind of group (and a transaction) can use them.

`store` is the state, with `pending` for transactions that have not ended; `commit`, `txn_commit`, `fetch` and `delete`
are the handlers, `expiry` is what retention takes away, `loader` the short way in at a start. Groups are asked through
`owner`.
"""
