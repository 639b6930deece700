"""Nodes with a planted mistake, through the whole harness: its verdict names what they lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.cluster.story import QUICK_TIMES, Story
from tests.chaos.cluster.work import ORDERS
from tests.support.waiting import until

ENOUGH = 100
"""More than one answer brings: what is in a paused follower's socket is not lost."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_acknowledged_records_that_only_a_dead_leader_had_are_told_as_lost(tmp_path: Path) -> None:
    story = Story(tmp_path, 1, settings=QUICK_TIMES, plant="hasty")
    try:
        hasty, *others = story.nodes
        partitions = story.admin.list_topics(ORDERS, timeout=10).topics[ORDERS].partitions
        led = [number for number, known in partitions.items() if known.leader == hasty.number]
        for node in others:
            node.pause()
        count = acknowledged(story, led)
        until(lambda: acknowledged(story, led) > count + ENOUGH, "acknowledgements of the one that is left", seconds=20)
        hasty.kill()
        report = story.finish()
        print(report)
        assert any("are lost" in one for one in report.wrong), report
    finally:
        story.close()


def acknowledged(story: Story, partitions: list[int]) -> int:
    """How many records in these partitions are acknowledged."""
    return sum(1 for writer in story.writers for where, _ in list(writer.acknowledged.values()) if where in partitions)
