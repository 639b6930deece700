"""Runs tests/scenarios/controller_*.txt. TAPELOG_REWRITE=1 writes what happened into the files instead of comparing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.coordinators.test_scenarios import replay_file
from tests.unit.metadata.story import Story

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("controller_*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_story_goes_as_written(path: Path) -> None:
    written = path.read_text()
    happened = replay_file(written, Story())
    if os.environ.get("TAPELOG_REWRITE"):
        path.write_text(happened)
    else:
        assert happened == written


def test_there_are_stories() -> None:
    assert len(SCENARIOS) >= 6
