"""Records on their way into batches: each goes to its partition, and waits there until the batch is large enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tapelog.client.metadata import TopicPartition
from tapelog.client.partitioner import Sticky, partition_for_key
from tapelog.wire.record_batch import Record

RECORD_OVERHEAD: Final = 24
"""What a record takes beside its key and value, roughly."""
HEADER_OVERHEAD: Final = 4


class _Open:
    """Records of a partition that are not a batch yet."""

    __slots__ = ("records", "size")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.size = 0


class Gatherer:
    """Open batches by partition. `partitions_of` tells how many a topic has."""

    def __init__(self, batch_bytes: int, partitions_of: Callable[[str], int], chance: Callable[[], float]) -> None:
        self._batch_bytes = batch_bytes
        self._partitions_of = partitions_of
        self._sticky = Sticky(chance)
        self._open: dict[TopicPartition, _Open] = {}
        self._counts: dict[str, int] = {}

    def add(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Sequence[tuple[str, bytes | None]],
        partition: int | None,
    ) -> TopicPartition | None:
        """Take a record; the partition whose batch is full with it, if one is."""
        sticky = partition is None and key is None
        if partition is None:
            count = self._count(topic)
            partition = self._sticky.partition(topic, count) if key is None else partition_for_key(key, count)
        where = TopicPartition(topic, partition)
        held = self._open.get(where)
        if held is None:
            held = self._open[where] = _Open()
        held.records.append(Record(0, timestamp_ms, key, value, headers))
        size = RECORD_OVERHEAD + len(key or b"") + len(value or b"")
        for name, content in headers:
            size += len(name) + len(content or b"") + HEADER_OVERHEAD
        held.size += size
        if held.size < self._batch_bytes:
            return None
        self._counts.pop(topic, None)  # a topic may have grown: look again with each batch
        if sticky:
            self._sticky.turn(topic, self._count(topic))
        return where

    def waiting(self) -> list[TopicPartition]:
        """Partitions with records that have not been taken."""
        return list(self._open)

    def take(self, where: TopicPartition) -> list[Record]:
        """The records of that partition; it begins anew."""
        return self._open.pop(where).records

    def _count(self, topic: str) -> int:
        count = self._counts.get(topic)
        if count is None:
            count = self._counts[topic] = self._partitions_of(topic)
        return count
