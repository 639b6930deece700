"""Committed offsets: kept apart from membership, so that every kind of group (and a transaction) can use them.

`store` is the state, `commit`, `fetch` and `delete` the handlers, `expiry` what retention takes away.
"""
