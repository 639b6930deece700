"""A plan as a document for people and programs: what is read, what is done, where it goes; secrets as dots."""

from __future__ import annotations

from typing import Any

from tapelog.spark.pipeline.columns import Columns
from tapelog.spark.pipeline.model import (
    ConsoleSink,
    Dedupe,
    FileSink,
    FileSource,
    Join,
    LakeSink,
    LakeSource,
    Part,
    PostgresSink,
    Python,
    Shape,
    Sql,
    TopicSink,
    TopicSource,
    Window,
    Writes,
)
from tapelog.spark.pipeline.plan import Plan, Query
from tapelog.spark.pipeline.references import hides, shown

TEXT_CHARS_MAX = 100


def described(plan: Plan, *, master: str) -> dict[str, Any]:
    """Everything that would run."""
    pipeline = plan.pipeline
    return {
        "name": pipeline.name,
        "file": pipeline.file,
        "master": master,
        "trigger": pipeline.trigger,
        "checkpoint": pipeline.checkpoint,
        "spark": shown(pipeline.spark),
        "parts": [_part(part, plan) for part in plan.parts.values()],
        "queries": [_query(query, plan) for query in plan.queries],
        "warnings": list(plan.warnings),
    }


def _part(part: Part, plan: Plan) -> dict[str, Any]:
    return {
        "name": part.name,
        "line": part.line,
        "kind": kind_of(part),
        "what": what_it_does(part),
        "inputs": list(part.inputs),
        "stream": part.name in plan.streams,
        "watermark": f"{part.watermark.column}, {part.watermark.delay}" if part.watermark else None,
        "expect": [{"rule": one.rule, "name": one.name, "otherwise": one.otherwise} for one in part.expect],
        "columns": columns_text(plan.columns.get(part.name)),
        "options": _options(part),
    }


def _options(part: Part) -> dict[str, str]:
    match part.does:
        case TopicSource(options=options) | FileSource(options=options):
            return shown(options)
        case LakeSource(table=table):
            return shown({**table.catalog, **table.storage})
    return {}


def _query(query: Query, plan: Plan) -> dict[str, Any]:
    letters = plan.pipeline.dead_letters
    writes = query.sink.writes if query.sink is not None else letters.writes if letters is not None else None
    assert writes is not None
    path = [query.sink.origin] if query.sink is not None else list(query.letters)
    return {
        "name": query.name,
        "from": path,
        "parts": list(query.parts),
        "stream": query.stream,
        "mode": query.sink.mode if query.sink is not None else "append",
        "to": where_to(writes),
        "promise": promise(writes, query.stream),
        "checkpoint": f"{plan.pipeline.checkpoint.rstrip('/')}/{query.name}" if query.stream else None,
        "options": shown(writes.options) if isinstance(writes, TopicSink | FileSink) else {},
    }


def kind_of(part: Part) -> str:
    """One word for what it is."""
    match part.does:
        case TopicSource():
            return "topic"
        case FileSource():
            return "file"
        case LakeSource():
            return "lake"
        case Shape(where=None, select=()):
            return "check" if part.expect else "view"
        case _:
            return type(part.does).__name__.lower()


def what_it_does(part: Part) -> str:
    """A line about it."""
    match part.does:
        case TopicSource() as topic:
            names = topic.options.get("subscribe") or topic.options.get("subscribePattern", "")
            where = _bare("kafka.bootstrap.servers", topic.options.get("kafka.bootstrap.servers", ""))
            start = topic.options.get("startingOffsets") or topic.options.get("startingTimestamp")
            return f"{names} at {where}, {topic.format}" + (f", from {start}" if start else "")
        case FileSource(path=path, format=form):
            return f"{path}, {form}"
        case LakeSource(table=table):
            return f"{_bare('url', table.url)}, {table.format}"
        case Sql(text=text):
            return _short(text)
        case Python(place=place, function=function):
            return f"{function} of {place}"
        case Join(on=on, condition=condition, how=how):
            return f"{how} join with {part.inputs[1]} on {condition or ', '.join(on)}"
        case Dedupe(keys=keys, within=within, forever=forever):
            bound = " for ever" if forever else f" within {within}" if within else ""
            return f"first of each {', '.join(keys)}{bound}"
        case Window(column=column, size=size, slide=slide, by=by, aggregate=aggregate):
            every = f" every {slide}" if slide else ""
            per = f" per {', '.join(by)}" if by else ""
            return f"{', '.join(aggregate)} per {size}{every} of {column}{per}"
        case Shape(where=where, select=select):
            parts = [f"where {where}"] if where else []
            return _short(", ".join(parts + list(select))) if parts or select else "as it is"


def where_to(writes: Writes) -> str:
    """Where rows go, in a few words."""
    match writes:
        case TopicSink(options=options):
            return f"topic {options['topic']}"
        case FileSink(path=path, format=form):
            return f"{form} files in {path}"
        case LakeSink(table=table):
            return f"{table.format} table {_bare('url', table.url)}"
        case PostgresSink(dsn=dsn, table=table, keys=keys):
            return f"PostgreSQL table {table} ({_bare('dsn', dsn)}), one row per {', '.join(keys)}"
        case ConsoleSink(rows=rows):
            return f"the screen, {rows} rows at most"


def promise(writes: Writes, stream: bool) -> str:
    """What a reader of the sink can count on."""
    if isinstance(writes, ConsoleSink) or not stream:
        return "each time it runs"
    if isinstance(writes, TopicSink) and writes.options.get("delivery", "").lower() == "atleastonce":
        return "at least once"
    return "exactly once"


def columns_text(columns: Columns | None) -> str | None:
    """`id bigint, name string`; None: only Spark knows."""
    return None if columns is None else ", ".join(f"{name} {kind}".strip() for name, kind in columns)


def _bare(name: str, value: str) -> str:
    return "••••" if hides(name, value) else value


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= TEXT_CHARS_MAX else one_line[: TEXT_CHARS_MAX - 1] + "…"
