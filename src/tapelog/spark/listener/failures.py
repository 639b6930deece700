"""Which queries of a session ended with an error: Spark tells a listener on the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener


class FailureListener(StreamingQueryListener):  # type: ignore[misc]
    """Hands the failures of a session's queries on: run, name, and all that Spark says."""

    def __init__(self, failed: Callable[[str, str, str], None]) -> None:
        self._failed = failed
        self._names: dict[str, str] = {}

    def onQueryStarted(self, event: Any) -> None:
        """Its name is only told here."""
        self._names[str(event.runId)] = event.name or str(event.id)

    def onQueryProgress(self, event: Any) -> None:
        """Nothing failed."""

    def onQueryIdle(self, event: Any) -> None:
        """Nothing failed."""

    def onQueryTerminated(self, event: Any) -> None:
        """Perhaps with an error."""
        name = self._names.pop(str(event.runId), str(event.id))
        if event.exception:
            self._failed(str(event.runId), name, str(event.exception))
