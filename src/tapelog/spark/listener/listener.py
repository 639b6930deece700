"""What Spark calls on the driver: after each batch is in the checkpoint, its offsets go to the publisher.

A listener is told a query's name and progress, but not the options of its sources; those are taken from the query's
plan in the JVM, when it starts. Where there is none at hand (Spark Connect), nothing is published, which is said once:
the option progressGroup lets the source do it. Nothing here ever raises into Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql.streaming.listener import StreamingQueryListener

from tapelog.client.settings import ConnectionSettings
from tapelog.spark.listener.progress import group_of, offsets_in
from tapelog.spark.listener.publisher import Publisher
from tapelog.spark.plan.connection import connection_settings
from tapelog.spark.plan.given import Given

LOG = logging.getLogger("tapelog.spark")

SOURCE: Final = "tapelog"
FLUSH_SECONDS: Final = 5.0
"""How long the end of a query waits for its last commit."""
QUERIES_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Published:
    """Where the progress of one source goes."""

    settings: ConnectionSettings
    group: str


class ProgressListener(StreamingQueryListener):  # type: ignore[misc]
    """Publishes the progress of every query with our source in one session."""

    def __init__(self, spark: Any, publisher: Publisher | None = None) -> None:
        self._spark = spark
        self._publisher = publisher or Publisher()
        self._queries: dict[str, list[Published | None]] = {}
        """By run: for each source of the query in order, where its progress goes; None: it is not ours."""

    def onQueryStarted(self, event: Any) -> None:
        """Look at the plan, once."""
        self._guarded(self._learn, str(event.id), str(event.runId), event.name)

    def onQueryProgress(self, event: Any) -> None:
        """A batch is done, and in the checkpoint."""
        self._guarded(self._publish, event.progress)

    def onQueryIdle(self, event: Any) -> None:
        """Nothing new."""

    def onQueryTerminated(self, event: Any) -> None:
        """Let the last commit go out, and forget the query."""
        if self._queries.pop(str(event.runId), None):
            self._guarded(self._publisher.flush, FLUSH_SECONDS)

    def _guarded(self, call: Any, *given: Any) -> None:
        try:
            call(*given)
        except Exception as error:
            LOG.warning(f"Progress is not published: {type(error).__name__}: {error}. The query is not affected.")

    def _learn(self, query_id: str, run_id: str, name: str | None) -> list[Published | None]:
        known = self._queries.get(run_id)
        if known is None:
            known = []
            try:
                found = options_of(self._spark, query_id)
                known = [None if options is None else _target(options, name, query_id) for options in found]
            finally:  # what went wrong is told once
                if len(self._queries) < QUERIES_MAX:
                    self._queries[run_id] = known
        return known

    def _publish(self, progress: Any) -> None:
        targets = self._learn(str(progress.id), str(progress.runId), progress.name)
        if len(targets) != len(progress.sources):
            if any(targets):
                raise RuntimeError(f"{len(progress.sources)} sources report, {len(targets)} are in the plan")
            return
        done: dict[Published, dict[Any, int]] = {}
        for target, source in zip(targets, progress.sources, strict=True):
            if target is not None:
                offsets = done.setdefault(target, {})
                for of, offset in offsets_in(source.endOffset).items():  # read twice: the one that is behind counts
                    offsets[of] = min(offset, offsets.get(of, offset))
        for target, offsets in done.items():
            self._publisher.publish(target.settings, target.group, offsets)


def _target(options: Mapping[str, str], name: str | None, query_id: str) -> Published | None:
    given = Given(options)
    if given.text("progressGroup"):
        return None  # the source itself does it
    settings, _ = connection_settings(given)
    return Published(settings, group_of(options, name, query_id))


def options_of(spark: Any, query_id: str) -> Sequence[Mapping[str, str] | None]:
    """The options of a running query's sources in order, by its plan in the JVM; None for those that are not ours."""
    query = spark.streams.get(query_id)
    if query is None:
        return []
    java = getattr(query, "_jsq", None)
    if java is None:
        raise RuntimeError("Spark Connect does not tell a query's options: set the option progressGroup instead")
    leaves = java.streamingQuery().analyzedPlan().collectLeaves()
    found: list[tuple[Any, Mapping[str, str] | None]] = []
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.isStreaming() and not any(leaf.equals(other) for other, _ in found):
            ours = leaf.getClass().getSimpleName() == "StreamingRelationV2" and leaf.sourceName() == SOURCE
            found.append((leaf, dict(leaf.extraOptions().asCaseSensitiveMap()) if ours else None))
    return [options for _, options in found]


_LISTENERS: Final[WeakKeyDictionary[Any, ProgressListener]] = WeakKeyDictionary()


def add_listener(spark: Any) -> ProgressListener:
    """Publish the progress of this session's queries from now on; once, however often it is asked for."""
    listener = _LISTENERS.get(spark)
    if listener is None:
        listener = ProgressListener(spark)
        spark.streams.addListener(listener)
        _LISTENERS[spark] = listener
    return listener
