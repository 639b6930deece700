"""A loop that is to stop: what it waits for, and what it does not wait for any more."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from tapelog.toolkit import Record, Send
from tapelog.toolkit.commits import Commits
from tapelog.toolkit.delivery import AtLeastOnce, AtMostOnce, Delivery, ExactlyOnce
from tapelog.toolkit.signals import Stop
from tapelog.toolkit.sink import Failures, Interrupted, Sink, Waits, enqueue
from tapelog.toolkit.transactions import Transactions
from tests.unit.toolkit.fakes import Bench, Clock, FakeProducer, error, record

SLOW = error(KafkaError._TIMED_OUT, retriable=True)
HANG_S = 60.0


def ended(work: Callable[[], None]) -> bool:
    """Whether it ends at all, in a thread that is left alone otherwise; its error is raised."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG_S)
    if errors:
        raise errors[0]
    return not thread.is_alive()


def interrupted_at(step: int, stop: Stop) -> tuple[bool, int]:
    """Wait, with a signal handler's `set` before the line of that number; what `wait` said, and how many lines ran."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == step:
                sys.settrace(None)
                stop.set()
                sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        told = stop.wait(0.01)
    finally:
        sys.settrace(None)
    return told, lines


def test_a_signal_at_any_moment_of_a_wait_is_noticed_and_hangs_nothing() -> None:
    told: list[tuple[bool, int]] = []

    def every_line() -> None:
        step = 0
        while not told or told[-1][1] >= step:
            step += 1
            told.append(interrupted_at(step, Stop()))

    assert ended(every_line)
    assert len(told) > 3 and all(noticed for noticed, _ in told[:-2])


def test_a_request_to_stop_ends_a_wait_and_can_be_taken_back() -> None:
    stop, told = Stop(), list[bool]()
    stop.set()
    stop.set()
    assert stop.wait(1e6) and stop.is_set()
    stop.clear()
    assert not stop.wait(0) and not stop.is_set()
    threading.Timer(0.01, stop.set).start()
    assert ended(lambda: told.append(stop.wait(1e6))) and told == [True]


class Silence:
    """A broker that falls silent: commits do not come back."""

    def __init__(self) -> None:
        self.asked = 0
        self.stop_at = 3
        self.released = threading.Event()
        self.waits = Waits(self.stopping, lambda: False, grace_s=1e6)

    def stopping(self) -> bool:
        self.asked += 1
        return self.asked >= self.stop_at

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        self.released.wait(HANG_S)
        return offsets


def test_a_commit_without_an_answer_is_left_when_the_loop_is_to_stop_and_its_client_stays_open() -> None:
    silence, clock, seen = Silence(), Clock(), list[int]()

    def handle(one: Record) -> None:
        seen.append(one.offset)

    for kind in (AtLeastOnce, AtMostOnce):
        silence.asked = 0
        bench = Bench(kind(Sink({}, silence.waits)), handle, clock=clock)
        bench.source._commits = Commits(silence.waits)
        bench.consumer.commit = silence.commit  # type: ignore[method-assign]
        bench.owns(0)
        bench.consumer.give("in", 0, 1, 2)

        def run(bench: Bench = bench) -> None:
            with pytest.raises(Interrupted, match="offsets were not committed"):
                bench.engine.run(bench.source, lambda: False)

        assert ended(run)
        assert silence.asked == silence.stop_at and not bench.consumer.closed
    silence.released.set()
    assert seen == [1, 2], "at most once: not handled, because it was not committed"


def test_a_commit_ends_with_its_own_error() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    commits = Commits(Waits(lambda: True))
    with pytest.raises(ZeroDivisionError):
        commits.run(fail)
    assert not commits.under_way


def test_a_commit_does_not_start_while_an_earlier_one_is_inside_the_client() -> None:
    silence, called = Silence(), list[str]()
    commits = Commits(silence.waits)

    def first() -> None:
        silence.released.wait(HANG_S)
        called.append("first")

    with pytest.raises(Interrupted):
        commits.run(first)
    closed = threading.Event()
    assert commits.afterwards(closed.set)
    with pytest.raises(Interrupted, match="an earlier commit"):
        commits.run(lambda: called.append("second"))
    silence.released.set()
    assert closed.wait(HANG_S) and called == ["first"], "what was to follow the first commit follows it"


def test_a_loop_that_is_stopped_before_a_broker_answered_ends_without_an_error() -> None:
    producer, asked = FakeProducer(), 0
    producer.plan("init", *[SLOW] * 99)

    def stopping() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    waits = Waits(stopping, lambda: False, grace_s=1e6)
    config = {"transactional.id": "t", "transaction.timeout.ms": 30_000}
    delivery: Delivery = ExactlyOnce(Transactions(config, waits, shared_id=True, make=lambda _: producer))  # type: ignore[arg-type, return-value]
    clock = Clock()
    bench = Bench(AtLeastOnce(Sink({}, waits)), lambda _: None, clock=clock)
    bench.engine.delivery = delivery
    bench.engine.run(bench.source, stopping)
    assert 1 <= producer.calls.count("init") <= 3 and bench.consumer.closed


def test_a_full_queue_does_not_keep_a_loop_that_is_to_stop() -> None:
    producer = FakeProducer()
    producer.plan("produce", *[BufferError()] * 99)
    with pytest.raises(Interrupted, match="queue"):
        enqueue(producer, record(1), Send("out", "x"), Failures(), Waits(lambda: True, lambda: False))  # type: ignore[arg-type]
    assert producer.calls.count("produce") == 1


def test_messages_without_an_answer_do_not_keep_it_either() -> None:
    flushed: list[float] = []

    class Silent(FakeProducer):
        def flush(self, timeout: float) -> int:
            flushed.append(timeout)
            return 0 if self.purged else 1

    sink = Sink({}, Waits(lambda: True, lambda: False, grace_s=1e6), make=lambda _: Silent())  # type: ignore[arg-type, return-value]
    sink.send(record(1), [Send("out", "x")])
    with pytest.raises(Interrupted):
        sink.flush()
    assert len(flushed) == 2, "asked once, thrown away once"
