"""The engine without a broker: batches, order, errors, rebalances, for each of the three promises."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from tapelog.toolkit import Again, Decision, Instead, OnError, Record, Send, SendFailed, Skip
from tapelog.toolkit.delivery import AtLeastOnce, AtMostOnce, ExactlyOnce
from tapelog.toolkit.sink import Sink, Waits
from tapelog.toolkit.transactions import Transactions
from tests.unit.toolkit.fakes import Bench, Clock, FakeProducer, error

ABORT = error(KafkaError.ILLEGAL_GENERATION, abort=True)
TOO_LARGE = error(KafkaError.MSG_SIZE_TOO_LARGE)


class Handler:
    """Sends the offset on, and fails where told, as often as told."""

    def __init__(self, **failures: int) -> None:
        self.seen: list[str] = []
        self.failures = {int(name[1:]): times for name, times in failures.items()}

    def __call__(self, record: Record) -> Send:
        self.seen.append(f"{record.partition}:{record.offset}")
        if self.failures.get(record.offset, 0):
            self.failures[record.offset] -= 1
            raise ValueError(f"planned for {record.offset}")
        return Send("out", f"{record.partition}:{record.offset}")


class Policy(OnError):
    """Decides as told."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked: list[tuple[int, str, int]] = []

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        self.asked.append((record.offset, type(error).__name__, attempt))
        return self.decision


def bench(kind: str, handle: Any, producer: FakeProducer | None = None, **more: Any) -> tuple[Bench, FakeProducer]:
    """A bench of that kind with its producer."""
    producer = producer or FakeProducer()
    clock = Clock()
    config = {"transactional.id": "t", "transaction.timeout.ms": 30_000}

    def make(_: Any) -> Any:
        return producer

    def never() -> bool:
        return False

    if kind == "exactly":
        transactions = Transactions(config, Waits(never, clock=clock), shared_id=True, make=make)
        return Bench(ExactlyOnce(transactions), handle, clock=clock, **more), producer
    plain = {"least": AtLeastOnce, "most": AtMostOnce}[kind]
    return Bench(plain(Sink({}, Waits(never, clock=clock), make=make)), handle, clock=clock, **more), producer


def values(producer: FakeProducer) -> list[str]:
    """What was stored."""
    return [value for _, value in producer.stored]


KINDS = ["exactly", "least", "most"]


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_handled_in_order_sent_and_committed(kind: str) -> None:
    run, producer = bench(kind, Handler())
    run.owns(0)
    run.consumer.give("in", 0, 4, 5, 6)
    run.turn()
    run.settle()
    assert values(producer) == ["0:4", "0:5", "0:6"]
    committed = producer.offsets if kind == "exactly" else run.consumer.committed
    assert committed == {("in", 0): 7}
    assert (run.engine.stats.handled, run.engine.stats.sent, run.engine.stats.undone) == (3, 3, 0)


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_nothing_is_committed_before_the_batch_is_full_or_old(kind: str) -> None:
    run, producer = bench(kind, Handler(), records=3, seconds=5.0)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    assert not values(producer)
    run.consumer.give("in", 0, 3)
    run.turn()
    assert values(producer) == ["0:1", "0:2", "0:3"], "full"
    run.consumer.give("in", 0, 4)
    run.turn()
    run.clock.pass_(4.9)
    assert len(values(producer)) == 3
    run.clock.pass_(0.1)
    run.turn()
    assert len(values(producer)) == 4, "old"


