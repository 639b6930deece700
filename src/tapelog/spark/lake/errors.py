"""What goes wrong with a lake: three lines for people, and a word between our own modules for a lost race."""

from __future__ import annotations

from tapelog.spark.plan.errors import PlanError


class LakeError(PlanError):
    """A table cannot be written or read. str() has at most three lines: what, which table or column, what to do."""


class ConflictError(Exception):
    """Somebody else changed the table first: nothing of this commit is in it. Look again, then decide."""


def missing_package(name: str) -> LakeError:
    """The package behind a format is not installed."""
    return LakeError(
        f"The package {name} is not installed, and this lake table needs it.",
        "Install it where the driver runs: pip install 'tapelog[lake]'; or choose format=parquet, which needs none.",
    )
