"""`tape demo`, which `make run` runs. Only the command: what it does is in `demo_run.py`, loaded when it is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tapelog.cli.options import Json

RATE_MAX = 2000


def demo(
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Where to listen; the next free one if taken.")
    ] = 9092,
    rate: Annotated[int, typer.Option("--rate", min=1, max=RATE_MAX, help="Orders per second.")] = 100,
    data: Annotated[Path | None, typer.Option("--data", help="Keep the files here; else they are temporary.")] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Use this cluster instead of starting a broker."),
    ] = None,
    pipeline: Annotated[
        bool, typer.Option("--pipeline", help="Also run a pipeline on Spark over the orders (PySpark and Java 17).")
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", min=1, help="End by itself after so long (of the pipeline's work); else with q or Ctrl-C."
        ),
    ] = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="DIR", help="Where the pipeline's report puts its picture.")
    ] = Path("tapelog-demo"),
    setup: Annotated[
        str | None,
        typer.Option("--setup", hidden=True, help="Run this in the background; the pipeline begins when it succeeds."),
    ] = None,
    json: Json = False,
) -> None:
    """Start a broker with orders flowing, two groups reading them, and a live view; plain lines without a terminal.

    The view counts offsets: markers of transactions, and what compaction removed, have some, too.

    With --pipeline, bad orders are among them, and a declared pipeline checks and enriches the orders and writes
    revenue per window to a topic and to a lake table; at the end there is a report with a picture.

    Example: tape demo --rate 500

    Example: tape demo --pipeline --seconds 120
    """
    from tapelog.cli.demo_run import Wishes, run_demo

    run_demo(Wishes(port, rate, data, bootstrap, json, pipeline, seconds, report, setup))
