"""How far groups are behind, in records and in seconds. Shared by `tape group` and `tape demo`.

Lag in seconds is the age of the oldest record that the group has not committed: now minus that record's timestamp.
Kafka has no request for a record's timestamp by its offset, so the record itself is read (one small fetch).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from tapelog.cli.connect import Connection

READ_S_MAX = 3.0
POLL_S = 0.1
STAMP_BYTES = 16 * 1024

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition of one group. `committed` is None where the group never committed."""

    topic: str
    partition: int
    committed: int | None
    start: int
    end: int
    age_ms: int | None = None

    @property
    def records(self) -> int:
        """Records not yet committed; what retention has removed already does not count."""
        return max(0, self.end - max(self.committed if self.committed is not None else self.start, self.start))

    @property
    def next_offset(self) -> int:
        """The first record that the group has still to read."""
        return max(self.committed if self.committed is not None else self.start, self.start)


def committed(connection: Connection, group: str) -> dict[Place, int]:
    """What a group has committed, by partition, in order."""
    request = [ConsumerGroupTopicPartitions(group)]
    future = connection.admin.list_consumer_group_offsets(request, request_timeout=connection.timeout_s)[group]
    answer = connection.result(future, group=group)
    found = {(part.topic, part.partition): part.offset for part in answer.topic_partitions or () if part.offset >= 0}
    return dict(sorted(found.items()))


def lags(connection: Connection, offsets: Mapping[Place, int], more: Iterable[Place] = ()) -> list[PartitionLag]:
    """Lag of every committed partition, and of `more` that are assigned but never were committed."""
    known = connection.metadata().topics
    places = sorted(
        place for place in {*offsets, *more} if place[0] in known and place[1] in known[place[0]].partitions
    )
    bounds = connection.bounds(places)
    found = [PartitionLag(*place, offsets.get(place), *bounds[place]) for place in places]
    behind = {(lag.topic, lag.partition): lag.next_offset for lag in found if lag.records > 0}
    stamps = timestamps(connection, behind)
    now_ms = round(time.time() * 1000)
    return [with_age(lag, stamps.get((lag.topic, lag.partition)), now_ms) for lag in found]


def with_age(lag: PartitionLag, stamp_ms: int | None, now_ms: int) -> PartitionLag:
    """The same lag, with the age of its oldest unread record: 0 when nothing is unread, None when unknown."""
    age = 0 if lag.records == 0 else None if stamp_ms is None else max(0, now_ms - stamp_ms)
    return PartitionLag(lag.topic, lag.partition, lag.committed, lag.start, lag.end, age)


class StampReader:
    """Reads timestamps of records by offset, with one consumer for as many questions as one likes."""

    def __init__(self, connection: Connection) -> None:
        self._consumer: Consumer = connection.consumer(
            "tape-lag",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            fetch_message_max_bytes=STAMP_BYTES,  # a larger first batch still comes whole
            queued_min_messages=1,
            fetch_queue_backoff_ms=10,
            fetch_wait_max_ms=10,
            check_crcs=False,
        )

    def read(self, offsets: Mapping[Place, int]) -> dict[Place, int]:
        """The timestamp of the record at (or next after) each offset; absent where none came in time."""
        waiting, found = set(offsets), dict[Place, int]()
        self._consumer.incremental_assign([TopicPartition(*place, offset) for place, offset in sorted(offsets.items())])
        deadline = time.monotonic() + READ_S_MAX
        while waiting and time.monotonic() < deadline:
            for message in self._consumer.consume(1, POLL_S):
                place = (message.topic() or "", message.partition() or 0)
                error = message.error()
                if place not in waiting or (error is not None and error.code() != KafkaError._PARTITION_EOF):
                    continue
                waiting.discard(place)
                if error is None and message.timestamp()[0]:
                    found[place] = message.timestamp()[1]
                self._consumer.incremental_unassign([TopicPartition(*place)])  # makes way for the others
        if waiting:
            self._consumer.incremental_unassign([TopicPartition(*place) for place in sorted(waiting)])
        return found

    def close(self) -> None:
        """Give the connections back."""
        self._consumer.close()


def timestamps(connection: Connection, offsets: Mapping[Place, int]) -> dict[Place, int]:
    """One question of a StampReader."""
    if not offsets:
        return {}
    reader = StampReader(connection)
    try:
        return reader.read(offsets)
    finally:
        reader.close()


def totals(found: Iterable[PartitionLag]) -> tuple[int, int | None]:
    """(records, worst age in ms) of a whole group; the age is None where one was looked for and not found."""
    entries = list(found)
    ages = [lag.age_ms for lag in entries if lag.age_ms is not None]
    unknown = any(lag.age_ms is None and lag.records > 0 for lag in entries)
    return sum(lag.records for lag in entries), None if unknown and not ages else max(ages, default=0)
