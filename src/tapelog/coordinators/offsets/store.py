"""The committed offsets of one shard, by group, topic and partition, and those that transactions have yet to commit.

Only replay changes them: `replay` for the record of an offset, `end_transaction` for a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapelog.coordinators.offsets.pending import PendingOffsets
from tapelog.coordinators.offsets.stored import StoredOffset, TopicPartition, stored
from tapelog.coordinators.timeline import Journal, Timelines
from tapelog.wire.record_batch import NO_PRODUCER_ID
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue


class OffsetStore:
    """Offsets by group, over the shard's journal."""

    def __init__(self, journal: Journal) -> None:
        self._groups: Timelines[str, TopicPartition, StoredOffset] = Timelines(journal)
        self.pending = PendingOffsets(journal)

    def replay(self, offset: int, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        """Apply the record that stands in the log at offset, in a transaction of that producer if it names one."""
        found = None if value is None else stored(offset, value)
        self.apply(offset, key.group, (key.topic, key.partition), found, producer_id)

    def apply(self, offset: int, group_id: str, where: Any, found: StoredOffset | None, producer_id: int) -> None:
        """Apply what the record at offset says; None is a tombstone.

        `where` is a TopicPartition; said so, compiled code would take it apart and every offset would get its own.
        """
        if found is None:
            self._groups.remove(offset, group_id, where)
            self.pending.remove(offset, group_id, where)
        elif producer_id == NO_PRODUCER_ID:
            self._groups.at(group_id).put(offset, where, found)
        else:
            self.pending.put(offset, producer_id, group_id, where, found)

    def end_transaction(self, offset: int, producer_id: int, commit: bool) -> None:
        """Apply the marker at offset. Of two commits to a partition the one whose record is later counts."""
        for (group_id, where), pending in self.pending.take(offset, producer_id):
            if not commit:
                continue
            group = self._groups.at(group_id)
            current = group.get(where)
            if current is None or current.record_offset < pending.record_offset:
                group.put(offset, where, pending)

    def tidy(self) -> None:
        """Let go of groups that have nothing left, now or in case of an undo. Call after commit or revert."""
        self._groups.tidy()
        self.pending.tidy()

    def get(self, group_id: str, where: TopicPartition, committed_only: bool) -> StoredOffset | None:
        """One offset, as replayed or as committed."""
        timeline = self._groups.find(group_id)
        if timeline is None:
            return None
        return timeline.committed(where) if committed_only else timeline.get(where)

    def of_group(self, group_id: str, committed_only: bool) -> list[tuple[TopicPartition, StoredOffset]]:
        """All offsets of a group, by topic and partition."""
        timeline = self._groups.find(group_id)
        if timeline is None:
            return []
        return sorted(timeline.committed_items() if committed_only else timeline.items(), key=lambda item: item[0])

    def newest(self, group_id: str) -> Iterator[tuple[TopicPartition, StoredOffset]]:
        """All offsets of a group as replayed, in no particular order: for going over many groups."""
        timeline = self._groups.find(group_id)
        return iter(()) if timeline is None else timeline.items()

    def has_group(self, group_id: str) -> bool:
        """The group has at least one offset, or will have if a transaction commits."""
        return bool(self._groups.find(group_id)) or self.pending.has_group(group_id)

    def group_ids(self) -> list[str]:
        """Groups with at least one offset, or about to have one if a transaction commits."""
        return list(dict.fromkeys([*self._groups.names(), *self.pending.group_ids()]))

    def is_place(self, group_id: str, where: TopicPartition) -> bool:
        """The group has an offset there, or will have if a transaction commits."""
        timeline = self._groups.find(group_id)
        return (timeline is not None and where in timeline) or self.pending.has(group_id, where)

    def places_of(self, group_id: str) -> list[TopicPartition]:
        """Every partition where the group has an offset, or will have if a transaction commits."""
        places = [where for where, _ in self.newest(group_id)]
        if self.pending.has_group(group_id):
            return list(dict.fromkeys([*places, *self.pending.of_group(group_id)]))
        return places

    def snapshot(self) -> object:
        """A comparable picture of everything."""
        return {group_id: dict(group.items()) for group_id, group in self._groups.items()}, self.pending.snapshot()

    def __len__(self) -> int:
        return sum(len(timeline) for _, timeline in self._groups.items())
