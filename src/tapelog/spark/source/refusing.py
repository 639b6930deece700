"""A streaming reader of options that cannot be: it says why when Spark first asks it something.

It cannot be said earlier: where no reader comes to be, PySpark 4.3 tells of a local variable of its own instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition


class RefusingReader(DataSourceStreamReader):  # type: ignore[misc]
    """Answers every question with the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def _refuse(self) -> NoReturn:
        raise self._error

    def initialOffset(self) -> dict[str, Any]:
        """A new query asks this first."""
        self._refuse()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """A query that goes on asks this first,"""
        self._refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """or this, where its last batch did not end."""
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Never reached."""
        self._refuse()
