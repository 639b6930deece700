"""Offsets of transactions that have not ended, by producer, and which producers have a say in which partition.

They count when the producer's marker commits them, and never if it aborts. Only replay changes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapelog.coordinators.offsets.stored import StoredOffset, TopicPartition
from tapelog.coordinators.timeline import Journal, Timelines

Place = tuple[str, TopicPartition]
"""A group and a partition it reads."""


class PendingOffsets:
    """The offsets of open transactions of one shard, over its journal."""

    def __init__(self, journal: Journal) -> None:
        self._producers: Timelines[int, Place, StoredOffset] = Timelines(journal)
        self._groups: Timelines[str, TopicPartition, tuple[int, ...]] = Timelines(journal)

    def put(self, offset: int, producer_id: int, group_id: str, where: TopicPartition, pending: StoredOffset) -> None:
        """Replay a transactional commit that stands in the log at offset."""
        self._producers.at(producer_id).put(offset, (group_id, where), pending)
        group = self._groups.at(group_id)
        producers = group.get(where) or ()
        if producer_id not in producers:
            group.put(offset, where, (*producers, producer_id))

    def remove(self, offset: int, group_id: str, where: TopicPartition) -> None:
        """Replay a tombstone: whatever is pending there will not count."""
        for producer_id in self._groups.remove(offset, group_id, where) or ():
            self._producers.remove(offset, producer_id, (group_id, where))

    def take(self, offset: int, producer_id: int) -> list[tuple[Place, StoredOffset]]:
        """Replay a marker: everything the producer has pending is pending no more. In the order it came."""
        offsets = self._producers.find(producer_id)
        taken = [] if offsets is None else list(offsets.items())
        for place, _ in taken:
            self._producers.remove(offset, producer_id, place)
            group_id, where = place
            group = self._groups.at(group_id)
            others = tuple(other for other in group.get(where) or () if other != producer_id)
            if others:
                group.put(offset, where, others)
            else:
                self._groups.remove(offset, group_id, where)
        return taken

    def tidy(self) -> None:
        """Let go of what has nothing left. Call after commit or revert."""
        self._producers.tidy()
        self._groups.tidy()

    def has(self, group_id: str, where: TopicPartition) -> bool:
        """Some transaction has yet to decide where the group stands in that partition."""
        group = self._groups.find(group_id)
        return group is not None and where in group

    def has_group(self, group_id: str) -> bool:
        """Some transaction has yet to decide about the group."""
        return bool(self._groups.find(group_id))

    def of_group(self, group_id: str) -> list[TopicPartition]:
        """The partitions about which a transaction has yet to decide, in order."""
        group = self._groups.find(group_id)
        return [] if group is None else sorted(where for where, _ in group.items())

    def group_ids(self) -> Iterator[str]:
        """Groups about which a transaction has yet to decide."""
        return self._groups.names()

    def first_record(self, group_id: str, where: TopicPartition) -> int | None:
        """Where in the log the first record stands of those pending there."""
        group = self._groups.find(group_id)
        first: int | None = None
        for producer_id in () if group is None else group.get(where) or ():
            offsets = self._producers.find(producer_id)
            pending = None if offsets is None else offsets.get((group_id, where))
            assert pending is not None, "the producers of a partition have something pending there"
            first = pending.record_offset if first is None else min(first, pending.record_offset)
        return first

    def snapshot(self) -> object:
        """A comparable picture of everything."""
        offsets = {producer_id: dict(pending.items()) for producer_id, pending in self._producers.items()}
        groups = {
            group_id: {where: sorted(producers) for where, producers in group.items()}
            for group_id, group in self._groups.items()
        }
        return offsets, groups

    def invariants(self) -> None:
        """Both views tell the same."""
        by_producer = {(who, place) for who, pending in self._producers.items() for place, _ in pending.items()}
        by_group = {
            (who, (group_id, where))
            for group_id, group in self._groups.items()
            for where, producers in group.items()
            for who in producers
        }
        assert by_producer == by_group
