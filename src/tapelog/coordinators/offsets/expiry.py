"""Retention of committed offsets: from time to time everything is looked at, a bounded piece per wake-up.

Offsets of a group with members expire only where nobody subscribes to the topic any more; those of an empty group once
it has been empty, and those of a consumer outside any group once it has been silent, for the retention time. Both stay
while a transaction has yet to decide about the partition, and the group while one has about any of its partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.offsets.owner import OffsetDesk
from tapelog.coordinators.offsets.stored import TopicPartition
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, ShardContext
from tapelog.coordinators.records import offset_tombstone

EXPIRY: Final = "expiry"

OFFSETS_PER_STEP: Final = 5000
"""About how many offsets are looked at in one wake-up; a group is looked at as a whole."""


class OffsetExpiry:
    """The rounds in which a shard's offsets expire."""

    def __init__(self, desk: OffsetDesk, context: ShardContext, group_ids: Callable[[], list[str]]) -> None:
        self._desk = desk
        self._context = context
        self._group_ids = group_ids
        self._left: list[str] = []

    def start(self) -> None:
        """Look at everything after the check interval, and so on."""
        self._context.set_deadline(EXPIRY, self._desk.config.expiry_interval_ms, self._begin)

    def _begin(self) -> Outcome[None]:
        self.start()
        self._left = self._group_ids()
        self._left.reverse()
        return self._step()

    def _step(self) -> Outcome[None]:
        records: list[CoordinatorRecord] = []
        looked = 0
        while self._left and looked < OFFSETS_PER_STEP:
            looked += 1 + expire_group(self._desk, self._left.pop(), records)
        if self._left:
            self._context.set_deadline(EXPIRY, 0, self._step)
        else:
            self.start()
        return Outcome(records, None, atomic=False)


def expire_group(desk: OffsetDesk, group_id: str, records: list[CoordinatorRecord]) -> int:
    """Add tombstones for what retention takes from the group, and for the group if it is deserted and has nothing left.

    Returns how many offsets there were.
    """
    owner = desk.owner_of(group_id)
    if owner is None:
        return 0
    pending = desk.store.pending
    now_ms = desk.clock.wall_ms()
    retention_ms = desk.config.offsets_retention_ms
    read: dict[str, bool] = {}
    gone: list[TopicPartition] = []
    kept = pending.has_group(group_id)
    looked = 0
    for where, found in desk.store.newest(group_id):
        looked += 1
        topic = where[0]
        if topic not in read:
            read[topic] = owner.is_subscribed_to(topic)
        since_ms = None if read[topic] else owner.idle_since_ms(found.commit_timestamp)
        if since_ms is None:
            kept = True
            continue
        due_ms = found.expire_timestamp if found.expire_timestamp >= 0 else since_ms + retention_ms
        if now_ms < due_ms or pending.has(group_id, where):
            kept = True
        else:
            gone.append(where)
    records.extend(offset_tombstone(group_id, *where) for where in sorted(gone))
    if not kept and owner.is_deserted:
        records.extend(owner.tombstones())
    return looked
