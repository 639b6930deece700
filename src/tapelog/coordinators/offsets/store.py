"""The committed offsets of one shard, by group, topic and partition. Only replay changes them."""

from __future__ import annotations

from collections.abc import Iterator

from tapelog.coordinators.timeline import Journal, Timeline
from tapelog.wire.records.offset_commit_value import OffsetCommitValue

TopicPartition = tuple[str, int]


class OffsetStore:
    """Offsets by group, over the shard's journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._groups: dict[str, Timeline[TopicPartition, OffsetCommitValue]] = {}
        self._thinned: dict[str, None] = {}

    def put(self, offset: int, group_id: str, where: TopicPartition, value: OffsetCommitValue) -> None:
        """Replay a commit that stands in the log at offset."""
        timeline = self._groups.get(group_id)
        if timeline is None:
            timeline = self._groups[group_id] = Timeline(self._journal)
        timeline.put(offset, where, value)

    def remove(self, offset: int, group_id: str, where: TopicPartition) -> None:
        """Replay a tombstone that stands in the log at offset."""
        timeline = self._groups.get(group_id)
        if timeline is not None:
            timeline.remove(offset, where)
            self._thinned[group_id] = None

    def tidy(self) -> None:
        """Let go of groups that have nothing left, now or in case of an undo. Call after commit or revert."""
        if self._thinned and self._journal.size == 0:
            for group_id in self._thinned:
                if self._groups[group_id].bare:
                    del self._groups[group_id]
            self._thinned.clear()

    def get(self, group_id: str, where: TopicPartition, committed_only: bool) -> OffsetCommitValue | None:
        """One offset, as replayed or as committed."""
        timeline = self._groups.get(group_id)
        if timeline is None:
            return None
        return timeline.committed(where) if committed_only else timeline.get(where)

    def of_group(self, group_id: str, committed_only: bool) -> list[tuple[TopicPartition, OffsetCommitValue]]:
        """All offsets of a group, by topic and partition."""
        timeline = self._groups.get(group_id)
        if timeline is None:
            return []
        return sorted(timeline.committed_items() if committed_only else timeline.items(), key=lambda item: item[0])

    def newest(self, group_id: str) -> Iterator[tuple[TopicPartition, OffsetCommitValue]]:
        """All offsets of a group as replayed, in no particular order: for going over many groups."""
        timeline = self._groups.get(group_id)
        return iter(()) if timeline is None else timeline.items()

    def has_group(self, group_id: str) -> bool:
        """The group has at least one offset, committed or about to be."""
        return bool(self._groups.get(group_id))

    def has_committed_group(self, group_id: str) -> bool:
        """The group has at least one committed offset."""
        timeline = self._groups.get(group_id)
        return timeline is not None and next(timeline.committed_items(), None) is not None

    def group_ids(self) -> Iterator[str]:
        """Groups with at least one offset."""
        return (group_id for group_id, timeline in self._groups.items() if len(timeline))

    def __len__(self) -> int:
        return sum(len(timeline) for timeline in self._groups.values())
