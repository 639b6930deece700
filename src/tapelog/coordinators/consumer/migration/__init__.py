"""Between the classic and the consumer protocol, both ways and live: members of either kind in one consumer group.

`upgrade` turns a classic group into a consumer group when the first member of the newer protocol joins it, `downgrade`
turns it back when the last one has gone. In between, members of the classic protocol are served by `join`, `sync` and
`leave`: for the rest of the group they are members like any others, whose JoinGroup says what they own and whose
SyncGroup tells them what they got; REBALANCE_IN_PROGRESS makes them join again. `embedded` speaks the bytes that
classic members put into their requests, `deadlines` waits for those who have to join or to sync.
"""
