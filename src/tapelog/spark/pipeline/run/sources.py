"""Sources as frames: topics decoded, files, tables of the lake; and what could not be decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tapelog.spark.pipeline.model import META, FileSource, LakeSource, TopicSource
from tapelog.spark.pipeline.references import References
from tapelog.spark.pipeline.run.places import resolved

BAD: Final = "_undecodable"
"""In a decoded frame: why a record could not be decoded; null for good ones."""
_FROM: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")


def topic_frame(spark: Any, source: TopicSource, references: References) -> Any:
    """Records as rows; decoded ones have the columns of their schema, where they come from, and BAD."""
    options = references.options(source.options)
    if source.format in ("avro", "protobuf"):
        options["onCorrupt"] = "column"
    reader = spark.readStream if source.stream else spark.read
    frame = reader.format("tapelog").options(**options).load()
    if source.format == "raw":
        return frame
    from pyspark.sql import functions as F

    meta = [F.col(name).alias(alias) for name, alias in zip(_FROM, META, strict=True) if name in frame.columns]
    if source.format == "string":
        return frame.select(F.col("value").cast("string").alias("value"), *meta)
    if source.format == "json":
        return _from_json(frame, source.schema or "", meta)
    return _decoded(frame)


def _from_json(frame: Any, schema: str, meta: list[Any]) -> Any:
    from pyspark.sql import functions as F

    wanted = f"{schema}, `{BAD}` STRING"
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BAD}
    parsed = F.from_json(F.col("value").cast("string"), wanted, options)
    rows = frame.select(parsed.alias("_parsed"), *meta)
    why = F.when(F.col(f"_parsed.{BAD}").isNotNull(), F.lit("the value is not JSON of the schema"))
    names = [name for name in rows.schema["_parsed"].dataType.names if name != BAD]
    fields = [F.col(f"_parsed.`{name}`").alias(name) for name in names]
    places = [F.col(name) for name in rows.columns if name != "_parsed"]
    return rows.select(*fields, *places, why.alias(BAD))


def _decoded(frame: Any) -> Any:
    """Avro and Protobuf are decoded by the source: value is a struct, and `_corrupt` has the bytes of what was none."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, StructType

    kind = frame.schema["value"].dataType
    fields = [F.col("value")]
    if isinstance(kind, StructType):
        fields = [F.col(f"value.`{name}`").alias(name) for name in kind.names]
    key = F.col("_corrupt.key")
    if isinstance(frame.schema["key"].dataType, BinaryType):
        key = F.coalesce(F.col("key"), key)
    known = [name for name in ("topic", "partition", "offset", "timestamp", "headers") if name in frame.columns]
    places = [F.col(name).alias(f"_{name}") for name in known]
    raw = [key.alias("_key"), F.col("_corrupt.value").alias("_value")]
    return frame.select(*fields, *raw, *places, F.col("_corrupt.reason").alias(BAD))


def file_frame(spark: Any, source: FileSource, references: References, base: Path) -> Any:
    """Files as rows."""
    reader = (spark.readStream if source.stream else spark.read).format(source.format)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.options(**references.options(source.options)).load(
        resolved(references.text(source.path, "file"), base)
    )


def lake_frame(spark: Any, source: LakeSource, references: References, base: Path) -> Any:
    """A table of the lake as rows."""
    from tapelog.spark import lake

    return lake.read(spark, lake_table(source.table, references, base))


def lake_table(table: Any, references: References, base: Path) -> Any:
    """What the lake calls a table."""
    from tapelog.spark import lake

    url = resolved(references.text(table.url, "lake"), base)
    given = {"path": url, "format": table.format, "partition": table.partition}
    given |= {f"catalog.{name}": value for name, value in references.options(table.catalog).items()}
    given |= {f"storage.{name}": value for name, value in references.options(table.storage).items()}
    return lake.from_options(given)
