"""Runs tests/scenarios/migration_*.txt. TAPELOG_REWRITE=1 writes what happened into the files instead of comparing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.coordinators.migration.world import World

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("migration_*.txt"))


def replay_file(text: str) -> str:
    """The file with every step's output replaced by what happens now."""
    world = World()
    parts: list[str] = []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        commands = lines[: lines.index("----")] if "----" in lines else lines
        if all(line.startswith("#") for line in commands):
            parts.append("\n".join(commands))
            continue
        for line in commands:
            if not line.startswith("#"):
                world.command(line)
        parts.append("\n".join([*commands, "----", world.output()]))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_story_goes_as_written(path: Path) -> None:
    written = path.read_text()
    happened = replay_file(written)
    if os.environ.get("TAPELOG_REWRITE"):
        path.write_text(happened)
    else:
        assert happened == written


def test_there_are_stories() -> None:
    assert len(SCENARIOS) >= 8
