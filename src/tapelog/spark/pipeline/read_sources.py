"""[sources.NAME]: a topic, files, or a table of the lake."""

from __future__ import annotations

import datetime
from typing import Final

from tapelog.spark.pipeline.fields import Fields
from tapelog.spark.pipeline.model import (
    Expectation,
    FileSource,
    LakeSource,
    LakeTable,
    Otherwise,
    Part,
    TopicSource,
    Watermark,
)

KINDS: Final = ("topic", "topics", "pattern", "file", "lake")
DECODED: Final = ("json", "avro", "protobuf")
TOPIC_FORMATS: Final = ("raw", "string", *DECODED)
LAKE_FORMATS: Final = ("iceberg", "delta", "parquet")
FILE_FORMATS: Final = ("csv", "json", "parquet", "orc", "text")
OTHERWISE: Final = ("drop", "dead-letter", "fail")


def read_source(name: str, fields: Fields, cluster: dict[str, str]) -> Part:
    """The source that a table declares."""
    kind = one_of(fields, KINDS, 'topic = "orders", file = "orders.csv" or lake = "file:///lake/orders"')
    watermark, expect = read_watermark(fields), read_expectations(fields)
    does: TopicSource | FileSource | LakeSource
    if kind == "file":
        does = _read_file(fields)
    elif kind == "lake":
        does = LakeSource(read_lake(fields))
    else:
        does = _read_topic(fields, kind or "topic", cluster)
    fields.done()
    return Part(name, fields.line, does, (), watermark, expect)


def one_of(fields: Fields, kinds: tuple[str, ...], example: str) -> str | None:
    """Which of these keys the table has; a mistake unless it is one."""
    given = [kind for kind in kinds if fields.has(kind)]
    fields.know(*kinds)
    if len(given) != 1:
        said = "none of" if not given else "more than one of"
        fields.wrong(fields.line, f"{fields.where} has {said} {', '.join(kinds)}: give one, e.g. {example}.")
        for kind in given:
            fields.take(kind)
        return None
    return given[0]


def _read_topic(fields: Fields, kind: str, cluster: dict[str, str]) -> TopicSource:
    names = fields.texts(kind)
    form = fields.choice("format", TOPIC_FORMATS, "raw")
    schema = fields.text("schema")
    options = dict(cluster)
    options["subscribePattern" if kind == "pattern" else "subscribe"] = ",".join(names)
    stream = fields.flag("stream", True)
    _read_start(fields, options, stream)
    corrupt = _otherwise(fields, "corrupt", "fail")
    if form == "json" and schema is None:
        fields.wrong(
            fields.line_of("format"), f'{fields.where}: json needs a schema, e.g. schema = "id BIGINT, name STRING".'
        )
    if form in ("raw", "string") and schema is not None:
        fields.wrong(fields.line_of("schema"), f"{fields.where}: a schema needs a format: json, avro or protobuf.")
    options |= fields.options("options")
    if form in ("avro", "protobuf"):
        options["valueFormat"] = form
        if schema is not None:
            options["valueSchema"] = schema
    if "kafka.bootstrap.servers" not in {name.lower() for name in options}:
        fields.wrong(
            fields.line, f'{fields.where}: nobody says where the topic is: add [cluster] with bootstrap = "host:port".'
        )
    return TopicSource(options, form, schema, corrupt, stream)


def _read_start(fields: Fields, options: dict[str, str], stream: bool) -> None:
    start = fields.text("start")
    if start is None:
        return
    if start in ("earliest", "latest") and (stream or start == "earliest"):
        options["startingOffsets"] = start
        return
    try:
        moment = datetime.datetime.fromisoformat(start)
    except ValueError:
        fields.wrong(
            fields.line_of("start"),
            f"{fields.where}: start is {start!r}: expected earliest, latest or a time 2026-05-01T12:30Z.",
        )
        return
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    options["startingTimestamp"] = str(int(moment.timestamp() * 1000))


def _read_file(fields: Fields) -> FileSource:
    path = fields.text("file") or ""
    ending = path.rpartition(".")[2].lower()
    form = fields.choice("format", FILE_FORMATS, ending if ending in FILE_FORMATS else "parquet")
    schema = fields.text("schema")
    stream = fields.flag("stream", False)
    if stream and schema is None and form != "text":
        fields.wrong(fields.line_of("stream"), f"{fields.where}: a stream of files needs a schema.")
    return FileSource(path, form, schema, fields.options("options"), stream)


def read_lake(fields: Fields, partition: str = "") -> LakeTable:
    """lake = "file:///lake/orders", format, partition, catalog, storage."""
    url = fields.text("lake") or ""
    form = fields.choice("format", LAKE_FORMATS, "iceberg")
    by = fields.text("partition") or partition
    return LakeTable(url, form, by, fields.options("catalog"), fields.options("storage"))


def read_watermark(fields: Fields) -> Watermark | None:
    """watermark = { column, delay }."""
    table = fields.table("watermark")
    if table is None:
        return None
    column = table.needed("column", '"_timestamp"')
    table_delay = table.interval("delay")
    if table_delay is None and not table.has("delay"):
        table.wrong(table.line, f'{table.where} needs delay, e.g. delay = "10 seconds".')
    table.done()
    return Watermark(column, table_delay or "0 seconds")


def read_expectations(fields: Fields) -> tuple[Expectation, ...]:
    """expect = [{ rule, otherwise, name }, …]."""
    made: list[Expectation] = []
    for table in fields.tables("expect"):
        rule = table.needed("rule", '"amount > 0"')
        otherwise = _otherwise(table, "otherwise", "fail")
        name = table.text("name") or rule
        table.done()
        if any(one.name == name for one in made):
            table.wrong(table.line, f"{table.where}: there is another expectation {name!r}: give it another name.")
        made.append(Expectation(name, rule, otherwise, table.line))
    return tuple(made)


def _otherwise(fields: Fields, name: str, default: Otherwise) -> Otherwise:
    found = fields.choice(name, OTHERWISE, default)
    return "drop" if found == "drop" else "dead-letter" if found == "dead-letter" else "fail"
