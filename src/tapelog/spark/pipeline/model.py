"""A pipeline as frozen values: what was declared, checked for itself, not yet planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Otherwise = Literal["drop", "dead-letter", "fail"]

META = ("_key", "_value", "_topic", "_partition", "_offset", "_timestamp", "_headers")
"""Columns of a decoded topic that tell where a row comes from."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """How late rows may come, by an event-time column."""

    column: str
    delay: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """A rule in SQL that every row should keep, and what becomes of one that does not."""

    name: str
    rule: str
    otherwise: Otherwise
    line: int


@dataclass(frozen=True, slots=True)
class TopicSource:
    """Records of topics, decoded or as they are (`raw`)."""

    options: Mapping[str, str]
    format: str
    schema: str | None
    corrupt: Otherwise
    stream: bool


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files that Spark reads: once per run, or as they come."""

    path: str
    format: str
    schema: str | None
    options: Mapping[str, str]
    stream: bool


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table of the lake, as `tapelog.spark.lake.table` takes it."""

    url: str
    format: str
    partition: str
    catalog: Mapping[str, str]
    storage: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LakeSource:
    """A table of the lake, read once per run."""

    table: LakeTable


@dataclass(frozen=True, slots=True)
class Sql:
    """A query over the views of other sources and steps."""

    text: str


@dataclass(frozen=True, slots=True)
class Python:
    """A function from frames to a frame: `file.py:name` or `package.module:name`."""

    place: str
    function: str


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of two inputs brought together."""

    on: tuple[str, ...]
    condition: str | None
    how: str


@dataclass(frozen=True, slots=True)
class Dedupe:
    """The first of rows with equal keys. Keys are remembered as long as the watermark's delay, or for ever."""

    keys: tuple[str, ...]
    within: str | None
    forever: bool


@dataclass(frozen=True, slots=True)
class Window:
    """Aggregates per window of event time and per value of some columns."""

    column: str
    size: str
    slide: str | None
    by: tuple[str, ...]
    aggregate: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows chosen and columns made: `where` and `select`; without both, the input as it is."""

    where: str | None = None
    select: tuple[str, ...] = ()


Does = TopicSource | FileSource | LakeSource | Sql | Python | Join | Dedupe | Window | Shape


@dataclass(frozen=True, slots=True)
class Part:
    """A source or a step: a name that SQL can refer to."""

    name: str
    line: int
    does: Does
    inputs: tuple[str, ...] = ()
    watermark: Watermark | None = None
    expect: tuple[Expectation, ...] = ()

    @property
    def is_source(self) -> bool:
        """Whether it reads from outside."""
        return isinstance(self.does, TopicSource | FileSource | LakeSource)

    @property
    def has_letters(self) -> bool:
        """Whether rows may go from here to the dead letters."""
        corrupt = (
            isinstance(self.does, TopicSource) and self.does.format != "raw" and self.does.corrupt == "dead-letter"
        )
        return corrupt or any(one.otherwise == "dead-letter" for one in self.expect)


@dataclass(frozen=True, slots=True)
class TopicSink:
    """Rows as records: exactly once by transactions, unless told that at least once will do."""

    options: Mapping[str, str]
    key: str | None
    value: str | None
    format: str
    columns: tuple[str, ...]
    partitions: int
    """A topic that is missing is made with so many; 0: it must be there."""


@dataclass(frozen=True, slots=True)
class FileSink:
    """Files by Spark's own sink."""

    path: str
    format: str
    partition_by: tuple[str, ...]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LakeSink:
    """A table of the lake, appended to exactly once."""

    table: LakeTable


@dataclass(frozen=True, slots=True)
class PostgresSink:
    """A table in PostgreSQL that has, for each key, the newest row."""

    dsn: str
    table: str
    keys: tuple[str, ...]
    order: str | None
    delete: str | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """Rows on the screen."""

    rows: int


Writes = TopicSink | FileSink | LakeSink | PostgresSink | ConsoleSink


@dataclass(frozen=True, slots=True)
class Sink:
    """Where the rows of one source or step go."""

    name: str
    line: int
    origin: str
    mode: str
    trigger: str | None
    writes: Writes


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where bad rows go."""

    line: int
    writes: TopicSink | FileSink


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Everything that one file declares."""

    name: str
    file: str
    checkpoint: str
    trigger: str
    """`once`, or how often, e.g. `5 seconds`."""
    parts: tuple[Part, ...]
    sinks: tuple[Sink, ...]
    dead_letters: DeadLetters | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
