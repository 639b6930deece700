"""Mistakes in a pipeline's file: each has a line and says what to do; all of them are found before one is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tapelog.spark.plan.errors import LINES_MAX, PlanError

SEEN_MAX: Final = 100
"""After so many mistakes no further one is noted."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake; line 0: of the whole."""

    line: int
    text: str

    def told(self, file: str) -> str:
        """`shop.toml:12: …`."""
        return f"{file}:{self.line}: {self.text}" if self.line else f"{file}: {self.text}"


class DocumentError(PlanError):
    """A file is no pipeline. str() has at most three lines, `problems` has everything that was found."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(set(problems)))
        lines = [problem.told(file) for problem in self.problems]
        more = len(lines) - LINES_MAX
        if more > 0:
            lines = [*lines[: LINES_MAX - 1], f"and {more + 1} more: `tape pipeline plan {file} --json` lists all"]
        super().__init__(*lines)


class Problems:
    """Collects mistakes while a file is read."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, line: int, text: str) -> None:
        """Note one."""
        if len(self.found) < SEEN_MAX:
            self.found.append(Problem(line, text))

    def check(self, file: str) -> None:
        """DocumentError if any was noted."""
        if self.found:
            raise DocumentError(file, self.found)


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean x?`, or which there are, or nothing."""
    among = list(known)
    lower = {one.lower(): one for one in among}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.55)
    if near:
        return f" Did you mean {lower[near[0]]}?"
    return f" There are: {', '.join(among[:8])}{', …' if len(among) > 8 else ''}." if among else ""
