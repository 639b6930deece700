"""What would run: the parts in order, which of them are streams, columns where known, and one query per sink. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tapelog.spark.pipeline import checks
from tapelog.spark.pipeline.columns import Columns, columns_of
from tapelog.spark.pipeline.graph import ordered, streams_of, wanted
from tapelog.spark.pipeline.model import Part, Pipeline, Sink
from tapelog.spark.pipeline.problems import Problems

LETTERS: Final = "dead_letters"
"""The query of the dead letters is called so."""


@dataclass(frozen=True, slots=True)
class Query:
    """What one sink needs: parts in the order in which they are made."""

    name: str
    parts: tuple[str, ...]
    stream: bool
    sink: Sink | None
    """None: the dead letters of these parts."""
    letters: tuple[str, ...] = ()
    """Parts whose bad rows are written by this query (only where sink is None)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline that can run, as far as can be told without Spark."""

    pipeline: Pipeline
    parts: Mapping[str, Part]
    """In the order in which they are made; only those that something is written from."""
    streams: frozenset[str]
    columns: Mapping[str, Columns | None]
    queries: tuple[Query, ...]
    warnings: tuple[str, ...]


def make_plan(pipeline: Pipeline) -> Plan:
    """The plan of a pipeline; DocumentError with every mistake of the graph, by line."""
    problems, warnings = Problems(), Problems()
    by_name = {part.name: part for part in pipeline.parts}
    checks.check_inputs(pipeline, by_name, problems)
    problems.check(pipeline.file)
    order = ordered(by_name, problems)
    problems.check(pipeline.file)
    streams = streams_of(order, by_name)
    columns: dict[str, Columns | None] = {}
    for name in order:
        columns[name] = columns_of(by_name[name], columns)
    used = wanted(order, by_name, [sink.origin for sink in pipeline.sinks])
    checks.check_parts([by_name[name] for name in order], streams, columns, problems)
    checks.check_sinks(pipeline, by_name, streams, columns, problems, warnings)
    checks.check_letters(pipeline, [by_name[name] for name in used], problems, warnings)
    for name in order:
        if name not in used:
            warnings.add(by_name[name].line, f"nothing is written from {name}: it does not run.")
    problems.check(pipeline.file)
    queries = _queries(pipeline, by_name, order, streams)
    told = tuple(problem.told(pipeline.file) for problem in sorted(warnings.found))
    return Plan(pipeline, {name: by_name[name] for name in used}, frozenset(streams), columns, queries, told)


def _queries(pipeline: Pipeline, parts: Mapping[str, Part], order: list[str], streams: set[str]) -> tuple[Query, ...]:
    made = []
    letters: list[str] = []
    for sink in pipeline.sinks:
        needed = wanted(order, parts, [sink.origin])
        made.append(Query(sink.name, tuple(needed), sink.origin in streams, sink))
        letters += [name for name in needed if parts[name].has_letters]
    # streams and tables are not one query: their bad rows are written by two
    for stream in (True, False):
        bad = [name for name in order if name in letters and (name in streams) is stream]
        if bad and pipeline.dead_letters is not None:
            name = LETTERS if stream else f"{LETTERS}_of_tables"
            made.append(Query(name, tuple(wanted(order, parts, bad)), stream, None, tuple(bad)))
    return tuple(made)
