"""[sinks.NAME] and [dead-letters]: a topic, the lake, PostgreSQL, files, or the screen."""

from __future__ import annotations

from typing import Final

from tapelog.spark.pipeline.fields import Fields
from tapelog.spark.pipeline.intervals import normal_interval
from tapelog.spark.pipeline.model import ConsoleSink, FileSink, LakeSink, PostgresSink, Sink, TopicSink, Writes
from tapelog.spark.pipeline.read_sources import one_of, read_lake

KINDS: Final = ("topic", "lake", "postgres", "file", "console")
MODES: Final = ("append", "update", "complete")
VALUE_FORMATS: Final = ("json", "avro", "protobuf", "string", "raw")
FILE_FORMATS: Final = ("parquet", "orc", "json", "csv", "text")
CONSOLE_ROWS: Final = 20
LETTERS_PARTITIONS: Final = 1
"""A topic for dead letters is made where it is missing, unless partitions = 0 says otherwise."""


def read_sink(name: str, fields: Fields, cluster: dict[str, str]) -> Sink:
    """The sink that a table declares."""
    origin = fields.needed("from", '"orders"')
    mode = fields.choice("mode", MODES, "append")
    mode_line = fields.line_of("mode")
    trigger = fields.text("trigger")
    if trigger is not None and trigger != "once":
        if normal_interval(trigger) is None:
            fields.wrong(
                fields.line_of("trigger"), f"{fields.where}: trigger is {trigger!r}: expected once or '5 seconds'."
            )
        trigger = normal_interval(trigger)
    writes = read_writes(fields, cluster)
    fields.done()
    if isinstance(writes, FileSink | LakeSink) and mode != "append":
        fields.wrong(
            mode_line, f"{fields.where}: files and the lake are appended to: leave mode out, and use a watermark."
        )
    if isinstance(writes, PostgresSink | TopicSink) and mode == "complete":
        fields.wrong(mode_line, f"{fields.where}: mode = complete writes everything each time: use update.")
    return Sink(name, fields.line, origin, mode, trigger, writes or ConsoleSink(CONSOLE_ROWS))


def read_writes(fields: Fields, cluster: dict[str, str], *, letters: bool = False) -> Writes | None:
    """Where to, by the one key that says so; None if there is none, which is noted."""
    kind = one_of(fields, KINDS, 'topic = "revenue" or console = true')
    match kind:
        case "topic":
            return _read_topic(fields, cluster, letters)
        case "lake":
            return LakeSink(read_lake(fields))
        case "file":
            return _read_file(fields)
        case "postgres":
            return _read_postgres(fields)
        case "console":
            if not fields.flag("console", True):
                fields.wrong(fields.line_of("console"), f"{fields.where}: console = true, or another kind of sink.")
            return ConsoleSink(fields.number("rows", CONSOLE_ROWS))
    return None


def _read_topic(fields: Fields, cluster: dict[str, str], letters: bool) -> TopicSink:
    options = dict(cluster)
    options["topic"] = fields.text("topic") or ""
    columns: tuple[str, ...] = ()
    key: str | None = None
    value: str | None = "value"
    form = "raw"  # letters are made as records, headers and all: nothing is left to encode
    if not letters:
        key, value = fields.text("key"), fields.text("value")
        columns = fields.texts("columns")
        form = fields.choice("format", VALUE_FORMATS, "json")
        schema = fields.text("schema")
        if form in ("avro", "protobuf"):
            options["valueFormat"] = form
            if schema is not None:
                options["valueSchema"] = schema
        elif schema is not None:
            fields.wrong(fields.line_of("schema"), f'{fields.where}: a schema needs format = "avro" or "protobuf".')
        if form in ("string", "raw") and value is None:
            fields.wrong(fields.line_of("format"), f"{fields.where}: {form} needs value, the column that is written.")
    options |= fields.options("options")
    if "kafka.bootstrap.servers" not in {name.lower() for name in options}:
        fields.wrong(
            fields.line, f'{fields.where}: nobody says where the topic is: add [cluster] with bootstrap = "host:port".'
        )
    partitions = fields.number("partitions", LETTERS_PARTITIONS if letters else 0, least=0)
    return TopicSink(options, key, value, form, columns, partitions)


def _read_file(fields: Fields) -> FileSink:
    path = fields.text("file") or ""
    form = fields.choice("format", FILE_FORMATS, "parquet")
    return FileSink(path, form, fields.texts("partition_by"), fields.options("options"))


def _read_postgres(fields: Fields) -> PostgresSink:
    table = fields.table("postgres")
    assert table is not None
    dsn = table.needed("dsn", '"${env:POSTGRES_DSN}"')
    name = table.needed("table", '"revenue"')
    keys = table.texts("keys")
    if not table.has("keys"):
        table.wrong(table.line, f'{table.where} needs keys, the columns that tell rows apart, e.g. keys = ["order"].')
    order, delete, columns = table.text("order"), table.text("delete"), table.texts("columns")
    table.done()
    return PostgresSink(dsn, name, keys, order, delete, columns)
