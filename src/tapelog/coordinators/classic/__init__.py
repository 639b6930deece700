"""Classic consumer groups: members join, the leader assigns, everyone syncs.

`group` is the state of one group, `registry` all groups of a shard; `join`, `rebalance`, `sync` and `leave` are what
members can do to them. Membership of a rebalance under way is soft state: it is lost with the coordinator, and members
join again. What a finished rebalance decided is a record (`registry.image_of`).
"""
