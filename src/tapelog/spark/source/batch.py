"""A batch read: ranges on the driver, rows in the executors."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from tapelog.spark.plan import Filter, ReadOptions, Task, exact, plan_batch
from tapelog.spark.plan.identity import stamped
from tapelog.spark.plan.values import topics_of
from tapelog.spark.source.errors import explained
from tapelog.spark.source.reading import read_range
from tapelog.spark.source.translate import always_true, translated
from tapelog.spark.source.view import view_of
from tapelog.spark.source.workers import Prompt, settle, slots

LOG = logging.getLogger("tapelog.spark")


class BatchReader(Prompt, DataSourceReader):  # type: ignore[misc]
    """Reads what the options say; offsets are fixed when Spark asks for the partitions."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.filters: list[Filter] = []
        if hasattr(DataSourceReader, "pushFilters"):
            self.pushFilters = _Pushing(self)

    def partitions(self) -> Sequence[InputPartition]:
        """One per task; a single empty one where there is nothing to read."""
        settle()
        with explained(), view_of(self.options.connection) as view:
            plan = plan_batch(self.options, view, filters=self.filters)
            ids = view.ids(topics_of(piece.of for piece in plan.ranges))
            found = [tuple(stamped(task, ids)) for task in view.tasks(plan, self.options, slots())]
        for warning in (*self.options.warnings, *plan.warnings):
            LOG.warning(warning)
        return [InputPartition(task or None) for task in found] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one task's ranges, as Arrow batches."""
        settle()
        task: Task | None = partition.value
        return chain.from_iterable(read_range(self.options, piece) for piece in task or ())


class _Pushing:
    """pushFilters of one reader.

    A reader that defines the method is refused where spark.sql.python.filterPushdown.enabled is off, which nobody tells
    a reader beforehand. PySpark looks at `__func__` to see whether it is defined: this one looks inherited, and works
    where it is called.
    """

    __func__ = staticmethod(getattr(DataSourceReader, "pushFilters", None) or (lambda self, filters: filters))

    def __init__(self, reader: BatchReader) -> None:
        self.reader = reader

    def __call__(self, filters: list[Any]) -> Iterable[Any]:
        """Keep what narrows ranges; give back what Spark must still apply."""
        left = []
        for given in filters:
            known = translated(given)
            if known is not None:
                self.reader.filters.append(known)
            if not always_true(given) and (known is None or not exact(known)):
                left.append(given)
        return left
