"""What `tape pipeline run` shows while a pipeline runs: bars and rates on a terminal, lines or JSON elsewhere."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.text import Text

from tapelog.cli.output import CliError, console, error_console, print_json, table
from tapelog.cli.pipeline_view import expectations_drawn, query_table

if TYPE_CHECKING:
    from tapelog.spark.pipeline.model import Pipeline
    from tapelog.spark.pipeline.run.engine import Report
    from tapelog.spark.pipeline.runs import Runs

PLAIN_EVERY_S = 5.0
JSON_EVERY_S = 1.0
FRAME_S = 0.5
BEGIN_S = 120.0
CELL_CHARS_MAX = 60


def run_shown(
    pipeline: Pipeline, master: str, conf: dict[str, str], runs: Runs, *, once: bool = False, as_json: bool = False
) -> None:
    """Run it, shown; PlanError if it cannot run or a query fails."""
    from tapelog.spark.pipeline import make_plan
    from tapelog.spark.pipeline.run.engine import Orders, run_plan
    from tapelog.spark.pipeline.run.session import check_java, check_spark

    if once:
        sinks = tuple(replace(sink, trigger=None) for sink in pipeline.sinks)
        pipeline = replace(pipeline, trigger="once", sinks=sinks)
    plan = make_plan(pipeline)
    check_spark()
    check_java(os.environ)
    for line in plan.warnings:
        error_console().print(Text(line, style="yellow"))
    with _signals() as asked, _shown(as_json) as (report, show):
        orders = Orders(master, conf, runs, show, report, lambda: bool(asked))
        last = run_plan(plan, orders)
    if as_json:
        print_json(_document(last), one_line=True)
        return
    queries = {name: tally.document() for name, tally in last.queries.items()}
    console().print(query_table(queries))
    for part in expectations_drawn(queries):
        console().print(part)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """SIGTERM and Ctrl-C end a run in order; a second Ctrl-C means it."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked and number == signal.SIGINT:
            logging.disable(logging.CRITICAL)  # py4j would tell with a traceback which call this cuts off
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


Shown = tuple[Callable[["Report"], None], Callable[[str, Any, int], None]]


@contextmanager
def _shown(as_json: bool) -> Iterator[Shown]:
    """Who is told how the run goes, and who shows rows."""
    if as_json:
        yield _every(JSON_EVERY_S, lambda report: print_json(_document(report), one_line=True)), _show_json
        return
    if not console().is_terminal:
        yield _every(PLAIN_EVERY_S, _say_line), show_rows
        return
    from rich.live import Live

    with Live(Text("…"), console=console(), auto_refresh=False, transient=True) as live:
        yield _every(FRAME_S, lambda report: live.update(_frame(report), refresh=True)), show_rows


def _every(seconds: float, tell: Callable[[Report], None]) -> Callable[[Report], None]:
    """The same, but not more often than that; a new state is told at once."""
    last: list[tuple[float, str]] = [(0.0, "")]

    def told(report: Report) -> None:
        now, state = time.monotonic(), report.state + report.doing
        if state != last[0][1] or now - last[0][0] >= seconds:
            last[0] = (now, state)
            tell(report)

    return told


def _document(report: Report) -> dict[str, Any]:
    queries = {name: tally.document() for name, tally in report.queries.items()}
    return {"name": report.name, "state": report.state, "doing": report.doing, "queries": queries}


def _say_line(report: Report) -> None:
    if report.doing:
        line = f"{report.name}: {report.doing}"
    else:
        parts = [f"{name} {one.rows:,} rows read, {one.processed_per_s:,.0f}/s" for name, one in report.queries.items()]
        line = f"{report.name}: {report.state}" + (f": {'; '.join(parts)}" if parts else "")
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _frame(report: Report) -> RenderableType:
    title = Text.assemble((report.name, "bold"), f": {report.doing or report.state}")
    queries = {name: tally.document() for name, tally in report.queries.items()}
    parts: list[RenderableType] = [title, query_table(queries)]
    for name, tally in report.queries.items():
        aim = report.targets.get(name, 0)
        if aim and tally.beginning is not None and aim > tally.beginning:
            done = min(tally.position, aim) - tally.beginning
            parts.append(Text(f"{name} {done / (aim - tally.beginning):.0%}"))
            parts.append(ProgressBar(total=aim - tally.beginning, completed=done, width=60))
    return Group(*parts, *expectations_drawn(queries))


def show_rows(name: str, frame: Any, rows: int) -> None:
    """Rows of a sink `console`, as a table."""
    found = frame.take(rows + 1)
    if not found:
        return
    cells = [[_cell(one) for one in row] for row in found[:rows]]
    more = " (there are more)" if len(found) > rows else ""
    console().print(table(frame.columns, cells, title=f"{name}{more}"))


def _show_json(name: str, frame: Any, rows: int) -> None:
    for row in frame.limit(rows).toJSON().collect():
        sys.stdout.write(f'{{"sink": "{name}", "row": {row}}}\n')


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    text = value.decode(errors="replace") if isinstance(value, bytes | bytearray) else str(value)
    return text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…"


def in_background(name: str, runs: Runs, *, as_json: bool) -> None:
    """Start this very command without --background in a session of its own; return once it runs."""
    words = [word for word in sys.argv[1:] if word not in ("--background", "--json")]
    runs.directory.mkdir(parents=True, exist_ok=True)
    before = runs.read(name)
    if before is not None and runs.alive(before):
        raise CliError(f"{name} runs already: process {before.pid}", f"`tape pipeline stop {name}`")
    out = runs.directory / f"{name}.out"
    with out.open("wb") as opened:
        process = subprocess.Popen(
            [sys.executable, "-m", "tapelog", *words],
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + BEGIN_S
    while time.monotonic() < deadline:
        run = runs.read(name)
        if process.poll() is not None:
            if process.returncode == 0:
                break
            raise CliError(out.read_text(encoding="utf-8", errors="replace").strip()[-2000:], f"all of it is in {out}")
        if run is not None and run.pid == process.pid and run.state == "running":
            break
        time.sleep(FRAME_S)
    if as_json:
        print_json({"name": name, "pid": process.pid})
    else:
        console().print(
            f"{name} runs as process {process.pid}: `tape pipeline status {name}`, `tape pipeline stop {name}`"
        )
