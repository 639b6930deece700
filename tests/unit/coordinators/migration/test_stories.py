"""Runs tests/scenarios/migration_*.txt. TAPELOG_REWRITE=1 writes what happened into the files instead of comparing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.coordinators.migration.world import World
from tests.unit.coordinators.test_scenarios import replay_file

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("migration_*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_story_goes_as_written(path: Path) -> None:
    written = path.read_text()
    happened = replay_file(written, World(), "command")
    if os.environ.get("TAPELOG_REWRITE"):
        path.write_text(happened)
    else:
        assert happened == written


def test_there_are_stories() -> None:
    assert len(SCENARIOS) >= 8
