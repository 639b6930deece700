"""Where a partition begins when the client does not know.

librdkafka is told to say so (`auto.offset.reset=error`) and never to choose by itself, because it can be wrong. While a
group's offset is part of an open transaction, its broker asks to wait for it; if a rebalance comes meanwhile,
librdkafka takes the partition for one without an offset and resets it (2.16 does, with Tapelog and with Apache Kafka).
Beginning at the beginning would then do everything again that was ever done. So the committed offset is asked for once
more, as long as it takes, and only a partition that has none, or one whose record is gone, begins where `start` says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, Consumer, KafkaError, KafkaException, TopicPartition

from tapelog.toolkit.clients import kafka_error
from tapelog.toolkit.records import Place

log = logging.getLogger(__name__)

ASK_S_MAX = 0.5
"""How long one question may take: nothing else is done meanwhile."""

RETRY_S = 1.0


class Beginnings:
    """Partitions that the client could not place, until they are."""

    def __init__(self, consumer: Consumer, start: str, clock: Callable[[], float], *, incremental: bool) -> None:
        """start: `earliest`, `latest` or `error`. incremental: whether assignments change partition by partition."""
        self._consumer = consumer
        self._start = start
        self._clock = clock
        self._incremental = incremental
        self._unplaced: dict[Place, KafkaError] = {}
        self._placed: dict[Place, int] = {}
        """Where partitions of this assignment were told to begin. A report after that: there is nothing there."""
        self._at_once = 0
        """How many are asked for in one question; 0 is all."""
        self._not_before = 0.0

    def report(self, place: Place, error: KafkaError) -> None:
        """The client does not know where to begin this one, or finds nothing where it is."""
        log.info("where does %s[%d] begin? %s", *place, error.str())
        if not self._unplaced:
            self._at_once = 0
        self._unplaced[place] = error

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are somebody else's now."""
        for place in places:
            self._unplaced.pop(place, None)
            self._placed.pop(place, None)

    def place(self, owned: set[Place]) -> None:
        """Ask where they begin, and let those begin of which it is known; the others later. An error if one has no
        offset and `start` allows none."""
        if not self._unplaced or self._clock() < self._not_before:
            return
        asked = list(self._unplaced)[: self._at_once or None]
        try:
            begun = [self._beginning(part) for part in self._committed(asked)]
            self._begin(begun, owned)
        except KafkaException as exception:
            if kafka_error(exception).code() == KafkaError._AUTO_OFFSET_RESET:
                raise
            self._later(asked, exception)
            return
        for part in begun:
            self._unplaced.pop((part.topic, part.partition))

    def _later(self, asked: list[Place], exception: KafkaException) -> None:
        """One that has to wait lets all wait that are asked for with it: next time fewer, and others first."""
        log.info("%s[%d] and %d more begin later: %s", *asked[0], len(asked) - 1, exception)
        for place in asked:
            self._unplaced[place] = self._unplaced.pop(place)
        self._at_once = max(1, len(asked) // 2)
        self._not_before = self._clock() + RETRY_S

    def _committed(self, places: list[Place]) -> list[TopicPartition]:
        found = self._consumer.committed([TopicPartition(*place) for place in places], timeout=ASK_S_MAX)
        for part in found:
            if part.error is not None:
                raise KafkaException(part.error)
        return found

    def _beginning(self, found: TopicPartition) -> TopicPartition:
        place = found.topic, found.partition
        if found.offset >= 0 and self._placed.get(place) != found.offset:
            return TopicPartition(*place, found.offset)
        if self._start == "earliest":
            return TopicPartition(*place, OFFSET_BEGINNING)
        if self._start != "latest":
            raise KafkaException(self._unplaced[place])
        ends = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=ASK_S_MAX, cached=False)
        if ends is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return TopicPartition(*place, ends[1])  # a number: "the end" would be another one later

    def _begin(self, begun: list[TopicPartition], owned: set[Place]) -> None:
        log.info("begins: %s", ", ".join(f"{part.topic}[{part.partition}] at {part.offset}" for part in begun))
        places = {(part.topic, part.partition): part.offset for part in begun}
        if self._incremental:
            held = {(part.topic, part.partition) for part in self._consumer.assignment()}
            if leaving := [TopicPartition(*place) for place in places if place in held]:
                self._consumer.incremental_unassign(leaving)
            self._consumer.incremental_assign(begun)
        else:
            others = [TopicPartition(*place) for place in sorted(owned - set(places))]
            self._consumer.assign(begun + [self._where_it_is(part) for part in self._positions(others)])
        self._placed.update(places)

    def _positions(self, others: list[TopicPartition]) -> list[TopicPartition]:
        return self._consumer.position(others) if others else []

    def _where_it_is(self, part: TopicPartition) -> TopicPartition:
        """Of a partition that goes on: behind what was taken from it, where it was told to begin, or as committed."""
        place = part.topic, part.partition
        offset = part.offset if part.offset >= 0 else self._placed.get(place, OFFSET_STORED)
        return TopicPartition(*place, offset)
