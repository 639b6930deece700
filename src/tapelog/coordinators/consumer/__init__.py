"""Consumer groups of the newer protocol (KIP-848): members heartbeat, the coordinator assigns and reconciles.

`group` and `store` are the hard state, changed by replay alone; `records` writes it down in Kafka's schema.
`registry` has what the handlers need beside it. `heartbeat`, `leave` and `regexes` are what can happen to a group,
`target` decides who should own what, `reconcile` moves one member towards that, `describe` and `commits` answer
questions. A member's rebalance never stops another one: everybody keeps what it owns until told otherwise by the
answer to its own heartbeat.
"""
