"""Options that `tape pipeline` and its jobs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tapelog.cli.output import EXIT_USAGE, CliError
from tapelog.cli.units import parse_pair

Master = Annotated[
    str,
    typer.Option(
        "--master",
        envvar="TAPELOG_SPARK_MASTER",
        metavar="URL",
        help="Where Spark runs: local[*], spark://host:7077, yarn, k8s://…",
        rich_help_panel="Spark",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="NAME=VALUE",
        help="A setting of Spark; wins over the file. Repeatable.",
        rich_help_panel="Spark",
    ),
]
Where = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="DIR",
        help="Where runs are written down; else TAPELOG_PIPELINES, else ~/.local/state/tapelog.",
    ),
]
Once = Annotated[bool, typer.Option("--once", help="Read what is there now, and end, whatever the file says.")]
Background = Annotated[
    bool, typer.Option("--background", help="Start it and return; list, status and stop look after it.")
]


def conf_of(given: list[str] | None) -> dict[str, str]:
    """--conf as a mapping; CliError for what is no NAME=VALUE."""
    made = {}
    for text in given or []:
        try:
            name, value = parse_pair(text, "spark.some.name=value")
        except ValueError as error:
            raise CliError(f"--conf {text}: {error}", "--conf spark.executor.memory=4g", EXIT_USAGE) from None
        made[name] = value
    return made
