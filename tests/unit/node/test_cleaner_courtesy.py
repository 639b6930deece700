"""A cleaner is told which part of the time it may work, by how long flush rounds take."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapelog.log.compaction.courtesy import SHARE_FIRST, SHARE_LEAST
from tapelog.node.flush_signal import FlushSignal
from tapelog.sim import cleaning
from tapelog.sim.cleaning import SimWorker
from tests.support.rig import Rig, produce_request
from tests.unit.node.compacted import CLEAN, SMALL, SOON_MS, alter, cleaner, fill, found, under_way, until_under_way

BROKER = 4


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """What workers are told; they do not die, and take small steps, many times."""
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 2)
    monkeypatch.setattr(cleaning, "STEP_MS_MAX", 2_000)
    seen: list[float] = []
    monkeypatch.setattr(SimWorker, "share", lambda _, part: seen.append(part))
    yield seen


class Timed:
    """A node whose rounds take as long as a test says."""

    def __init__(self, signal: FlushSignal | None = None, **settings: str) -> None:
        self.rig = Rig(**settings)
        self.rig.create("filler")
        self.took_us = 1_000
        self._ns = 1
        cleaner(self.rig).courtesies.stopwatch = self._stopwatch
        if signal is not None:
            cleaner(self.rig).courtesies.signal_of = lambda disk: signal
        self.rig.create(**SMALL)
        fill(self.rig)

    def _stopwatch(self) -> int:
        self._ns += self.took_us * 1_000
        return self._ns

    def write(self, times: int) -> None:
        for _ in range(times):
            self.rig.produce(topic="filler")
            self.rig.node.pass_time(1)


def test_a_worker_rests_first_and_then_works_part_of_the_time(told: list[float]) -> None:
    node = Timed()
    until_under_way(node.rig)
    assert told == [0.0]
    node.write(300)
    assert told[-1] == SHARE_FIRST


def test_rounds_that_take_longer_beside_it_make_it_work_less(told: list[float]) -> None:
    node = Timed()
    until_under_way(node.rig)
    for _ in range(12_000):
        node.took_us = 5_000 if told[-1] else 1_000
        node.write(1)
        if told[-1] == SHARE_LEAST:
            break
    assert told[-1] == SHARE_LEAST
    assert under_way(node.rig)


def test_rounds_between_its_steps_are_told_from_those_beside_it(told: list[float]) -> None:
    """Only the latter make it pause at once."""
    signal = FlushSignal()
    node = Timed(signal)
    until_under_way(node.rig)
    node.write(300)
    assert told[-1] == SHARE_FIRST
    node.took_us = 9_000
    node.write(1)
    assert told[-1] == SHARE_FIRST
    signal.step_begins()
    node.write(1)
    assert told[-1] == 0.0


def test_a_round_that_hangs_is_not_taken_for_nobody_writing(told: list[float]) -> None:
    node = Timed()
    until_under_way(node.rig)
    node.write(300)
    held = node.rig.hold_flushes()
    node.rig.later(produce_request(("filler", 0, node.rig.batch())), 9)
    del told[:]
    node.rig.node.pass_time(3_000)
    assert told and max(told) <= SHARE_FIRST
    held.release()


def test_when_it_has_ended_rounds_are_timed_no_more_and_nobody_is_told(told: list[float]) -> None:
    node = Timed()
    for _ in range(20):
        node.rig.node.pass_time(SOON_MS)
        if found(node.rig) == CLEAN and not under_way(node.rig):
            break
    assert found(node.rig) == CLEAN
    count, ns = len(told), node._ns
    node.write(100)
    assert (len(told), node._ns) == (count, ns)


def test_it_can_be_switched_off(told: list[float]) -> None:
    node = Timed(tapelog_cleaner_flush_slowdown_max="0")
    until_under_way(node.rig)
    node.write(500)
    assert told == [1.0]


def test_it_can_be_switched_off_while_it_works(told: list[float]) -> None:
    node = Timed()
    until_under_way(node.rig)
    alter(node.rig, BROKER, "", tapelog_cleaner_flush_slowdown_max="0")
    node.write(200)
    assert told[-1] == 1.0


def test_without_a_stopwatch_it_works_all_of_the_time(told: list[float]) -> None:
    node = Timed()
    cleaner(node.rig).courtesies.stopwatch = None
    until_under_way(node.rig)
    node.write(500)
    assert told == [1.0]
