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

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from tapelog.toolkit.clients import kafka_error
from tapelog.toolkit.records import Place

log = logging.getLogger(__name__)

ASK_S_MAX = 0.25
"""How long one question may take: nothing else is done meanwhile."""

RETRY_S = 0.5
BY_START = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}


class Beginnings:
    """Partitions that the client could not place, until they are."""

    def __init__(self, consumer: Consumer, start: str, clock: Callable[[], float], *, incremental: bool) -> None:
        """start: `earliest`, `latest` or `error`. incremental: whether assignments change partition by partition."""
        self._consumer = consumer
        self._start = start
        self._clock = clock
        self._incremental = incremental
        self._unplaced: dict[Place, KafkaError] = {}
        self._not_before = 0.0

    def report(self, place: Place, error: KafkaError) -> None:
        """The client does not know where to begin this one."""
        log.info("where does %s[%d] begin? %s", *place, error.str())
        self._unplaced[place] = error

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are somebody else's now."""
        for place in places:
            self._unplaced.pop(place, None)

    def place(self, owned: set[Place]) -> None:
        """Ask where they begin, and let those begin of which it is known; the others later. An error if one has no
        offset and `start` allows none."""
        if not self._unplaced or self._clock() < self._not_before:
            return
        begun: list[TopicPartition] = []
        for place in list(self._unplaced):
            try:
                begun.append(self._beginning(place))
            except KafkaException as exception:
                if kafka_error(exception).code() == KafkaError._AUTO_OFFSET_RESET:
                    raise
                self._later(place, exception)
                break
        if begun:
            self._begin(begun, owned)

    def _later(self, place: Place, exception: KafkaException) -> None:
        log.info("%s[%d] begins later: %s", *place, exception)
        self._unplaced[place] = self._unplaced.pop(place)  # behind the others: they may be luckier
        self._not_before = self._clock() + RETRY_S

    def _beginning(self, place: Place) -> TopicPartition:
        (found,) = self._consumer.committed([TopicPartition(*place)], timeout=ASK_S_MAX)
        if found.error is not None:
            raise KafkaException(found.error)
        if found.offset >= 0:
            there = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=ASK_S_MAX, cached=False)
            if there is not None and there[0] <= found.offset <= there[1]:
                return TopicPartition(*place, found.offset)
        if self._start not in BY_START:
            raise KafkaException(self._unplaced[place])
        return TopicPartition(*place, BY_START[self._start])

    def _begin(self, begun: list[TopicPartition], owned: set[Place]) -> None:
        places = [(part.topic, part.partition) for part in begun]
        log.info("begins: %s", ", ".join(f"{part.topic}[{part.partition}] at {part.offset}" for part in begun))
        try:
            if self._incremental:
                self._consumer.incremental_unassign([TopicPartition(*place) for place in places])
                self._consumer.incremental_assign(begun)
            else:
                others = [TopicPartition(*place) for place in sorted(owned - set(places))]
                for part in self._consumer.position(others) if others else ():
                    offset = part.offset if part.offset >= 0 else OFFSET_STORED
                    begun.append(TopicPartition(part.topic, part.partition, offset))
                self._consumer.assign(begun)
        except KafkaException as exception:
            self._later(places[-1], exception)
        else:
            self.forget(places)
