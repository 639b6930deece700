"""Exactly once: whatever dies between any two steps, every row is in the topic once. And the proof that this test sees.

Each planted mistake leaves out one thing that the protocol does; some life must then end with a row missing or twice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.plan import write_protocol as protocol
from tapelog.spark.plan.write_protocol import End, FindOpen, ReadMarkers, Take, WriteRows
from tapelog.spark.plan.write_values import Marker, Work, Written, ids_of
from tests.properties.sink_world import Actor, Brokers, Spark

LIVES = 200


def life(seed: int, **changed: Any) -> bool:
    """One life; True: each row is there exactly once."""
    chance = random.Random(seed)
    spark = Spark(chance.randrange, partitions=1 + seed % 3, batches=3, **changed)
    return spark.run() == spark.wanted()


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_every_row_is_there_once_whoever_dies(seed: int) -> None:
    assert life(seed)


def seen(**changed: Any) -> bool:
    """Does some life show the mistake?"""
    for seed in range(LIVES):
        try:
            if not life(seed, **changed):
                return True
        except AssertionError:
            return True
    return False


def at_least_once(work: Work) -> Generator[Any, Any, Written]:
    """A task that commits by itself."""
    yield protocol.Begin(work.name)
    tally = yield WriteRows()
    opened = yield protocol.WriteMarker(Marker(work.batch, work.run, work.attempt, tally))
    yield End((opened,), commit=True)
    return Written(work, tally, None, None)


def without_marker_check(work: Work) -> Generator[Any, Any, Written]:
    """A task that writes whether or not the batch is there."""
    yield protocol.Begin(work.name)
    tally = yield WriteRows()
    opened = yield protocol.WriteMarker(Marker(work.batch, work.run, work.attempt, tally))
    return Written(work, tally, opened, None)


def only_own_marker(work: Work) -> Generator[Any, Any, Written]:
    """A task that does not look at what attempts in other slots have committed (and a driver that believes it)."""
    steps = protocol.task(work)
    answer: Any = None
    others = ids_of(work.prefix, work.partition, but=work.slot)
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]
        answer = {} if step == ReadMarkers(others, settled=False) else (yield step)


def not_keeping_out(written: list[Written]) -> Generator[Any, Any, None]:
    """A driver that neither takes the other ids nor waits for them: who outlived another driver may commit after it."""
    steps = protocol.commit(written)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        if isinstance(step, Take):
            answer = None
        else:
            answer = yield ReadMarkers(step.ids, settled=False) if isinstance(step, ReadMarkers) else step


def not_looking_again(written: list[Written]) -> Generator[Any, Any, None]:
    """A driver that does not read the markers once nobody else can commit."""
    steps = protocol.commit(written)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = {} if isinstance(step, ReadMarkers) else (yield step)


def believing_refusals(written: list[Written]) -> Generator[Any, Any, None]:
    """A driver that takes a refused commit for one that was done before."""
    steps = protocol.commit(written)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = yield step
        if isinstance(step, End):
            answer = {}


@pytest.mark.parametrize("task", [at_least_once, without_marker_check], ids=lambda one: one.__name__)
def test_a_planted_mistake_in_tasks_is_seen(task: Any) -> None:
    commit = (lambda written: iter_nothing()) if task is at_least_once else protocol.commit
    assert seen(task=task, commit=commit)


@pytest.mark.parametrize(
    "commit", [not_keeping_out, not_looking_again, believing_refusals], ids=lambda one: one.__name__
)
def test_a_planted_mistake_in_the_driver_is_seen(commit: Any) -> None:
    assert seen(commit=commit)


def test_a_task_that_looks_at_its_own_marker_only_is_caught_by_the_driver() -> None:
    assert not seen(task=only_own_marker)


class Fewer(Spark):
    """A query that is started again with fewer tasks than it died with: the same rows, dealt out otherwise."""

    def rows(self, batch: int, partition: int) -> list[Any]:
        return [(batch, number) for number in range(7)][partition :: self.partitions]

    def _batch(self, run: str, batch: int) -> bool:
        self.partitions = 6 if run == "run1" else 1 + len(run) % 2
        return super()._batch(run, batch)


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_batch_that_comes_again_in_fewer_tasks_is_not_written_twice(seed: int) -> None:
    spark = Fewer(random.Random(seed).randrange, partitions=6, batches=2)
    try:
        assert spark.run() == spark.wanted()
    except AssertionError as stopped:
        assert "no progress" in str(stopped), stopped  # it stops rather than
    assert max(spark.brokers.topic.values(), default=0) <= 1


ROWS = ["a", "b", "c"]


class Beside:
    """Attempts with number 0 of two attempts of a stage, for a batch that is not the first of its run."""

    def __init__(self) -> None:
        self.brokers = Brokers()
        first = self.attempt("1", batch=0)
        self.finish(first)
        self.commit(first)

    def attempt(self, name: str, batch: int = 1) -> Actor:
        rows = [(batch, row) for row in ROWS]
        return Actor(self.brokers, protocol.task(Work("q", "run1", batch, 0, 0, name)), rows)

    def commit(self, actor: Actor) -> None:
        ending = Actor(self.brokers, protocol.commit([actor.result]), [])
        self.finish(ending)
        assert not ending.failed

    def go(self, actor: Actor) -> None:
        actor.go(lambda below: below // 2)
        for name in list(self.brokers.ids):
            self.brokers.settle(name)

    def finish(self, *actors: Actor) -> None:
        while not all(one.over for one in actors):
            for one in actors:
                self.go(one)

    def write(self, actor: Actor) -> None:
        """Until its rows are written, and its marker is not."""
        while not isinstance(actor.step, protocol.WriteMarker):
            self.go(actor)

    def check(self) -> None:
        assert self.brokers.topic == Counter((batch, row) for batch in (0, 1) for row in ROWS)
        assert not any(state.open for state in self.brokers.ids.values()), "readers would wait for it"


def test_a_late_attempt_of_an_earlier_stage_does_not_end_what_the_driver_is_to_commit() -> None:
    beside = Beside()
    newer, late = beside.attempt("5"), beside.attempt("2")
    beside.finish(newer)
    beside.finish(late)
    beside.commit(newer)
    beside.check()


@pytest.mark.parametrize("faster", [0, 1])
def test_an_attempt_that_is_slower_than_the_commit_of_another_leaves_nothing_open(faster: int) -> None:
    beside = Beside()
    both = beside.attempt("2"), beside.attempt("5")
    for one in both:
        beside.write(one)
    beside.finish(both[faster])
    beside.commit(both[faster])
    beside.finish(both[1 - faster])
    beside.check()


def test_an_attempt_with_other_rows_that_is_slower_than_the_commit_of_another_fails() -> None:
    beside = Beside()
    faster, slower = beside.attempt("2"), beside.attempt("5")
    slower.rows = slower.rows[:1]
    beside.write(faster)
    while not isinstance(slower.step, WriteRows):  # it has begun, under another id: the driver sees nothing open
        beside.go(slower)
    beside.finish(faster)
    beside.commit(faster)
    beside.finish(slower)
    assert slower.failed, "its batch came again with other rows"
    beside.check()


def iter_nothing() -> Generator[Any, Any, None]:
    """A driver that does nothing."""
    return
    yield FindOpen(())
