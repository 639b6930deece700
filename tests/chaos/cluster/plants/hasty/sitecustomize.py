"""A planted mistake: for `orders`, acks=all is answered when the leader alone has it. Nodes start with this on
PYTHONPATH; the other topics are spared, so that every client lives to tell what it was promised."""

from __future__ import annotations

from tapelog.replication.partition import AppendWaiter, Partition

_park = Partition.park


def park(self: Partition, end_offset: int, waiter: AppendWaiter, index: int) -> None:
    """Like acks=1."""
    (self.park_local if self.topic == "orders" else _park.__get__(self))(end_offset, waiter, index)


Partition.park = park  # type: ignore[method-assign]
