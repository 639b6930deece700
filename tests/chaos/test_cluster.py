"""Three nodes killed, paused, cut off, filled up and set wrong, under clients that never stop: no promise is broken.

TAPELOG_CHAOS_MINUTES (30 in `make chaos`; a handful of faults here) and TAPELOG_CHAOS_SEED choose how long and what.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.cluster.ending import Report
from tests.chaos.cluster.story import QUICK_TIMES, Story

MINUTES = float(os.environ.get("TAPELOG_CHAOS_MINUTES", "0"))
SEED = int(os.environ.get("TAPELOG_CHAOS_SEED", "1"))
SUCCESS_MIN = 0.999
"""Of the records sent while one node at a time is faulty, so many are acknowledged within the client's own retries."""
A_FEW = ["kill", "long pause", "cut from nodes", "full disk", "clock", "stop"]
LONG_PAUSE_S = 6.0
"""In the short form: twice a broker's session."""

Begin = Callable[..., Story]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 120 * MINUTES)]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """begin(…): a story, ended with the test."""
    begun: list[Story] = []

    def make(**options: object) -> Story:
        begun.append(Story(tmp_path, SEED, settings=QUICK_TIMES, **options))  # type: ignore[arg-type]
        return begun[-1]

    yield make
    for one in begun:
        one.close()


def check(report: Report) -> None:
    """Nothing wrong, and enough acknowledged."""
    print(f"seed {SEED}: {report}")
    assert report.wrong == [], "\n".join(report.wrong[:20])
    figures = report.figures
    assert figures["calm_failed"] <= (1 - SUCCESS_MIN) * figures["calm_sent"], report
    assert figures["committed"] > 10 and figures["aborted"] > 3 and figures["processed"] > 300, report


def test_a_cluster_keeps_its_promises_whatever_happens_to_its_nodes(begin: Begin) -> None:
    if MINUTES:
        story = begin(foreign=True)
        story.one_at_a_time(MINUTES * 40)
        story.several_at_once(MINUTES * 20)
    else:
        story = begin(longest_s=LONG_PAUSE_S)
        kinds = [kind for kind in A_FEW if kind in story.faults.kinds()]
        story.calmly(lambda: [story.suffer(story.faults.one(kind)) for kind in kinds])
        story.suffer(story.faults.several(3), settle=False)
    check(story.finish())
