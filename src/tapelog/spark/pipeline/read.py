"""From a tree of values to a Pipeline: the sections of a file, in the order in which people write them."""

from __future__ import annotations

import re
from typing import Final, TypeVar

from tapelog.spark.pipeline.document import Node
from tapelog.spark.pipeline.fields import Fields
from tapelog.spark.pipeline.intervals import normal_interval
from tapelog.spark.pipeline.model import DeadLetters, FileSink, Part, Pipeline, Sink, TopicSink
from tapelog.spark.pipeline.problems import Problems
from tapelog.spark.pipeline.read_sinks import read_sink, read_writes
from tapelog.spark.pipeline.read_sources import read_source
from tapelog.spark.pipeline.read_steps import read_step

T = TypeVar("T")

PARTS_MAX: Final = 500
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}", re.ASCII)
_TITLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


def read_pipeline(root: Node, file: str) -> Pipeline:
    """The Pipeline that a document declares; DocumentError with every mistake that can be seen without planning."""
    problems = Problems()
    top = Fields(root, "the file", problems)
    name, checkpoint, trigger = _read_head(top, file)
    cluster = _read_cluster(top)
    parts = [_named(title, fields, read_source(title, fields, cluster)) for title, fields in top.named("sources")]
    parts += [_named(title, fields, read_step(title, fields)) for title, fields in top.named("steps")]
    sinks = [_named(title, fields, read_sink(title, fields, cluster)) for title, fields in top.named("sinks")]
    letters = _read_letters(top, cluster)
    spark = top.options("spark")
    top.done()
    _check_whole(top, parts, sinks)
    problems.check(file)
    return Pipeline(name, file, checkpoint, trigger, tuple(parts), tuple(sinks), letters, spark)


def _named(title: str, fields: Fields, made: T) -> T:
    """The same, once its name was looked at."""
    if not _NAME.fullmatch(title):
        fields.wrong(fields.line, f"{fields.where}: a name has letters, digits and _, and begins with a letter.")
    return made


def _read_head(top: Fields, file: str) -> tuple[str, str, str]:
    head = top.table("pipeline")
    if head is None:
        top.wrong(1, 'the file needs a table [pipeline] with a name, e.g. [pipeline] and name = "shop".')
        return "", "", ""
    name = head.needed("name", '"shop"')
    if name and not _TITLE.fullmatch(name):
        head.wrong(head.line_of("name"), "name: letters, digits, dots, _ and -, at most 100.")
    checkpoint = head.text("checkpoint") or f"./{name}-checkpoints"
    trigger = head.text("trigger") or "5 seconds"
    if trigger != "once":
        found = normal_interval(trigger)
        if found is None:
            head.wrong(
                head.line_of("trigger"), f"trigger is {trigger!r}: expected once, or a time such as '5 seconds'."
            )
        trigger = found or trigger
    head.done()
    return name, checkpoint, trigger


def _read_cluster(top: Fields) -> dict[str, str]:
    table = top.table("cluster")
    if table is None:
        return {}
    options = table.options()
    if "bootstrap" in options:
        options = {"kafka.bootstrap.servers": options.pop("bootstrap")} | options
    return options


def _read_letters(top: Fields, cluster: dict[str, str]) -> DeadLetters | None:
    fields = top.table("dead-letters")
    if fields is None:
        return None
    fields.where = "[dead-letters]"
    writes = read_writes(fields, cluster, letters=True)
    fields.done()
    if not isinstance(writes, TopicSink | FileSink):
        if writes is not None:
            fields.wrong(fields.line, "[dead-letters] go to a topic or to a file: give topic or file.")
        return None
    return DeadLetters(fields.line, writes)


def _check_whole(top: Fields, parts: list[Part], sinks: list[Sink]) -> None:
    if not parts:
        top.wrong(0, 'has no source: add [sources.orders] with topic = "orders".')
    if not sinks:
        top.wrong(0, "has no sink: add [sinks.screen] with from and console = true.")
    if len(parts) + len(sinks) > PARTS_MAX:
        top.wrong(0, f"has more than {PARTS_MAX} sources, steps and sinks: split it.")
    seen: dict[str, Part] = {}
    for part in parts:
        other = seen.setdefault(part.name.lower(), part)
        if other is not part:
            top.wrong(
                part.line, f"{part.name} is the name of what stands in line {other.line}, too: rename one of them."
            )
