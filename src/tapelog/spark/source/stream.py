"""A streaming read: offsets decided on the driver, rows in the executors. The checkpoint is that of the Kafka source.

Spark keeps one reader on the driver for as long as the query runs; executors get one of their own. `commit` does
nothing: Spark does not call it for the last batch, so nothing may depend on it. But when it asks how far the next batch
goes, the one before is in the checkpoint: that is when progress is published, if option progressGroup says where.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from tapelog.spark.listener.publisher import Publisher
from tapelog.spark.plan import (
    Offsets,
    Pace,
    Range,
    ReadOptions,
    Step,
    advance,
    initial,
    may_differ_again,
    offsets_from_checkpoint,
    offsets_to_value,
    plan_stream,
)
from tapelog.spark.plan.identity import Identities
from tapelog.spark.plan.values import placed, topics_of
from tapelog.spark.source.errors import explained
from tapelog.spark.source.reading import read_range
from tapelog.spark.source.view import ClusterView, view_of
from tapelog.spark.source.workers import Prompt, settle

try:  # from PySpark 4.2 on
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:
    ReadAllAvailable = ReadLimit = ReadMaxBytes = ReadMaxRows = ReadMinRows = None

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Not there yet: Spark then reads everything in one batch."""


LOG = logging.getLogger("tapelog.spark")

FLUSH_SECONDS: Final = 2.0
"""How long a query that ends waits for its last commit of progress."""


_UNLIMITED: Final = (
    "The first batch of this run reads all there is, whatever limits it has: PySpark before 4.2 does not tell a source "
    "that a run is to end with what is there now, and such a run asks only once. Option limitFirstTrigger=true keeps "
    "to the limits; a run by availableNow or once then reads one batch of that size."
)


