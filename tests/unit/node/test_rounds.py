"""Flush rounds: how long they take, and what waits for their end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapelog.base.ports import DiskError
from tapelog.node.rounds import FlushRounds
from tapelog.sim import cleaning
from tests.support.rig import TOPIC, HeldFlushes, Rig, produce_request
from tests.unit.node.compacted import CLEAN, SMALL, SOON_MS, fill, found, leftovers, under_way, until_under_way


@pytest.fixture(autouse=True)
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    yield


def rounds_of(rig: Rig) -> FlushRounds:
    assert rig.node.core is not None
    rounds = rig.node.core.rounds.of(rig.node.disk)
    assert rounds is not None
    return rounds


def begun(rig: Rig) -> HeldFlushes:
    """A round is under way."""
    held = rig.hold_flushes()
    rig.later(produce_request((TOPIC, 0, rig.batch(b"last", key=b"y"))), 9)
    assert rounds_of(rig).running
    return held


def test_what_is_to_happen_between_two_rounds_waits_for_the_one_under_way() -> None:
    rig, seen = Rig(), list[str]()
    rig.create()
    rounds_of(rig).between(lambda: seen.append("now"))
    held = begun(rig)
    rounds_of(rig).between(lambda: seen.append("later"))
    assert seen == ["now"]
    held.release()
    assert seen == ["now", "later"]
    rig.produce()
    assert seen == ["now", "later"]


def test_it_happens_after_a_round_that_fails_too() -> None:
    rig, seen = Rig(directories=("logs", "other")), list[str]()
    rig.create()
    rounds = rounds_of(rig)
    held = begun(rig)
    rounds.between(lambda: seen.append("later"))
    held.fail(DiskError("broken"))
    assert seen == ["later"]


def test_rounds_are_timed_when_somebody_wants_to_know() -> None:
    rig, took, ns = Rig(), list[int](), [5_000]
    rig.create()
    held = begun(rig)
    rounds_of(rig).time(lambda: ns[0], took.append)  # in the middle of one: that does not count
    held.release()
    assert took == []
    held = begun(rig)
    ns[0] += 1_234_567
    held.release()
    assert took == [1_234]
    rounds_of(rig).time(None, None)
    rig.produce()
    assert took == [1_234]


def test_the_rounds_of_each_disk_are_found() -> None:
    rig = Rig(directories=("logs", "other"))
    assert rig.node.core is not None
    rounds = rig.node.core.rounds
    assert [rounds.of(each.disk) for each in rounds.each] == rounds.each
    assert len(rounds.each) == 2
    assert rounds.of(Rig().node.disk) is None


def test_a_cleaned_segment_is_put_in_place_between_two_rounds() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    until_under_way(rig)
    held = begun(rig)
    rig.node.pass_time(SOON_MS)
    assert under_way(rig)
    assert len(found(rig)) == 13
    assert leftovers(rig)
    held.release()
    rig.node.pass_time(SOON_MS)
    assert found(rig) == [*CLEAN, (13, b"y", b"last")]
    assert leftovers(rig) == []
