"""A transactional producer that knows what to do with each kind of error.

librdkafka tells of every error whether the call may be repeated, whether the transaction must be aborted, or whether
the producer is finished. This class does what is told: it repeats, it aborts, it makes a new producer. Its user sees
two outcomes, committed or undone, and one exception that ends the loop: Fenced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from tapelog.toolkit.clients import kafka_error
from tapelog.toolkit.durations import Backoff
from tapelog.toolkit.records import Record, Send
from tapelog.toolkit.sink import PASSING, Failures, Interrupted, SendFailed, Waits, enqueue, throw_away

log = logging.getLogger(__name__)

CALL_S_MAX = 0.5
"""How long one call may take before we look whether the loop is to stop. Repeated, it goes on where it was."""

SAID_EVERY_S = 10.0
"""How often a call that has to be repeated is logged."""

FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
BROKEN = PASSING | FENCED | {KafkaError._STATE, KafkaError._PREV_IN_PROGRESS}
"""Errors of `produce` that are about the transaction, not about the message."""

HOPELESS = frozenset(
    {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError._INVALID_ARG,
        KafkaError._NOT_CONFIGURED,
    }
)


class Fenced(Exception):
    """Another producer uses the same transactional id and started later: this one must end."""


class Undone(Exception):
    """The transaction is aborted, or will be by the broker: nothing of it counts."""


class Transactions:
    """Transactions of one producer, one after the other. All calls from one thread."""

    def __init__(
        self,
        config: Mapping[str, Any],
        waits: Waits,
        *,
        shared_id: bool,
        make: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        """shared_id: whether somebody else may have this transactional id, so that being fenced is final."""
        self.failures = Failures()
        self._config = dict(config)
        self._waits, self._clock = waits, waits.clock
        self._shared_id = shared_id
        self._make = make
        self._timeout_s = int(self._config["transaction.timeout.ms"]) / 1000
        self._backoff = Backoff(0.1, 2.0)
        self._producer: Producer | None = None
        self._began: float | None = None

    @property
    def open(self) -> bool:
        """Whether a transaction has begun and is neither committed nor undone."""
        return self._began is not None

    def prepare(self) -> None:
        """Have a producer that can begin. Whatever an earlier one with this id left open is aborted by that."""
        if self._producer is None:
            producer = self._make(self._config)
            try:
                self._persist(lambda: producer.init_transactions(CALL_S_MAX))
            except KafkaException as exception:
                self._give_up(exception)
                raise Undone(kafka_error(exception).str()) from exception
            self._producer = producer

    def begin(self) -> None:
        """Begin a transaction, unless one is open. Undone when that is impossible now."""
        if self._began is None:
            self.prepare()
            assert self._producer is not None
            self._began = self._clock()
            self._try(self._producer.begin_transaction)

    def send(self, record: Record, sends: Iterable[Send]) -> None:
        """Send in the open transaction. SendFailed: one of them is impossible, and the caller must abort. Undone."""
        producer = self._producer
        assert producer is not None and self._began is not None
        for send in sends:
            try:
                enqueue(producer, record, send, self.failures, self._waits)
            except KafkaException as exception:
                error = kafka_error(exception)
                if error.code() == KafkaError._FATAL:  # says only that something happened; the next call tells what
                    self._try(lambda: producer.commit_transaction(CALL_S_MAX))
                if error.fatal() or error.code() in BROKEN:
                    self._undo_because(exception)
                raise SendFailed(error, send.topic) from exception
        producer.poll(0)

    def commit(self, offsets: list[TopicPartition], group_metadata: Any) -> None:
        """Commit the open transaction with these offsets in it. Undone when it was aborted instead."""
        producer = self._producer
        assert producer is not None and self._began is not None
        if offsets:
            self._try(lambda: producer.send_offsets_to_transaction(offsets, group_metadata, CALL_S_MAX))
        self._try(lambda: producer.commit_transaction(CALL_S_MAX))
        self._began = None

    def abort(self) -> None:
        """Undo the open transaction, if there is one."""
        if self._began is None:
            return
        producer, self._began = self._producer, None
        assert producer is not None
        try:
            self._persist(lambda: producer.abort_transaction(CALL_S_MAX))
        except KafkaException as exception:
            log.warning("the transaction could not be aborted, the producer is replaced: %s", exception)
            self.discard()

    def discard(self) -> None:
        """Forget the producer; the next transaction makes a new one."""
        producer, self._producer, self._began = self._producer, None, None
        if producer is not None:
            throw_away(producer)

    def _try(self, call: Callable[[], None]) -> None:
        try:
            self._persist(call)
        except KafkaException as exception:
            self._undo_because(exception)

    def _persist(self, call: Callable[[], None]) -> None:
        """Repeat the call as long as that is what its error asks for."""
        began, attempt = self._clock(), 0
        say_at = began
        while True:
            try:
                return call()
            except KafkaException as exception:
                error = kafka_error(exception)
                if error.fatal() or error.txn_requires_abort() or not error.retriable():
                    raise
                if self._waits.over(began):
                    raise Interrupted(error.str()) from exception
                slow = error.code() == KafkaError._TIMED_OUT  # it has not failed, it only takes longer than one call
                if self._clock() >= (began + SAID_EVERY_S if slow else began) and self._clock() >= say_at:
                    log.warning("once more, after %.3g s: %s", self._clock() - began, error.str())
                    say_at = self._clock() + SAID_EVERY_S
                if not slow:
                    attempt += 1
                    self._waits.pause(self._backoff.wait_s(attempt))

    def _undo_because(self, exception: KafkaException) -> None:
        error, began = kafka_error(exception), self._began
        log.warning("the transaction is undone: %s", error.str())
        if error.txn_requires_abort() and not error.fatal():
            self.abort()
        else:
            self._give_up(exception, began)
        raise Undone(error.str()) from exception

    def _give_up(self, exception: KafkaException, began: float | None = None) -> None:
        """The producer is finished. Somebody else's fault, our own (a transaction that took too long), or for good?"""
        error = kafka_error(exception)
        self.discard()
        if error.code() in HOPELESS:
            raise exception
        overdue = began is not None and self._clock() - began >= self._timeout_s
        if error.code() in FENCED and self._shared_id and not overdue:
            transactional_id = self._config["transactional.id"]
            raise Fenced(f"another producer has taken over the transactional id {transactional_id!r}") from exception