def test_a_slow_handler_ends_the_batch_early_and_the_rest_waits_its_turn() -> None:
    def slow(record: Record) -> Send:
        run.clock.pass_(2.0)
        return Send("out", str(record.offset))

    run, producer = bench("exactly", slow, seconds=3.0)
    run.owns(0)
    run.consumer.give("in", 0, *range(5))
    run.turn()
    assert (values(producer), producer.offsets) == (["0", "1"], {("in", 0): 2}), "poll is called again in time"
    run.turn(2)
    run.settle()
    assert values(producer) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_an_error_ends_the_loop_and_what_was_finished_before_is_committed(kind: str) -> None:
    run, producer = bench(kind, Handler(o6=1))
    run.owns(0)
    run.consumer.give("in", 0, 5, 6, 7)
    with pytest.raises(ValueError, match="planned for 6") as caught:
        run.turn()
    assert caught.value.__notes__ == ["while handling in[0]@6, attempt 1"]
    committed = producer.offsets if kind == "exactly" else run.consumer.committed
    assert (committed, values(producer)) == ({("in", 0): 6}, ["0:5"])


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_a_record_that_is_tried_again_keeps_its_partition_waiting_and_no_other(kind: str) -> None:
    policy = Policy(Again(10.0))
    handle = Handler(o6=2)
    run, producer = bench(kind, handle, on_error=policy)
    run.owns(0, 1)
    run.consumer.give("in", 0, 5, 6, 7)
    run.consumer.give("in", 1, 1)
    run.turn()
    run.settle()
    assert values(producer) == ["0:5", "1:1"]
    run.turn(2)
    assert run.consumer.paused == {("in", 0)}
    run.consumer.give("in", 1, 2)
    run.turn()
    run.clock.pass_(10)
    run.turn()
    run.clock.pass_(10)
    run.turn(2)
    run.settle()
    assert policy.asked == [(6, "ValueError", 1), (6, "ValueError", 2)]
    assert values(producer) == ["0:5", "1:1", "1:2", "0:6", "0:7"]
    assert not run.consumer.paused
    committed = producer.offsets if kind == "exactly" else run.consumer.committed
    assert committed == {("in", 0): 8, ("in", 1): 3}


@pytest.mark.parametrize("kind", KINDS)
def test_something_else_can_be_sent_instead(kind: str) -> None:
    run, producer = bench(kind, Handler(o6=1), on_error=Policy(Instead([Send("dead", "6")])))
    run.owns(0)
    run.consumer.give("in", 0, 5, 6, 7)
    run.turn()
    run.settle()
    run.settle()
    assert producer.stored == [("out", "0:5"), ("dead", "6"), ("out", "0:7")]


@pytest.mark.parametrize("planned", ["offsets", "commit"])
def test_an_aborted_batch_is_done_again_and_nothing_of_it_is_seen(planned: str) -> None:
    handle = Handler()
    run, producer = bench("exactly", handle)
    producer.plan(planned, ABORT, ABORT)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.settle()
    assert (producer.stored, producer.offsets, run.engine.stats.undone) == ([], {}, 1)
    for _ in range(6):
        run.settle()
    assert values(producer) == ["0:1", "0:2"]
    assert producer.offsets == {("in", 0): 3}
    assert handle.seen == ["0:1", "0:2"] * 3


def test_the_pause_before_an_undone_batch_grows() -> None:
    run, producer = bench("exactly", Handler())
    producer.plan("commit", *[ABORT] * 4)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    begun = run.clock()
    while not producer.stored:
        run.turn()
    assert run.clock() - begun > 0.1 + 0.2 + 0.4 + 0.6


def test_a_message_the_client_refuses_undoes_the_transaction_and_goes_by_the_policy() -> None:
    handle = Handler()
    policy = Policy(Instead([Send("dead", "2")]))
    run, producer = bench("exactly", handle, on_error=policy)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    producer.plan("produce", TOO_LARGE)
    run.consumer.give("in", 0, 2, 3)
    run.turn()
    assert producer.calls[-1] == "abort" and policy.asked == [(2, "SendFailed", 1)]
    run.turn(3)
    run.settle()
    assert producer.stored == [("out", "0:1"), ("dead", "2"), ("out", "0:3")]


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_a_message_the_broker_refuses_goes_by_the_policy_too(kind: str) -> None:
    policy = Policy(Instead([Send("dead", "1")]))
    run, producer = bench(kind, Handler(), on_error=policy)
    producer.plan("deliver", TOO_LARGE)
    if kind == "exactly":
        original = producer.commit_transaction

        def refused(timeout: float) -> None:  # librdkafka: the answers arrive, and then the commit says abort
            if not policy.asked and not producer.calls.count("abort"):
                producer._deliver()
                producer.plan("commit", ABORT)
            original(timeout)

        producer.commit_transaction = refused  # type: ignore[method-assign]
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    run.settle()
    assert policy.asked == [(1, "SendFailed", 1)]
    run.turn(2)
    run.settle()
    assert producer.stored[-1] == ("dead", "1")


