"""Runs tests/scenarios/groups_*.txt. TAPELOG_REWRITE=1 writes what happened into the files instead of comparing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.coordinators.story import Story

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("groups_*.txt"))


def replay_file(text: str, story: Any = None, method: str = "run") -> str:
    """The file with every step's output replaced by what happens now, to groups unless another story is given."""
    story = story or Story()
    step = getattr(story, method)
    parts: list[str] = []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        commands = lines[: lines.index("----")] if "----" in lines else lines
        if all(line.startswith("#") for line in commands):
            parts.append("\n".join(commands))
            continue
        for line in commands:
            if not line.startswith("#"):
                step(line)
        parts.append("\n".join([*commands, "----", story.output()]))
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
    assert len(SCENARIOS) >= 10
