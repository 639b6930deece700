"""Nodes with a planted mistake, through the whole harness: its verdict names what they lose, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.cluster.story import QUICK_TIMES, Story
from tests.chaos.cluster.work import ORDERS
from tests.support.waiting import until

ENOUGH = 100
"""More than one answer brings: what is in a paused follower's socket is not lost."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Begin = Callable[[str], Story]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """begin(PLANT): a story whose nodes have this mistake."""
    begun: list[Story] = []

    def make(plant: str) -> Story:
        begun.append(Story(tmp_path, 1, settings=QUICK_TIMES, plant=plant))
        return begun[-1]

    yield make
    for one in begun:
        one.close()


def acknowledged(story: Story, partitions: list[int]) -> int:
    """How many records in these partitions are acknowledged."""
    return sum(1 for writer in story.writers for where, _ in list(writer.acknowledged.values()) if where in partitions)


def test_acknowledged_records_that_only_a_dead_leader_had_are_told_as_lost(begin: Begin) -> None:
    story = begin("hasty")
    hasty, *others = story.nodes
    partitions = story.admin.list_topics(ORDERS, timeout=30).topics[ORDERS].partitions
    led = [number for number, known in partitions.items() if known.leader == hasty.number]
    for node in others:
        node.pause()
    count = acknowledged(story, led)
    until(lambda: acknowledged(story, led) > count + ENOUGH, "acknowledgements of the one that is left")
    hasty.kill()
    report = story.finish()
    assert any("acknowledged records" in one and "are lost" in one for one in report.wrong), report


def test_records_of_aborted_transactions_that_readers_are_shown_are_told(begin: Begin) -> None:
    story = begin("candid")
    until(lambda: sum(one.outcome == "aborted" for b in story.bankers for one in b.book.ended) > 2, "aborted ones")
    report = story.finish()
    assert any("was aborted" in one for one in report.wrong), report
