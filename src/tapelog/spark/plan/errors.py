"""What goes wrong while planning: errors of at most three lines, which say what, where, and what to do.

Nothing here ever holds the value of an option that could be a secret; see `given.shown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LINES_MAX: Final = 3
"""Whoever reads an error in a notebook reads three lines."""

LISTED_MAX: Final = 4
"""So many names are listed in a message, then they are counted."""

DOCS: Final = "docs/guide/spark.md"


class PlanError(Exception):
    """A query cannot be planned. str() has at most three lines."""

    def __init__(self, *lines: str) -> None:
        assert 0 < len(lines) <= LINES_MAX
        super().__init__("\n".join(" ".join(line.splitlines()) for line in lines))


class OptionError(PlanError):
    """An option is missing, unknown, or has a value that cannot be used."""


class MissingTopicError(PlanError):
    """A topic or partition that was asked for by name does not exist."""


class DataLossError(PlanError):
    """Offsets that the query wanted are gone, and failOnDataLoss is true."""


class CheckpointError(PlanError):
    """What the checkpoint holds are not offsets of a Kafka source."""


def listed(names: Iterable[object]) -> str:
    """Names for a message: `a, b, c`, and how many more there are."""
    every = [str(name) for name in names]
    more = len(every) - LISTED_MAX
    return ", ".join(every[:LISTED_MAX]) + (f" and {more} more" if more > 0 else "")
