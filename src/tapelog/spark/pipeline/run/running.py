"""A streaming query of a run, which can be started again from its checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.pipeline.trouble import NOT_CONNECTED

STARTS_MAX: Final = 5


@dataclass(slots=True)
class Running:
    """A query while it runs; `begin` starts it."""

    start: Callable[[], Any]
    plain: Callable[[Any], Mapping[str, Any]]
    """A report of progress as plain values."""
    query: Any = None
    starts: int = 0

    def begin(self) -> None:
        """Start it: from its checkpoint, where it has one."""
        self.query = self.start()
        self.starts += 1

    @property
    def active(self) -> bool:
        """Whether Spark still works on it."""
        return bool(self.query.isActive)

    def reports(self) -> list[Mapping[str, Any]]:
        """What it last said of itself, oldest first."""
        return [self.plain(report) for report in self.query.recentProgress[-20:]]

    def failure(self) -> str | None:
        """Why it has failed, in Spark's words."""
        error = self.query.exception()
        return None if error is None else str(error)

    def may_begin_again(self, failure: str) -> bool:
        """Whether it failed only because its Python did not come up in time, and not too often."""
        return NOT_CONNECTED in failure and self.starts < STARTS_MAX

    def stop(self) -> None:
        """Stop it; one that has ended stays ended."""
        try:
            self.query.stop()
        except Exception:  # it has ended, or Spark has: nothing is left to stop
            return
