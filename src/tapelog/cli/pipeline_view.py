"""Plans and runs in the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.output import table
from tapelog.cli.units import format_duration, format_moment

if TYPE_CHECKING:
    from tapelog.spark.pipeline.runs import Run

STALE_MS = 15_000
"""A run that has not written for so long is busy with something, or stuck."""


def drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    """The document of `tape pipeline plan` for people."""
    trigger = "once, then it ends" if document["trigger"] == "once" else f"every {document['trigger']}"
    yield Text.assemble((document["name"], "bold"), f" ({document['file']}): {trigger}, on {document['master']}")
    yield Text(f"checkpoints in {document['checkpoint']}", style="dim")
    yield Text()
    rows = []
    for part in document["parts"]:
        arrow = ", ".join(part["inputs"])
        rows.append([part["name"], part["kind"], "stream" if part["stream"] else "table", arrow or "-", part["what"]])
    yield table(["", "", "", "from", ""], rows)
    yield from _details(document["parts"])
    yield Text()
    for query in document["queries"]:
        yield Text.assemble(
            (query["name"], "bold"),
            f": {' → '.join(query['parts'])} → {query['to']}",
            (f" ({query['promise']})", "dim"),
        )
        if query["mode"] != "append":
            yield Text(f"    mode {query['mode']}", style="dim")
        yield from _options(query["options"])
    for line in document["warnings"]:
        yield Text.assemble(("→ ", "bold yellow"), line)


def _details(parts: list[dict[str, Any]]) -> Iterator[RenderableType]:
    for part in parts:
        lines = [f"watermark {part['watermark']}"] if part["watermark"] else []
        lines += [f"expect {one['rule']}, otherwise {one['otherwise']}" for one in part["expect"]]
        lines.append(f"columns {part['columns']}" if part["columns"] else "columns: Spark knows when it runs")
        yield Text.assemble((part["name"], "bold"), f": {lines[0]}")
        for line in lines[1:]:
            yield Text(f"    {line}")
        yield from _options(part["options"])


def _options(options: dict[str, str]) -> Iterator[RenderableType]:
    for name, value in options.items():
        yield Text(f"    {name} = {value}", style="dim")


def run_document(run: Run) -> dict[str, Any]:
    """A run for programs."""
    return asdict(run)


def runs_drawn(runs: Iterable[Run]) -> Iterator[RenderableType]:
    """`tape pipeline list` for people."""
    every = list(runs)
    if not every:
        yield Text(
            "no pipeline was started on this machine: `tape pipeline init` writes one, `run` starts it", style="dim"
        )
        return
    rows = []
    for run in every:
        read = sum(query["rows"] for query in run.queries.values())
        speed = sum(query["rows_per_s"] for query in run.queries.values()) if run.state == "running" else 0
        rows.append(
            [run.name, _state(run), run.pid, format_moment(run.begun_ms), f"{read:,}", f"{speed:,.0f}", run.file]
        )
    yield table(["name", "state", "pid>", "since", "read>", "read/s>", "file"], rows)


def status_drawn(run: Run) -> Iterator[RenderableType]:
    """`tape pipeline status` for people."""
    age = max(0, int(time.time() * 1000) - run.updated_ms)
    yield Text.assemble(
        (run.name, "bold"), ": ", _state(run), f", process {run.pid}, since {format_moment(run.begun_ms)}"
    )
    if run.state in ("running", "starting") and age > STALE_MS:
        yield Text(f"it has not written for {format_duration(age)}: see {run.log}", style="yellow")
    if run.error:
        yield Text(run.error, style="red")
    yield Text(f"checkpoints in {run.checkpoint}; what Spark said is in {run.log}", style="dim")
    yield query_table(run.queries)
    yield from expectations_drawn(run.queries)


def query_table(queries: dict[str, dict[str, Any]]) -> RenderableType:
    """Rows that each query has read, and its rates. They do not add up to the rows there are: every query reads its
    sources for itself, and where two of its parts need one, twice.
    """
    rows = [
        [
            name,
            one["batch"] if one["batch"] >= 0 else None,
            f"{one['rows']:,}",
            f"{one['rows_per_s']:,.0f}",
            f"{one['processed_per_s']:,.0f}",
            f"{one['batch_ms']:,} ms" if one["batch"] >= 0 else None,
            None if one["behind"] is None else f"{one['behind']:,}",
        ]
        for name, one in queries.items()
    ]
    return table(["query", "batch>", "read>", "in/s>", "done/s>", "last batch>", "behind>"], rows)


def expectations_drawn(queries: dict[str, dict[str, Any]]) -> Iterator[RenderableType]:
    """How many rows broke which rule."""
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for query in queries.values():
        for part, counts in query["expectations"].items():
            for rule, broken in counts.items():
                if rule != "rows":
                    known = seen.get((part, rule), (0, 0))
                    seen[part, rule] = max(known, (counts.get("rows", 0), broken))
    for (part, rule), (rows, broken) in seen.items():
        style = "yellow" if broken else "dim"
        met = f"{broken:,} of {rows:,} rows failed" if broken else f"all {rows:,} rows pass" if rows else "no rows yet"
        yield Text(f"{part}: {rule}: {met}", style=style)


def _state(run: Run) -> Text:
    colours = {"running": "green", "starting": "cyan", "ended": "dim", "failed": "bold red", "died": "bold red"}
    return Text(run.state, style=colours.get(run.state, ""))
