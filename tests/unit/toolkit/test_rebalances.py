"""Partitions come and go: open work is finished before, never after; what is fetched and lost is forgotten."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from tapelog.toolkit import Again, Record
from tapelog.toolkit.clients import DAMAGED
from tapelog.toolkit.source import DRAIN_S_MAX
from tests.unit.toolkit.fakes import error
from tests.unit.toolkit.test_engine import ABORT, Handler, Policy, bench, values

HERE, THERE = ("in", 0), ("in", 1)


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_open_work_is_committed_before_partitions_are_given_up(kind: str) -> None:
    run, producer = bench(kind, Handler(), seconds=100.0)
    run.owns(0, 1)
    run.consumer.give("in", 0, 1)
    run.consumer.give("in", 1, 5)
    run.turn()
    assert not values(producer)
    run.consumer.rebalance("revoke", HERE)
    run.turn()
    assert values(producer) == ["0:1", "1:5"]
    assert (producer.offsets if kind == "exactly" else run.consumer.committed) == {HERE: 2, THERE: 6}
    assert run.source.owned == {THERE}


def test_open_work_on_lost_partitions_is_aborted_and_the_rest_done_again() -> None:
    handle = Handler()
    run, producer = bench("exactly", handle, seconds=100.0)
    run.owns(0, 1)
    run.consumer.give("in", 0, 1)
    run.consumer.give("in", 1, 5)
    run.turn()
    run.consumer.rebalance("lost", HERE)
    run.turn()
    assert producer.calls[-1] in ("abort", "produce")
    run.clock.pass_(100)
    run.turn(2)
    assert (values(producer), producer.offsets) == (["1:5"], {THERE: 6})
    assert handle.seen == ["0:1", "1:5", "1:5"]


def test_lost_partitions_are_not_committed_at_least_once() -> None:
    run, _ = bench("least", Handler(), seconds=100.0)
    run.owns(0, 1)
    run.consumer.give("in", 0, 1)
    run.consumer.give("in", 1, 5)
    run.turn()
    run.consumer.rebalance("lost", HERE)
    run.turn()
    run.clock.pass_(100)
    run.turn()
    assert run.consumer.committed == {THERE: 6}


def test_a_commit_that_fails_while_leaving_leaves_nothing_of_what_is_left() -> None:
    handle = Handler()
    run, producer = bench("exactly", handle, seconds=100.0)
    run.owns(0, 1)
    run.consumer.give("in", 0, 1)
    run.consumer.give("in", 1, 5)
    run.turn()
    producer.plan("offsets", ABORT)
    run.consumer.rebalance("revoke", HERE)
    run.turn()
    assert not producer.stored
    for _ in range(3):
        run.clock.pass_(100)
        run.turn()
    assert (values(producer), producer.offsets) == (["1:5"], {THERE: 6}), "0:1 is the next owner's"


def test_fetched_records_of_a_partition_that_is_given_up_are_not_handled() -> None:
    handle = Handler(o1=1)
    run, _ = bench("least", handle, on_error=Policy(Again(10.0)))
    run.owns(0)
    run.consumer.give("in", 0, 1, 2, 3)
    run.turn()
    run.consumer.rebalance("revoke", HERE)
    run.clock.pass_(100)
    run.turn(3)
    assert handle.seen == ["0:1"]
    assert not run.engine._attempts and not len(run.source.inbox)
    assert not run.consumer.paused, "a client remembers that for a partition that comes back"


def test_a_partition_that_comes_back_starts_where_the_group_stands() -> None:
    handle = Handler()
    run, _ = bench("least", handle)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.consumer.rebalance("lost", HERE)
    run.consumer.rebalance("assign", HERE)
    run.turn(2)
    run.consumer.give("in", 0, 1, 2)
    run.turn()
    run.settle()
    assert handle.seen == ["0:1", "0:2"] * 2
    assert run.consumer.committed == {HERE: 3}


def test_messages_of_partitions_that_are_not_owned_are_dropped() -> None:
    handle = Handler()
    run, _ = bench("least", handle)
    run.owns(0)
    run.consumer.give("in", 1, 1)
    run.turn()
    assert not handle.seen


def test_an_error_inside_a_rebalance_ends_the_loop() -> None:
    run, producer = bench("exactly", Handler(), seconds=100.0)
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    producer.plan("offsets", error(KafkaError.GROUP_AUTHORIZATION_FAILED))
    run.consumer.rebalance("revoke", HERE)
    with pytest.raises(KafkaException):
        run.turn()


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        (KafkaError._MAX_POLL_EXCEEDED, False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, False),
        (KafkaError._ALL_BROKERS_DOWN, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, True),
        (KafkaError.FENCED_INSTANCE_ID, True),
    ],
)
def test_only_errors_that_waiting_does_not_mend_end_the_loop(code: int, ends: bool) -> None:
    run, _ = bench("least", Handler())
    run.owns(0)
    run.consumer.give("in", 0, 1)
    message = run.consumer.queue[0]
    message._error = error(code)  # type: ignore[union-attr]
    if ends:
        with pytest.raises(KafkaException):
            run.turn()
    else:
        run.turn()
        assert not run.engine.stats.handled


@pytest.mark.parametrize("code", DAMAGED, ids=["client", "broker"])
@pytest.mark.parametrize("kind", ["exactly", "least", "most"])
def test_a_damaged_batch_ends_the_loop_when_all_before_it_is_committed(kind: str, code: int) -> None:
    handle = Handler()
    run, producer = bench(kind, handle, seconds=100.0)
    run.owns(0, 1)
    run.consumer.give("in", 0, 1, 2)
    run.consumer.give("in", 1, 5)
    run.consumer.give("in", 0, 3, 4)
    run.consumer.queue[3]._error = error(code)  # type: ignore[union-attr]
    run.turn()
    with pytest.raises(KafkaException) as raised:
        run.turn()
    assert raised.value.args[0].code() == code and "in[0]" in raised.value.__notes__[0]
    assert handle.seen == ["0:1", "0:2", "1:5"], "nothing behind it"
    assert (producer.offsets if kind == "exactly" else run.consumer.committed) == {HERE: 3, THERE: 6}


@pytest.mark.parametrize("kind", ["exactly", "least"])
def test_what_waits_for_its_next_attempt_has_it_before_a_damaged_batch_ends_the_loop(kind: str) -> None:
    handle = Handler(o5=1)
    run, producer = bench(kind, handle, seconds=100.0, on_error=Policy(Again(2.0)))
    run.owns(0, 1)
    run.consumer.give("in", 1, 5)
    run.consumer.give("in", 0, 3)
    run.consumer.queue[1]._error = error(KafkaError._BAD_MSG)  # type: ignore[union-attr]
    run.turn()
    run.consumer.give("in", 0, 4)
    with pytest.raises(KafkaException):
        run.turn(100)
    assert handle.seen == ["1:5", "1:5"]
    assert (producer.offsets if kind == "exactly" else run.consumer.committed) == {THERE: 6}


def test_a_damaged_batch_does_not_wait_for_what_is_due_much_later() -> None:
    run, _ = bench("least", Handler(), wait_s=lambda record: 3600.0)
    run.owns(0)
    run.consumer.give("in", 0, 1, 2)
    run.consumer.queue[1]._error = error(KafkaError._BAD_MSG)  # type: ignore[union-attr]
    with pytest.raises(KafkaException):
        run.turn(1000)
    assert run.clock.now < 1000 + 2 * DRAIN_S_MAX
    assert run.consumer.committed == {}


def test_waiting_is_never_longer_than_the_next_thing_to_do() -> None:
    waits = {1: 0.05}
    run, _ = bench("least", Handler(), wait_s=lambda record: waits.get(record.offset, 0.0))
    run.owns(0)
    run.consumer.give("in", 0, 1)
    run.turn()
    run.consumer.waited.clear()
    run.turn()
    assert run.consumer.waited[0] == pytest.approx(0.05)
    waits.clear()
    run.turn()
    run.settle()
    assert run.engine.stats.handled == 1


def test_the_whole_run_ends_with_everything_committed_and_the_group_left() -> None:
    run, producer = bench("exactly", Handler(), seconds=100.0)
    run.consumer.rebalance("assign", HERE)
    run.consumer.give("in", 0, 1, 2)
    turns = iter([False] * 4 + [True] * 99)
    run.engine.run(run.source, lambda: next(turns))
    assert (values(producer), producer.offsets) == (["0:1", "0:2"], {HERE: 3})
    assert run.consumer.closed


def test_an_interrupted_run_aborts_what_is_open() -> None:
    def interrupted(record: Record) -> None:
        if record.offset == 2:
            raise KeyboardInterrupt

    run, producer = bench("exactly", interrupted, seconds=100.0, records=1)
    run.consumer.rebalance("assign", HERE)
    run.consumer.give("in", 0, 1, 2)
    with pytest.raises(KeyboardInterrupt):
        run.engine.run(run.source, lambda: False)
    assert producer.offsets == {HERE: 2} and run.consumer.closed and producer.purged


def test_a_loop_that_is_told_to_stop_before_it_began_ends_quietly() -> None:
    run, producer = bench("exactly", Handler())
    run.engine.run(run.source, lambda: True)
    assert run.consumer.closed and not producer.stored