def test_a_refused_message_ends_the_loop_by_default() -> None:
    run, producer = bench("least", Handler())
    producer.plan("deliver", TOO_LARGE)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    with pytest.raises(SendFailed):
        run.settle()
    assert not run.consumer.committed


def test_messages_that_were_not_stored_are_made_again_at_least_once() -> None:
    run, producer = bench("least", Handler())
    producer.plan("deliver", error(KafkaError._MSG_TIMED_OUT))
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.settle()
    assert (values(producer), run.consumer.committed) == (["0:2"], {})
    for _ in range(4):
        run.settle()
    assert (values(producer), run.consumer.committed) == (["0:2", "0:1", "0:2"], {("in", 0): 3})


def test_offsets_that_were_not_committed_are_tried_again_without_the_handler() -> None:
    handle = Handler()
    run, producer = bench("least", handle)
    run.consumer.commit_error = error(KafkaError.COORDINATOR_NOT_AVAILABLE)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    run.settle()
    assert not run.consumer.committed
    run.consumer.commit_error = None
    run.settle()
    assert run.consumer.committed == {("in", 0): 2}
    assert (handle.seen, values(producer)) == (["0:1"], ["0:1"])


def test_at_most_once_commits_before_the_handler_sees_anything() -> None:
    def look(record: Record) -> None:
        assert run.consumer.committed == {("in", 0): 3}

    run, _ = bench("most", look)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.settle()
    assert run.engine.stats.handled == 2


def test_at_most_once_handles_nothing_that_it_could_not_commit() -> None:
    handle = Handler()
    run, _ = bench("most", handle)
    run.consumer.commit_error = error(KafkaError.ILLEGAL_GENERATION)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    assert not handle.seen
    run.consumer.commit_error = None
    run.turn(4)
    assert handle.seen == ["0:1"]


def test_at_most_once_goes_on_after_an_error_and_never_calls_again() -> None:
    handle = Handler(o1=9)
    run, producer = bench("most", handle, on_error=Policy(Again(0.0)))
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn(2)
    run.settle()
    assert (handle.seen, values(producer)) == (["0:1", "0:2"], ["0:2"])


def test_skipping_counts_as_done() -> None:
    run, producer = bench("least", Handler(o1=1), on_error=Skip())
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.settle()
    assert (values(producer), run.consumer.committed) == (["0:2"], {("in", 0): 3})


def test_records_refused_together_are_tried_one_by_one_and_only_the_guilty_one_is_blamed() -> None:
    policy = Policy(Instead([Send("dead", "2")]))
    run, producer = bench("least", Handler(), on_error=policy)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2, 3)
    producer.plan("deliver", TOO_LARGE, TOO_LARGE, TOO_LARGE)
    run.turn()
    run.settle()
    assert (producer.stored, policy.asked) == ([], [])
    run.turn()
    assert values(producer) == ["0:1"]
    producer.plan("deliver", TOO_LARGE)
    run.turn()
    assert policy.asked == [(2, "SendFailed", 1)]
    run.turn(3)
    run.consumer.give("in", 0, 4, 5)
    run.turn()
    run.settle()
    assert producer.stored == [("out", "0:1"), ("dead", "2"), *(("out", f"0:{n}") for n in (3, 4, 5))]
    assert run.consumer.committed == {("in", 0): 6}
