"""A transactional producer and every kind of error: repeat, abort, replace, or end."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tapelog.toolkit import Fenced, Interrupted, Send, SendFailed
from tapelog.toolkit.sink import Waits
from tapelog.toolkit.transactions import CALL_S_MAX, SAID_EVERY_S, Transactions, Undone
from tests.unit.toolkit.fakes import Clock, FakeProducer, error, record

OFFSETS = [TopicPartition("in", 0, 5)]
FENCED = error(KafkaError._FENCED, fatal=True)
BUSY = error(KafkaError.COORDINATOR_NOT_AVAILABLE, retriable=True)
SLOW = error(KafkaError._TIMED_OUT, retriable=True)
ABORT = error(KafkaError.ILLEGAL_GENERATION, abort=True)


class World:
    """Transactions on producers that can be looked at."""

    def __init__(self, *, shared_id: bool = True) -> None:
        self.clock = Clock()
        self.made: list[FakeProducer] = []
        self.stopping = False
        self.answering = True
        config = {"transactional.id": "t", "transaction.timeout.ms": 30_000}
        self.transactions = Transactions(
            config,
            Waits(lambda: self.stopping, lambda: self.answering, self.clock.pass_, 5.0, self.clock),
            shared_id=shared_id,
            make=self._make,
        )

    def _make(self, config: dict[str, Any]) -> Any:
        self.made.append(FakeProducer(config))
        return self.made[-1]

    def begun(self) -> FakeProducer:
        """A transaction with a message in it."""
        self.transactions.begin()
        self.transactions.send(record(1), [Send("out", "x")])
        return self.made[-1]

    def commit(self) -> None:
        """With offsets."""
        self.transactions.commit(OFFSETS, "who I am")


def test_messages_and_offsets_are_committed_together() -> None:
    world = World()
    producer = world.begun()
    world.commit()
    assert producer.calls == ["init", "begin", "produce", "offsets", "commit"]
    assert (producer.stored, producer.offsets) == ([("out", "x")], {("in", 0): 5})
    assert not world.transactions.open


def test_one_producer_serves_many_transactions() -> None:
    world = World()
    for _ in range(3):
        world.begun()
        world.commit()
    assert len(world.made) == 1 and world.made[0].calls.count("init") == 1


@pytest.mark.parametrize("call", ["offsets", "commit"])
def test_a_call_that_may_be_repeated_is_repeated(call: str) -> None:
    world = World()
    producer = world.begun()
    producer.plan(call, BUSY, BUSY)
    world.commit()
    assert producer.calls.count(call) == 3 and len(producer.stored) == 1


@pytest.mark.parametrize("call", ["offsets", "commit"])
def test_an_error_that_asks_for_it_aborts_and_the_producer_lives_on(call: str) -> None:
    world = World()
    producer = world.begun()
    producer.plan(call, ABORT)
    with pytest.raises(Undone):
        world.commit()
    assert producer.calls[-1] == "abort" and not producer.stored and not producer.offsets
    world.begun()
    world.commit()
    assert len(world.made) == 1 and len(producer.stored) == 1


@pytest.mark.parametrize("call", ["offsets", "commit"])
def test_another_fatal_error_brings_a_new_producer(call: str) -> None:
    world = World()
    world.begun().plan(call, error(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, fatal=True))
    with pytest.raises(Undone):
        world.commit()
    world.begun()
    world.commit()
    assert len(world.made) == 2 and world.made[0].purged and len(world.made[1].stored) == 1


def test_an_error_without_any_mark_counts_as_fatal() -> None:
    world = World()
    world.begun().plan("commit", error(KafkaError.UNKNOWN))
    with pytest.raises(Undone):
        world.commit()
    assert world.made[0].purged


def test_being_fenced_ends_it_where_another_may_have_the_id() -> None:
    world = World()
    world.begun().plan("commit", FENCED)
    with pytest.raises(Fenced, match="'t'"):
        world.commit()


def test_being_fenced_with_an_id_nobody_else_has_is_only_an_undone_transaction() -> None:
    world = World(shared_id=False)
    world.begun().plan("commit", FENCED)
    with pytest.raises(Undone):
        world.commit()


def test_a_transaction_that_took_too_long_was_fenced_by_the_broker_and_not_by_another() -> None:
    world = World()
    producer = world.begun()
    world.clock.pass_(30)
    producer.plan("commit", FENCED)
    with pytest.raises(Undone):
        world.commit()


def test_a_fatal_error_met_while_sending_is_asked_for_by_name() -> None:
    world = World()
    producer = world.begun()
    producer.plan("produce", error(KafkaError._FATAL, fatal=True))
    producer.plan("commit", FENCED)
    with pytest.raises(Fenced):
        world.transactions.send(record(2), [Send("out", "y")])


def test_a_message_that_is_impossible_is_its_records_fault() -> None:
    world = World()
    producer = world.begun()
    producer.plan("produce", error(KafkaError.MSG_SIZE_TOO_LARGE))
    with pytest.raises(SendFailed):
        world.transactions.send(record(2), [Send("out", "y")])
    assert world.transactions.open, "the caller decides, and must abort"


def test_a_full_queue_is_waited_for() -> None:
    world = World()
    producer = world.begun()
    producer.plan("produce", BufferError(), BufferError())
    world.transactions.send(record(2), [Send("out", "y")])
    world.commit()
    assert len(producer.stored) == 2


def test_a_broken_abort_replaces_the_producer() -> None:
    world = World()
    world.begun().plan("abort", error(KafkaError.INVALID_TXN_STATE, fatal=True))
    world.transactions.abort()
    world.begun()
    world.commit()
    assert len(world.made) == 2


def test_no_transactional_id_allowed_is_for_good() -> None:
    world = World()

    def make(config: dict[str, Any]) -> Any:
        producer = FakeProducer(config)
        producer.plan("init", error(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, fatal=True))
        return producer

    world.transactions._make = make
    with pytest.raises(KafkaException):
        world.transactions.begin()


def test_a_silent_broker_does_not_keep_a_loop_that_is_to_stop() -> None:
    world = World()
    world.begun().plan("commit", *[BUSY] * 99)
    world.stopping = True
    before = world.clock()
    with pytest.raises(Interrupted):
        world.commit()
    assert 5 < world.clock() - before < 10


@pytest.mark.parametrize("call", ["offsets", "commit"])
def test_a_loop_that_is_to_stop_does_not_wait_when_no_broker_answers(call: str) -> None:
    world = World()
    producer = world.begun()
    producer.plan(call, *[SLOW] * 99)
    world.stopping, world.answering = True, False
    with pytest.raises(Interrupted):
        world.commit()
    assert producer.calls.count(call) == 1, "asked once, and not again"


def test_nor_before_it_has_begun() -> None:
    world = World()
    producer = FakeProducer()
    producer.plan("init", *[SLOW] * 99)
    world.transactions._make = lambda config: producer  # type: ignore[assignment, return-value]
    world.stopping, world.answering = True, False
    with pytest.raises(Interrupted):
        world.transactions.prepare()
    assert producer.calls == ["init"]


def test_a_call_that_takes_longer_goes_on_at_once_and_is_not_logged_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    producer = world.begun()
    producer.plan("commit", *[SLOW] * 90)
    original = producer.commit_transaction

    def commit(timeout: float) -> None:
        world.clock.pass_(timeout)
        original(timeout)

    producer.commit_transaction = commit  # type: ignore[method-assign]
    before = world.clock()
    world.commit()
    assert world.clock() - before == 91 * CALL_S_MAX, "no pauses between"
    assert len(caplog.messages) == 91 * CALL_S_MAX // SAID_EVERY_S
