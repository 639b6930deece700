"""Reads the oldest unread record of many partitions at once: one bounded fetch each, side by side.

Kafka has no request that tells a record's timestamp by its offset, so the record is fetched. A fetch asks for little,
and a partition leaves the assignment with its first record, so what is read stays small however far a group is behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import TracebackType

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Message, TopicPartition

from tapelog.toolkit.clients import DAMAGED, Cluster
from tapelog.toolkit.lag.clients import make_consumer
from tapelog.toolkit.lag.values import Isolation, Oldest, Place

READ_S_MAX = 3.0
POLL_S = 0.05
FETCH_BYTES = 32 * 1024  # of one partition; a larger first batch still comes whole
PARTITIONS_AT_ONCE_MAX = 2000

_FATAL = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
)


class OldestReader:
    """One consumer, made when first needed, for as many questions as one likes. One thread at a time."""

    def __init__(self, cluster: Cluster, isolation: Isolation = "read_committed") -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._made: Consumer | None = None

    def __enter__(self) -> OldestReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(
        self, wanted: Iterable[tuple[Place, int]], read_s_max: float = READ_S_MAX
    ) -> dict[tuple[Place, int], Oldest]:
        """The first record at or after each (partition, offset); absent where it was not found in time.

        The same partition may be asked at several offsets (several groups read it): those take turns.
        """
        deadline = time.monotonic() + read_s_max
        found: dict[tuple[Place, int], Oldest] = {}
        for turn in turns(wanted):
            if time.monotonic() >= deadline:
                break
            answers = self._read_turn(turn, deadline)
            found.update({(place, turn[place]): oldest for place, oldest in answers.items()})
        return found

    def _read_turn(self, offsets: Mapping[Place, int], deadline: float) -> dict[Place, Oldest]:
        consumer, waiting, found = self._consumer(), set(offsets), dict[Place, Oldest]()
        consumer.incremental_assign([TopicPartition(*place, offset) for place, offset in sorted(offsets.items())])
        try:
            while waiting and (left := deadline - time.monotonic()) > 0:
                done = []
                for message in consumer.consume(min(len(waiting), 500), min(left, POLL_S)):
                    place = (message.topic() or "", message.partition() or 0)
                    oldest = as_oldest(message)
                    if place in waiting and (oldest is not None or is_damaged(message)):
                        waiting.discard(place)
                        done.append(place)
                        if oldest is not None:
                            found[place] = oldest
                if done:
                    consumer.incremental_unassign([TopicPartition(*place) for place in done])  # makes way for others
        finally:
            if waiting:
                consumer.incremental_unassign([TopicPartition(*place) for place in sorted(waiting)])
        return found

    def _consumer(self) -> Consumer:
        if self._made is None:
            self._made = make_consumer(
                self._cluster,
                self._isolation,
                fetch_message_max_bytes=FETCH_BYTES,
                queued_min_messages=1,
                fetch_queue_backoff_ms=10,
                fetch_wait_max_ms=10,
            )
        return self._made

    def close(self) -> None:
        """Give the connections back."""
        if self._made is not None:
            self._made.close()
            self._made = None


def turns(wanted: Iterable[tuple[Place, int]]) -> list[dict[Place, int]]:
    """The questions in as few turns as may be: in one turn a partition stands once, and not too many stand in it."""
    rounds: list[dict[Place, int]] = []
    asked: dict[Place, int] = {}
    for place, offset in sorted(set(wanted)):
        number = asked[place] = asked.get(place, -1) + 1
        if number == len(rounds):
            rounds.append({})
        rounds[number][place] = offset
    return [dict(part) for one in rounds for part in batched(one.items(), PARTITIONS_AT_ONCE_MAX)]


def batched(items: Iterable[tuple[Place, int]], size: int) -> Iterator[tuple[tuple[Place, int], ...]]:
    """Pieces of at most that size (itertools has this from Python 3.12)."""
    rest = iter(items)
    while piece := tuple(islice(rest, size)):
        yield piece


def is_damaged(message: Message) -> bool:
    """Whether the client does not get any further there: waiting would only take the time of other questions."""
    error = message.error()
    return error is not None and error.code() in DAMAGED


def as_oldest(message: Message) -> Oldest | None:
    """What a message tells: a record, the end of the partition, or nothing yet (a passing error)."""
    error = message.error()
    offset = message.offset() or 0
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return Oldest(offset, is_end=True)
        if error.code() in _FATAL:
            raise KafkaException(error)
        return None
    kind, stamp = message.timestamp()
    return Oldest(offset, stamp if kind and stamp >= 0 else None, kind == TIMESTAMP_LOG_APPEND_TIME)
