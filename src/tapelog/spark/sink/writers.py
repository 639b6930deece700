"""The writers that Spark calls: `write` in a task, `commit` or `abort` on the driver, each in a process of its own.

Spark tells a stream's writer neither the query nor the batch: tasks read both from their context and send them along.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql import datasource as api

from tapelog.client.errors import ClientError
from tapelog.client.pool import lend
from tapelog.spark.plan import write_protocol
from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.write_columns import Layout
from tapelog.spark.plan.write_options import WriteOptions
from tapelog.spark.plan.write_values import Work, Written
from tapelog.spark.sink.asking import Asking, drive
from tapelog.spark.sink.rows import arrow_batches
from tapelog.spark.sink.task import Rows, write_at_least_once, write_once
from tapelog.spark.source.errors import explained
from tapelog.spark.source.workers import Prompt

LOG = logging.getLogger("tapelog.spark")

_ARROW: Final = hasattr(api, "DataSourceArrowWriter")
_STREAM_ARROW: Final = hasattr(api, "DataSourceStreamArrowWriter")
_BATCH_BASE: Final[Any] = getattr(api, "DataSourceArrowWriter", api.DataSourceWriter)
_STREAM_BASE: Final[Any] = getattr(api, "DataSourceStreamArrowWriter", api.DataSourceStreamWriter)

QUERY: Final = "sql.streaming.queryId"
BATCH: Final = "streaming.sql.batchId"
RUN: Final = "spark.jobGroup.id"
"""Local properties of a streaming query's tasks; the job group is the id of its run."""


class Report(api.WriterCommitMessage):  # type: ignore[misc]
    """What a task tells the driver, as Spark wants it."""

    def __init__(self, written: Written) -> None:
        self.written = written


class Sink:
    """What both kinds of writers are made of."""

    def __init__(self, options: WriteOptions, layout: Layout, schema: Any, encoding: Any = None) -> None:
        self.options, self.layout, self.encoding = options, layout, encoding
        self.schema = schema
        """Spark's, where rows come as rows (PySpark 4.0)."""

    def put(self, work: Work, batches: Iterator[Any]) -> Report:
        """Write the rows of a task."""
        encode: Callable[[Any], Any] | None = None if self.encoding is None else self.encoding.encoder()
        rows = Rows(batches, self.options, self.layout, encode)
        write = write_once if self.options.exactly_once else write_at_least_once
        return Report(write(self.options, work, rows))

    def commit(self, messages: Sequence[Report | None]) -> None:
        """Make everything visible, task by task."""
        written = [message.written for message in messages if message is not None]
        if not self.options.exactly_once or not written:
            return
        with lend(self.options.connection) as cluster:
            steps = write_protocol.commit(written, check_replay=self.options.replay_check)
            drive(steps, Asking(cluster, written[0].timeout_ms, written[0].two_phase))

    def abort(self, messages: Sequence[Report | None], prefix: str | None) -> None:
        """End what is open. The failure that led here is what the user must see: a second one is only logged."""
        if not self.options.exactly_once:
            return
        written = [None if message is None else message.written for message in messages]
        two_phase = any(one is not None and one.two_phase for one in written)
        try:
            with lend(self.options.connection) as cluster:
                asking = Asking(cluster, self.options.transaction_timeout_ms, two_phase)
                drive(write_protocol.abort(written, prefix), asking)
        except ClientError as error:
            LOG.warning("transactions of a failed write stay open until they time out: %s", error.what)


class BatchWriter(Prompt, _BATCH_BASE):  # type: ignore[misc]
    """df.write.format("tapelog"). With txnAppId and txnVersion, a repeated write does nothing more."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        options = sink.options
        self.run = uuid.uuid4().hex
        self.prefix = f"{options.prefix}-app-{options.app}" if options.app else f"{options.prefix}-{self.run}"

    def write(self, iterator: Iterator[Any]) -> Report:
        """The rows of one task."""
        with explained():
            context = _context()
            work = Work(
                prefix=self.prefix,
                run=self.run,
                batch=self.sink.options.version or 0,
                partition=context.partitionId(),
                number=context.attemptNumber(),
                attempt=str(context.taskAttemptId()),
                repeats=True,
            )
            return self.sink.put(work, iterator if _ARROW else arrow_batches(iterator, self.sink.schema))

    def commit(self, messages: list[Report | None]) -> None:
        """All tasks are done."""
        with explained():
            self.sink.commit(messages)

    def abort(self, messages: list[Report | None]) -> None:
        """Some task failed for good, or commit did."""
        with explained():
            self.sink.abort(messages, self.prefix)


class StreamWriter(Prompt, _STREAM_BASE):  # type: ignore[misc]
    """df.writeStream.format("tapelog")."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def write(self, iterator: Iterator[Any]) -> Report:
        """The rows of one task of one batch."""
        with explained():
            work = self._work(_context())
            return self.sink.put(work, iterator if _STREAM_ARROW else arrow_batches(iterator, self.sink.schema))

    def commit(self, messages: list[Report | None], batchId: int) -> None:
        """All tasks of a batch are done."""
        with explained():
            self.sink.commit(messages)

    def abort(self, messages: list[Report | None], batchId: int) -> None:
        """A batch failed: some task for good, or commit; or the query was stopped."""
        query = _query_at(self.sink.options.checkpoint)
        with explained():
            self.sink.abort(messages, None if query is None else f"{self.sink.options.prefix}-{query}")

    def _work(self, context: Any) -> Work:
        query, batch = context.getLocalProperty(QUERY), context.getLocalProperty(BATCH)
        if not query or batch is None:
            if self.sink.options.exactly_once:
                raise OptionError(
                    "Spark did not tell the task which query and batch it writes for.",
                    "Set delivery=atLeastOnce, or write from foreachBatch with txnAppId and txnVersion.",
                )
            query, batch = "unknown", "0"
        attempt = str(context.taskAttemptId())
        return Work(
            prefix=f"{self.sink.options.prefix}-{query}",
            run=(context.getLocalProperty(RUN) or f"{uuid.uuid4().hex}").replace(" ", "_"),
            batch=int(batch),
            partition=context.partitionId(),
            number=context.attemptNumber(),
            attempt=attempt,
        )


def _query_at(checkpoint: str | None) -> str | None:
    """The id that a checkpoint on this machine tells: nobody else tells the driver's side, should no task report."""
    path = (checkpoint or "").removeprefix("file://").removeprefix("file:")
    if not path or "://" in path:
        return None
    try:
        return str(json.loads((Path(path) / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _context() -> Any:
    context = TaskContext.get()
    assert context is not None, "write() runs in a task"
    return context
