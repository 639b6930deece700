"""Reports of `tape pipeline job` in the terminal, and the session that they need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.output import console, error_console, table
from tapelog.cli.units import format_moment, format_size

BAR = 20


def with_session(
    name: str, master: str, conf: dict[str, str], report: Callable[[Any], dict[str, Any]], *, quiet: bool
) -> dict[str, Any]:
    """What a report says, with a Spark of its own; PlanError where it cannot."""
    from tapelog.client.errors import ClientError
    from tapelog.spark.pipeline.run.session import about_to_end, make_session
    from tapelog.spark.pipeline.runs import Runs, runs_directory
    from tapelog.spark.pipeline.trouble import told
    from tapelog.spark.plan.errors import PlanError

    log = Runs(runs_directory(os.environ)).log_path(name)
    with error_console().status("starting Spark") if console().is_terminal and not quiet else _Silent() as shown:
        spark = make_session(name, master, conf, log)
        try:
            shown.update("reading history")
            return report(spark)
        except (PlanError, ClientError):
            raise
        except Exception as error:
            raise PlanError(*told(str(error))) from error
        finally:
            about_to_end(spark)
            spark.stop()


class _Silent:
    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *given: object) -> None:
        return None

    def update(self, text: str) -> None:
        """Nothing is shown."""


def skew_drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    """`tape pipeline job skew` for people."""
    distinct = f", {document['distinct_keys']:,} keys" if document["distinct_keys"] is not None else ""
    yield Text.assemble(
        (document["topic"], "bold"),
        f": {document['records']:,} records, {format_size(document['bytes'])}{distinct}; "
        f"the largest partition has {document['skew']:.1f}× the mean",
    )
    most = max((one["share"] for one in document["partitions"]), default=0)
    rows = [
        [
            one["partition"],
            f"{one['records']:,}",
            format_size(one["bytes"]),
            f"{one['share']:.1%}",
            "█" * round(BAR * one["share"] / most) if most else "",
        ]
        for one in document["partitions"]
    ]
    yield table(["partition>", "records>", "bytes>", "share>", ""], rows)
    if document["keys"]:
        yield Text()
        keys = [
            [
                "no key" if one["key"] is None else one["key"],
                one["partition"],
                f"{one['records']:,}",
                f"{one['share']:.1%}",
            ]
            for one in document["keys"]
        ]
        yield table(["key", "partition>", "records>", "share>"], keys)
    for line in document["advice"]:
        yield Text.assemble(("→ ", "bold yellow"), line)


def usage_drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    """`tape pipeline job usage` for people."""
    yield Text(f"{document['records']:,} records, {format_size(document['bytes'])}", style="bold")
    rows = [
        [
            *(one[name] for name in document["by"]),
            f"{one['records']:,}",
            format_size(one["bytes"]),
            f"{one['share']:.1%}",
            None if one["bytes_per_s"] is None else f"{format_size(one['bytes_per_s'])}/s",
            None if one["last_ms"] is None else format_moment(one["last_ms"]),
        ]
        for one in document["groups"]
    ]
    yield table([*document["by"], "records>", "bytes>", "share>", "mean>", "last"], rows)


def replay_shown(
    spark: Any, source: Any, sink: dict[str, str], state: str, rate: int | None, *, as_json: bool
) -> dict[str, Any]:
    """Replay, with a bar."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from tapelog.spark import lake

    columns = (TextColumn("{task.completed:,} of {task.total:,} rows"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), disable=as_json or not console().is_terminal) as shown:
        bar = shown.add_task("replay", total=0)

        def told(done: Any) -> None:
            shown.update(bar, completed=done.rows, total=done.rows_all)

        done = lake.replay(spark, source, sink, state=state, rows_per_second=rate, on_progress=told)
    return {"rows": done.rows, "to": sink["topic"]}
