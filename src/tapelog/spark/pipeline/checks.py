"""What Spark would refuse after half a minute, told at once: inputs, state without end, joins, modes, columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tapelog.spark.pipeline.columns import Columns
from tapelog.spark.pipeline.graph import upstream
from tapelog.spark.pipeline.intervals import interval_ms
from tapelog.spark.pipeline.model import (
    Dedupe,
    FileSink,
    Join,
    LakeSink,
    Part,
    Pipeline,
    PostgresSink,
    Sink,
    TopicSink,
    Window,
)
from tapelog.spark.pipeline.problems import Problems, nearest

_RESERVED: Final = ("dead_letters", "dead_letters_of_tables")


def check_inputs(pipeline: Pipeline, parts: Mapping[str, Part], problems: Problems) -> None:
    """Everything that is read by name exists."""
    for part in pipeline.parts:
        for name in part.inputs:
            if name not in parts:
                problems.add(
                    part.line, f"[steps.{part.name}]: there is no source or step {name!r}.{nearest(name, parts)}"
                )
    for sink in pipeline.sinks:
        if sink.name in _RESERVED:
            problems.add(sink.line, f"[sinks.{sink.name}]: this name belongs to [dead-letters]: take another.")
        if sink.origin not in parts:
            text = f"[sinks.{sink.name}]: there is no source or step {sink.origin!r}.{nearest(sink.origin, parts)}"
            problems.add(sink.line, text)


def check_parts(
    parts: Iterable[Part], streams: set[str], columns: Mapping[str, Columns | None], problems: Problems
) -> None:
    """Steps that can be run, as far as can be told."""
    delays: dict[str, str | None] = {}  # the watermark's delay, where one is known
    for part in parts:
        above = _least([delays.get(one) for one in part.inputs])
        delays[part.name] = part.watermark.delay if part.watermark is not None else above
        where = f"[{'sources' if part.is_source else 'steps'}.{part.name}]"
        if part.watermark is not None:
            _column(part, where, "watermark", part.watermark.column, columns.get(part.name), problems)
        match part.does:
            case Dedupe() as dedupe:
                given = columns.get(part.inputs[0])
                for key in dedupe.keys:
                    _column(part, where, "keys", key, given, problems)
                if part.name in streams and not dedupe.forever:
                    _check_memory(part, where, dedupe, above, problems)
            case Window(column=column, by=by):
                given = columns.get(part.inputs[0])
                for name in (column, *by):
                    _column(part, where, "window", name, given, problems)
            case Join() as join:
                _check_join(part, where, join, streams, columns, delays, problems)


def _least(delays: Iterable[str | None]) -> str | None:
    known = [delay for delay in delays if delay is not None]
    return min(known, key=interval_ms) if known else None


def _check_memory(part: Part, where: str, dedupe: Dedupe, delay: str | None, problems: Problems) -> None:
    """Spark remembers a key as long as the watermark's delay, not longer."""
    if delay is None:
        advice = f"add watermark = {{ column = …, delay = {dedupe.within or '10 minutes'!r} }} to {part.inputs[0]}"
        problems.add(part.line, f"{where}: keys would be remembered for ever: {advice}, or say forever = true.")
    elif dedupe.within is not None and interval_ms(dedupe.within) > interval_ms(delay):
        problems.add(
            part.line,
            f"{where}: within {dedupe.within} is longer than the watermark's delay of {delay}, and Spark forgets keys "
            "after that: make the delay longer, or within shorter.",
        )


def _check_join(
    part: Part,
    where: str,
    join: Join,
    streams: set[str],
    columns: Mapping[str, Columns | None],
    delays: Mapping[str, str | None],
    problems: Problems,
) -> None:
    left, right = part.inputs
    for side in part.inputs:
        for name in join.on:
            _column(part, where, f"join with {side}", name, columns.get(side), problems)
    if left in streams and right in streams:
        if join.how != "inner" and not (delays.get(left) and delays.get(right)):
            problems.add(
                part.line, f"{where}: a {join.how} join of two streams needs a watermark on both, and a bound in time."
            )
        return
    static = left if left not in streams else right
    outer = {"left": left, "semi": left, "anti": left, "right": right}.get(join.how)
    if (left in streams or right in streams) and (join.how == "full" or outer == static):
        problems.add(
            part.line,
            f"{where}: {join.how} would keep rows of {static}, which is no stream: put the stream on that side.",
        )


def _column(part: Part, where: str, key: str, name: str, given: Columns | None, problems: Problems) -> None:
    if given is not None and name.partition(".")[0] not in dict(given):
        names = [one for one, _ in given]
        problems.add(part.line, f"{where}: {key} names a column {name!r} that is not there.{nearest(name, names)}")


def check_sinks(
    pipeline: Pipeline,
    parts: Mapping[str, Part],
    streams: set[str],
    columns: Mapping[str, Columns | None],
    problems: Problems,
    warnings: Problems,
) -> None:
    """Sinks that can take what they are given."""
    for sink in pipeline.sinks:
        where = f"[sinks.{sink.name}]"
        path = [parts[name] for name in upstream(sink.origin, parts)]
        windows = [part for part in path if isinstance(part.does, Window)]
        marked = any(part.watermark is not None for part in path)
        if sink.origin in streams and windows and sink.mode == "append" and not marked:
            problems.add(
                windows[0].line,
                f"[steps.{windows[0].name}]: a window is written once it is over, which needs a watermark: "
                f'add one upstream, or mode = "update" to {where}.',
            )
        if sink.mode == "update" and isinstance(sink.writes, FileSink | LakeSink):
            problems.add(sink.line, f"{where}: {sink.mode} cannot be written to files.")
        _check_sink_columns(sink, where, columns.get(sink.origin), problems)
    if not streams and pipeline.trigger != "once":
        warnings.add(0, "nothing here is a stream: everything is written once, and the run ends.")


def _check_sink_columns(sink: Sink, where: str, given: Columns | None, problems: Problems) -> None:
    match sink.writes:
        case TopicSink(key=key, value=value, columns=chosen):
            names = [name for name in (value, *chosen) if name is not None]
            names += [key] if key is not None and key.isidentifier() else []
        case PostgresSink(keys=keys, columns=chosen, order=order):
            names = [*keys, *chosen, *([order] if order is not None else [])]
        case FileSink(partition_by=by):
            names = list(by)
        case _:
            names = []
    if given is not None:
        for name in names:
            if name not in dict(given):
                near = nearest(name, [one for one, _ in given])
                problems.add(sink.line, f"{where}: {sink.origin} has no column {name!r}.{near}")


def check_letters(pipeline: Pipeline, parts: Iterable[Part], problems: Problems, warnings: Problems) -> None:
    """Dead letters have a place to go, and the place is used."""
    asking = [part for part in parts if part.has_letters]
    if asking and pipeline.dead_letters is None:
        line = next(
            (one.line for part in asking for one in part.expect if one.otherwise == "dead-letter"), asking[0].line
        )
        problems.add(line, 'dead letters have nowhere to go: add [dead-letters] with topic = "orders.dead".')
    if not asking and pipeline.dead_letters is not None:
        warnings.add(pipeline.dead_letters.line, '[dead-letters] is not used: nothing says otherwise = "dead-letter".')
