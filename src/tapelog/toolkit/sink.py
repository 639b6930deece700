"""The writing side of the loops without transactions: an idempotent producer whose failures are noticed.

`send` only queues; `flush` waits for the broker's answers and says whether all were yes. A loop commits offsets after a
successful flush only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import ClusterMetadata

from tapelog.toolkit.clients import kafka_error
from tapelog.toolkit.records import Record, Send, as_headers

log = logging.getLogger(__name__)

FULL_QUEUE_WAIT_S = 0.1
"""How long a full queue is waited for in one go."""
FLUSH_STEP_S = 0.25


class SendFailed(Exception):
    """A message could not be sent, and sending it again is no use: too large, no such topic, not allowed."""

    def __init__(self, error: KafkaError, topic: str | None = None) -> None:
        super().__init__(error.str() if topic is None else f"to topic {topic!r}: {error.str()}")
        self.error = error
        self.topic = topic


class Interrupted(Exception):
    """The broker did not answer, and the loop was told to stop: the outcome is unknown. `run` logs it and returns."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What a client asks while it waits for an answer, and how it pauses."""

    stopping: Callable[[], bool]
    """Whether the loop is to stop. Asked again and again during every wait; raises when there is no use in waiting."""
    answers: Callable[[], bool] = lambda: True
    """Whether a broker answers at all. A loop that is to stop waits `grace_s` for one that does, and for no other."""
    pause: Callable[[float], object] = time.sleep
    grace_s: float = 10.0
    clock: Callable[[], float] = time.monotonic

    def over(self, began: float) -> bool:
        """Whether an answer that has been waited for since then is to be waited for no longer."""
        return self.stopping() and (self.clock() - began > self.grace_s or not self.answers())


PASSING = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._FATAL,
    }
)
"""Failures that say nothing about the message itself: sending it again may help."""


class Failures:
    """Which records' messages were refused by the broker, noted as the answers arrive.

    on_stored is called with the record of each message that the broker has stored."""

    def __init__(self, on_stored: Callable[[Record], object] | None = None) -> None:
        self._on_stored = on_stored
        self._noted: list[tuple[Record, SendFailed]] = []
        self.passing: KafkaError | None = None

    def told(self, record: Record, error: KafkaError | None, message: Message | None) -> None:
        """The client's answer for one message of this record."""
        if error is None:
            if self._on_stored is not None:
                self._on_stored(record)
            return
        if error.fatal() or error.retriable() or error.code() in PASSING:
            self.passing = error
        else:
            self._noted.append((record, SendFailed(error, message.topic() if message is not None else None)))

    def take(self) -> list[tuple[Record, SendFailed]]:
        """The records whose messages cannot be sent, each once; and start afresh."""
        noted, self._noted, self.passing = self._noted, [], None
        first = {record.coordinates: (record, failure) for record, failure in reversed(noted)}
        return list(first.values())

    def __bool__(self) -> bool:
        return bool(self._noted) or self.passing is not None


def enqueue(producer: Producer, record: Record, send: Send, failures: Failures, waits: Waits) -> None:
    """Queue a message, waiting for room when the queue is full. Interrupted when there is none before the end."""
    began: float | None = None
    while True:
        try:
            producer.produce(
                send.topic,
                value=send.value,
                key=send.key,
                partition=-1 if send.partition is None else send.partition,
                timestamp=send.timestamp_ms or 0,
                headers=list(as_headers(send.headers)),
                on_delivery=partial(failures.told, record),
            )
        except BufferError:
            producer.poll(FULL_QUEUE_WAIT_S)
            began = waits.clock() if began is None else began
            if waits.over(began):
                raise Interrupted("the queue of messages stayed full") from None
        else:
            return


def throw_away(producer: Producer) -> None:
    """Drop what a producer still has to send. One that is finished says so at every call; we know."""
    with suppress(KafkaException):
        producer.purge()
    with suppress(KafkaException):
        producer.flush(0)


class Sink:
    """An idempotent producer. It is made when first used: loops that send nothing have none."""

    def __init__(
        self,
        config: Mapping[str, Any],
        waits: Waits,
        *,
        make: Callable[[dict[str, Any]], Producer] = Producer,
        on_stored: Callable[[Record], object] | None = None,
    ) -> None:
        """on_stored: is called with the record of each message that the broker has stored."""
        self.failures = Failures(on_stored)
        self._config = dict(config)
        self._waits = waits
        self._make = make
        self._producer: Producer | None = None

    def send(self, record: Record, sends: Iterable[Send]) -> None:
        """Queue what a record leads to; SendFailed when the client refuses it at once."""
        for send in sends:
            if self._producer is None:
                self._producer = self._make(self._config)
            try:
                enqueue(self._producer, record, send, self.failures, self._waits)
            except KafkaException as exception:
                error = kafka_error(exception)
                if not error.fatal() and error.code() not in PASSING:
                    raise SendFailed(error, send.topic) from exception
                self.failures.passing = error
        if self._producer is not None:
            self._producer.poll(0)

    def flush(self) -> bool:
        """Wait for the answers. False when something was not stored: `failures` tells what is not worth another try."""
        if self._producer is not None:
            began = self._waits.clock()
            while self._producer.flush(FLUSH_STEP_S):
                if self._waits.over(began):
                    self.discard()
                    raise Interrupted("messages were not acknowledged when the loop had to stop")
        if self.failures.passing is not None:
            log.warning("messages were not stored: %s", self.failures.passing.str())
            if self.failures.passing.fatal() or self.failures.passing.code() == KafkaError._FATAL:
                self.discard()
        return not self.failures

    def ask(self, topic: str, seconds: float) -> ClusterMetadata:
        """Metadata of a topic that was sent to; KafkaException when no broker answers in time."""
        assert self._producer is not None, "nothing was sent"
        return cast(ClusterMetadata, self._producer.list_topics(topic, timeout=seconds))

    def discard(self) -> None:
        """Forget what has not been sent yet, and the producer with it."""
        producer, self._producer = self._producer, None
        if producer is not None:
            throw_away(producer)