class StreamReader(Prompt, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads a topic for as long as the query runs."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self._initial: Offsets | None = None
        """What this run began with, if it began anew."""
        self._first_end: Offsets | None = None
        """Where the first batch of such a run ends, once Spark has asked for its ranges."""
        self._end: Offsets | None = None
        self._asked = False
        """Whether Spark asks how far a batch goes for the second time: a run of one batch never does."""
        self._available: Offsets | None = None
        self._available_now = False
        self._pinned: Offsets | None = None
        """For availableNow: what was there when the query began."""
        self._pace = Pace()
        self._publisher: Publisher | None = None
        self._published: Offsets | None = None
        self._identities = Identities()
        for warning in options.warnings:
            LOG.warning(warning)

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins."""
        with explained(), view_of(self.options.connection) as view:
            return offsets_to_value(self._beginning(view))

    def _beginning(self, view: ClusterView) -> Offsets:
        """The same, decided once: PySpark before 4.2 asks first how far the first batch goes."""
        if self._initial is None:
            self._initial = initial(self.options, view)
            self._identities.learn(view.ids(topics_of(self._initial)))
        return self._initial

    def getDefaultReadLimit(self) -> Any:
        """A limit that is not ReadAllAvailable where the options limit a trigger: the options themselves are used."""
        options = self.options
        if options.max_offsets is not None:
            return ReadMaxRows(options.max_offsets)
        if options.max_bytes is not None:
            return ReadMaxBytes(options.max_bytes)
        return ReadAllAvailable() if options.min_offsets is None else ReadMinRows(options.min_offsets)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """How far the next batch goes.

        PySpark 4.0 and 4.1 give no start. They tell where a query goes on by asking for the ranges of an empty batch
        there, and for a new one nothing at all. Nor do they tell that a query is to end with what is there now. Such a
        query runs one batch and asks at most once: therefore what is answered first is everything, unless
        limitFirstTrigger says otherwise, or a batch that was left has been run.
        """
        with explained(), view_of(self.options.connection) as view:
            begins = self._begins(view) if start is None else offsets_from_checkpoint(start)
            self._publish(begins)
            ids = view.ids(topics_of(begins))
            changed, unchanged = self._identities.changed(ids), self._identities.unchanged(ids)
            if self._available_now and self._pinned is None:
                self._pinned = self._advance(view, begins, changed, unchanged, everything=True).available
            no_limit = ReadAllAvailable is not None and isinstance(limit, ReadAllAvailable)
            alone = start is None and not self._asked and not self.options.limit_first
            has_limits = self.options.max_offsets is not None or self.options.max_bytes is not None
            if alone and has_limits and not (self._is_new and may_differ_again(self.options)):
                LOG.warning(_UNLIMITED)
            step = self._advance(view, begins, changed, unchanged, everything=no_limit or alone)
            self._identities.replace(view.ids(sorted(step.anew)), step.anew)
            self._identities.learn(view.ids(topics_of(step.end)))
            self._identities.settle(view.ids(topics_of(step.end)))
        if step.anew and self._pinned is not None:
            self._pinned = step.available  # what was there when the query began is there no more
        self._asked = True
        if self._available_now and begins == self._pinned:
            self.stop()  # the query ends here, and Spark kills this process before it could do that later
        self._pace, self._available = step.pace, step.available
        return offsets_to_value(step.end)

    def _begins(self, view: ClusterView) -> Offsets:
        """Where the next batch begins, as far as Spark has shown; else the query is new."""
        return self._beginning(view) if self._end is None else self._end

    def _advance(
        self,
        view: ClusterView,
        begins: Offsets,
        changed: frozenset[str],
        unchanged: frozenset[str],
        *,
        everything: bool,
    ) -> Step:
        return advance(
            self.options,
            view,
            begins,
            now_ms=time.time_ns() // 1_000_000,
            pace=self._pace,
            first=self._is_new,
            everything=everything,
            pinned=self._pinned,
            weights={} if self.options.max_bytes is None or everything else view.weights(begins),
            pause=lambda ms: time.sleep(ms / 1000),
            changed=changed,
            unchanged=unchanged,
        )

    @property
    def _is_new(self) -> bool:
        """Whether this run began anew, and has planned no batch yet."""
        return self._initial is not None and self._first_end is None

    def _publish(self, done: Offsets) -> None:
        """Tell the group that the options name how far the checkpoint is; what a new query begins with is not in it."""
        group = self.options.progress_group
        if group is None or self._is_new or done == self._published:
            return
        if self._publisher is None:
            self._publisher = Publisher()
        self._published = done
        self._publisher.publish(self.options.connection, group, done)

    def prepareForTriggerAvailableNow(self) -> None:
        """From the next question on, no further than what is there then."""
        self._available_now = True

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Where the partitions ended when Spark last asked, for the query's progress."""
        return None if self._available is None else offsets_to_value(self._available)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of one batch; the same again when it is replayed."""
        with explained(), view_of(self.options.connection) as view:
            begins, ends = offsets_from_checkpoint(start), offsets_from_checkpoint(end)
            if self._is_new:
                self._first_end = ends
            first = begins == self._initial and ends == self._first_end
            topics = topics_of(ends)
            ids = view.ids(topics)
            changed, unknown = self._identities.changed(ids), self._identities.unknown(topics)
            plan = plan_stream(
                self.options,
                view,
                begins,
                ends,
                first=first,
                changed=changed,
                unknown=unknown,
                begun_anew=self._identities.begun_anew,
            )
            self._identities.distrust(plan.anew)
            self._identities.learn(view.ids(topics))
            pieces = self._identities.stamp(view.stocked(plan, self.options))
        self._end = ends
        if begins != ends:
            self._asked = True  # else it is a batch that was left, and a run of one batch ends with it
        for warning in plan.warnings:
            LOG.warning(warning)
        return [InputPartition(piece) for piece in placed(pieces, plan.empty)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one range, as Arrow batches."""
        settle()
        piece: Range | None = partition.value
        return iter(()) if piece is None else read_range(self.options, piece)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: see above."""

    def stop(self) -> None:
        """Let the last commit of progress go out."""
        if self._publisher is not None:
            self._publisher.flush(FLUSH_SECONDS)
