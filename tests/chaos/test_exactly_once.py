"""A read-process-write application killed together with its broker: each promise kept, and a broken one found out.

TAPELOG_CHAOS_KILLS (10 here, 200 in `make chaos`) and TAPELOG_CHAOS_SEED: the exactly-once story has half as many
crashes in each group protocol, the others a few.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.application import OUTPUT
from tests.chaos.crashes import Crashes, Node, Seen, Verdict, judge, read

FULL = int(os.environ.get("TAPELOG_CHAOS_KILLS", "10")) > 50
KILLS = 50 if FULL else 4
FEW = 20 if FULL else 3
SEED = int(os.environ.get("TAPELOG_CHAOS_SEED", "1"))
SETTINGS = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}
Begin = Callable[..., Crashes]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400 + 15 * KILLS)]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """begin(promise, protocol): the story of an application with that promise; ended with the test."""
    begun: list[Crashes] = []

    def make(promise: str, protocol: str = "classic") -> Crashes:
        begun.append(Crashes(Node(settings=SETTINGS, data=tmp_path / "data"), promise, tmp_path, SEED, protocol))
        return begun[-1]

    yield make
    for one in begun:
        one.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_inputs_effect_is_seen_exactly_once(begin: Begin, protocol: str) -> None:
    story = begin("exactly-once", protocol)
    verdict = story.run(KILLS)
    print(f"seed {SEED}, {protocol}: {KILLS} crashes, {verdict}")
    assert verdict.exact, verdict
    before = read(story.server.bootstrap, OUTPUT)
    story.server.kill()
    story.server.start()
    assert read(story.server.bootstrap, OUTPUT) == before  # and once more from the files


def test_at_least_once_repeats_and_loses_nothing(begin: Begin) -> None:
    story = begin("at-least-once")
    verdict = story.run(FEW, kills_max=30, enough=story.repeated)  # what is sent and not yet committed is soon over
    print(f"seed {SEED}: {FEW} crashes, {verdict}")
    assert not verdict.lost and not verdict.strange, verdict
    assert verdict.repeated, "no crash fell between the sending and the commit: the harness shows nothing"


def test_at_most_once_loses_and_repeats_nothing(begin: Begin) -> None:
    story = begin("at-most-once")
    verdict = story.run(FEW, kills_max=30, enough=story.lost)
    print(f"seed {SEED}: {FEW} crashes, {verdict}")
    assert not verdict.repeated and not verdict.strange, verdict
    assert verdict.lost, "no crash fell between the commit and the sending: the harness shows nothing"


INPUTS = [b"0", b"1", b"2", b"3"]
GOOD: list[Seen] = [(0, 0, b"0"), (0, 1, b"3"), (1, 0, b"1"), (2, 0, b"2")]


def test_the_judge_lets_pass_what_is_right_and_nothing_else() -> None:
    def of(output: list[Seen], audit: list[Seen] = GOOD, live: list[Seen] | None = None) -> Verdict:
        return judge(INPUTS, output, audit, output if live is None else live, atomic=True)

    assert of(GOOD).exact
    assert of(GOOD[1:]).lost == [b"0"]
    assert of([*GOOD, (2, 1, b"0")]).repeated == [b"0"]
    assert not of([*GOOD, (2, 1, b"77")]).exact  # nobody sent that
    assert not of(GOOD, audit=GOOD[:-1]).exact  # half an effect
    assert not of([(0, 0, b"3"), (0, 1, b"0"), *GOOD[2:]]).exact  # out of order
    assert not of(GOOD, live=[(0, 0, b"0"), (0, 2, b"3"), *GOOD[2:]]).exact  # an offset that moved
    assert not of(GOOD, live=[GOOD[0], *GOOD]).exact  # seen twice by the live reader


@pytest.mark.parametrize(("wrong", "symptom"), [("offsets-after", "repeated"), ("offsets-before", "lost")])
def test_the_harness_finds_offsets_that_are_committed_outside_the_transaction(
    begin: Begin, wrong: str, symptom: str
) -> None:
    story = begin(wrong)
    verdict = story.run(FEW, kills_max=30, enough=story.lost if wrong == "offsets-before" else story.repeated)
    print(f"seed {SEED}: {FEW} crashes, {verdict}")
    assert getattr(verdict, symptom), verdict
