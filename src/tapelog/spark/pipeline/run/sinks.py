"""Frames into sinks: topics, files, the lake, PostgreSQL, the screen; as streams with a checkpoint, or at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tapelog.spark.pipeline.model import ConsoleSink, FileSink, LakeSink, PostgresSink, TopicSink, Writes
from tapelog.spark.pipeline.references import References
from tapelog.spark.pipeline.run.places import resolved
from tapelog.spark.pipeline.run.postgres import Upsert, bare_spark, batch_rows
from tapelog.spark.pipeline.run.sources import lake_table

_RECORD: Final = ("key", "value", "headers", "topic", "partition")
QUERY_ID: Final = "sql.streaming.queryId"
"""Where Spark tells a batch's job which checkpoint it belongs to."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What is the same for every sink of a run."""

    spark: Any
    references: References
    base: Path
    show: Callable[[str, Any, int], None]
    """Shows rows of a sink on the screen: its name, the frame, how many."""

    def start(self, frame: Any, writes: Writes, *, name: str, mode: str, trigger: str, checkpoint: str) -> Any:
        """Start a streaming query and return it."""
        once = {"availableNow": True} if trigger == "once" else {"processingTime": trigger}
        if isinstance(writes, LakeSink):
            from tapelog.spark import lake

            table = lake_table(writes.table, self.references, self.base)
            return lake.stream_to(visible(frame), table, name=name, checkpoint=checkpoint, trigger=once)
        match writes:
            case TopicSink():
                made = record_frame(frame, writes)
                writer = made.writeStream.format("tapelog").options(**self.references.options(writes.options))
            case FileSink():
                writer = visible(frame, writes.partition_by).writeStream.format(writes.format)
                writer = writer.option("path", self._path(writes)).options(**self.references.options(writes.options))
                writer = writer.partitionBy(*writes.partition_by) if writes.partition_by else writer
            case PostgresSink():
                writer = frame.writeStream.foreachBatch(self._upserting(writes, name))
            case ConsoleSink(rows=rows):
                writer = frame.writeStream.foreachBatch(lambda batch, number: self.show(name, visible(batch), rows))
        writer = writer.queryName(name).outputMode(mode).option("checkpointLocation", checkpoint)
        return writer.trigger(**once).start()

    def write(self, frame: Any, writes: Writes, *, name: str) -> None:
        """Write a frame that is no stream."""
        match writes:
            case TopicSink():
                options = self.references.options(writes.options)
                record_frame(frame, writes).write.format("tapelog").options(**options).mode("append").save()
            case FileSink():
                writer = visible(frame, writes.partition_by).write.format(writes.format).mode("append")
                writer = writer.partitionBy(*writes.partition_by) if writes.partition_by else writer
                writer.options(**self.references.options(writes.options)).save(self._path(writes))
            case LakeSink():
                import uuid

                from tapelog.spark import lake

                table = lake_table(writes.table, self.references, self.base)
                lake.write_batch(visible(frame), table, app=f"{name}-{uuid.uuid4().hex}", version=0)
            case PostgresSink():
                import time

                self._upserting(writes, f"{name}-{time.time_ns()}")(frame, 0)
            case ConsoleSink(rows=rows):
                self.show(name, visible(frame), rows)

    def _path(self, writes: FileSink) -> str:
        return resolved(self.references.text(writes.path, "file"), self.base)

    def _upserting(self, sink: PostgresSink, name: str) -> Callable[[Any, int], None]:
        dsn = self.references.text(sink.dsn, "dsn")

        def write(batch: Any, number: int) -> None:
            query = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
            columns, rows = batch_rows(batch, sink)
            Upsert(sink, dsn, f"{name}/{query}").write(number, columns, rows)

        return write


def visible(frame: Any, more: tuple[str, ...] = ()) -> Any:
    """Without the columns that tell where rows come from, unless they are asked for."""
    names = [name for name in frame.columns if not name.startswith("_") or name in more]
    return frame.select(*(bare_spark(name) for name in names))


def record_frame(frame: Any, sink: TopicSink) -> Any:
    """Rows as records: key, value, and what else a record has."""
    from pyspark.sql import functions as F

    if sink.value is not None:
        value = F.col(bare_spark(sink.value))
    else:
        names = list(sink.columns) or [name for name in frame.columns if not name.startswith("_")]
        value = F.struct(*(F.col(bare_spark(name)) for name in names))
        value = value if sink.format in ("avro", "protobuf") else F.to_json(value)
    made = [value.alias("value")]
    if sink.key is not None:
        key = F.expr(sink.key)
        kind = frame.select(key.alias("k")).schema["k"].dataType.simpleString()
        made.insert(0, (key if kind in ("string", "binary") else key.cast("string")).alias("key"))
    elif sink.format == "raw":
        made += [
            F.col(name) for name in _RECORD if name in frame.columns and name not in ("value", "topic", "partition")
        ]
    return frame.select(*made)
