"""Options that many commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from tapelog.cli.complete import complete_group, complete_topic

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="TAPELOG_BOOTSTRAP",
        metavar="HOST:PORT,…",
        help="Where the cluster is.",
        rich_help_panel="Connection",
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-X",
        metavar="NAME=VALUE",
        help="A librdkafka client property, e.g. -X security.protocol=SSL. Repeatable.",
        rich_help_panel="Connection",
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", help="How long to wait for an answer.", rich_help_panel="Connection"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", autocompletion=complete_topic)]
Topics = Annotated[
    list[str], typer.Argument(metavar="TOPIC…", help="One or more topics.", autocompletion=complete_topic)
]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=complete_group)]
Groups = Annotated[
    list[str], typer.Argument(metavar="GROUP…", help="One or more groups.", autocompletion=complete_group)
]
MaybeGroups = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP…]", help="Groups; all of them if none is named.", autocompletion=complete_group),
]
Markers = Annotated[
    bool, typer.Option("--markers", help="Also groups in which Spark's exactly-once sink keeps its markers.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A topic config, e.g. --set retention.ms=7d. Durations and sizes may have units. Repeatable.",
    ),
]
