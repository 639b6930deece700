"""Bad rows as dead letters: the record as it came where it is known, else the row as JSON; its story in headers.

The names of headers are those of `tapelog.toolkit.letters`, so that the same tools read both.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

from tapelog.spark.pipeline.model import META, FileSink, TopicSink
from tapelog.spark.pipeline.run.sources import BAD

_PLACES: Final = (
    ("original-topic", "_topic"),
    ("original-partition", "_partition"),
    ("original-offset", "_offset"),
    ("original-timestamp", "_timestamp"),
)


def letters_frame(pipeline: str, bad: list[tuple[str, Any]], writes: TopicSink | FileSink) -> Any:
    """One frame of the bad rows of several parts: as records for a topic, as columns for files."""
    made = [_as_records(pipeline, part, frame) for part, frame in bad]
    if isinstance(writes, FileSink):
        made = [_as_columns(pipeline, part, frame) for part, frame in bad]
    return reduce(lambda one, other: one.unionByName(other), made)


def _value(frame: Any) -> Any:
    from pyspark.sql import functions as F

    names = [name for name in frame.columns if name not in (*META, "_why", BAD)]
    row = F.to_json(F.struct(*(F.col(f"`{name}`") for name in names))).cast("binary")
    return F.coalesce(F.col("_value"), row) if "_value" in frame.columns else row


def _reason(frame: Any) -> Any:
    from pyspark.sql import functions as F

    why = F.concat(F.lit("expectation failed: "), F.col("_why"))
    return F.coalesce(F.col(BAD), why) if BAD in frame.columns else why


def _as_records(pipeline: str, part: str, frame: Any) -> Any:
    from pyspark.sql import functions as F

    def header(name: str, value: Any) -> Any:
        return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))

    def text(column: str) -> Any:
        return F.unix_millis(column) if column == "_timestamp" else F.col(column)

    corrupt = F.col(BAD).isNotNull() if BAD in frame.columns else F.lit(False)
    headers = [header(name, text(column)) for name, column in _PLACES if column in frame.columns]
    headers += [
        header("error-class", F.when(corrupt, F.lit("CorruptRecord")).otherwise(F.lit("ExpectationFailed"))),
        header("error-message", _reason(frame)),
        header("pipeline", F.lit(pipeline)),
        header("step", F.lit(part)),
    ]
    key = F.col("_key") if "_key" in frame.columns else F.lit(None).cast("binary")
    return frame.select(
        key.cast("binary").alias("key"), _value(frame).alias("value"), F.array(*headers).alias("headers")
    )


def _as_columns(pipeline: str, part: str, frame: Any) -> Any:
    from pyspark.sql import functions as F

    kinds = {"_topic": "string", "_partition": "int", "_offset": "bigint", "_timestamp": "timestamp"}
    places = [
        (F.col(name) if name in frame.columns else F.lit(None)).cast(kind).alias(name.removeprefix("_"))
        for name, kind in kinds.items()
    ]
    return frame.select(
        F.lit(pipeline).alias("pipeline"),
        F.lit(part).alias("step"),
        _reason(frame).alias("reason"),
        *places,
        _value(frame).cast("string").alias("value"),
    )
