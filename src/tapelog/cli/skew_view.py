"""`tape topic skew` in the terminal: partitions with bars, brokers, heaviest keys, advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.output import table
from tapelog.cli.skew import UNEVEN
from tapelog.cli.units import format_size

BAR = 20
"""Cells of the longest bar."""


def drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    """The document of `tape topic skew` for people."""
    parts = document["partitions"]
    most = max((one["share"] for one in parts), default=0.0)
    yield Text.assemble(
        (document["topic"], "bold"),
        f": {document['records_per_s']:,.0f} records/s; the busiest partition has {document['skew']:.1f}× the mean",
    )
    rows = [
        [
            one["partition"],
            one["leader"],
            f"{one['records_per_s']:,.0f}",
            _per_s(one["bytes_per_s"]),
            _per_s(one["read_bytes_per_s"]),
            format_size(one["bytes"]),
            f"{one['share']:.1%}",
            Text("█" * round(BAR * one["share"] / most) if most else "", style=_colour(one["share"], len(parts))),
        ]
        for one in parts
    ]
    yield table(["partition>", "leader>", "records/s>", "written>", "read>", "on disk>", "share>", ""], rows)
    yield from _brokers_drawn(document)
    if document["sampled"] and not document["keys"]:
        yield Text(f"no key stands out in the newest {document['sampled']:,} records", style="dim")
    if document["keys"]:
        yield Text()
        yield Text(f"heaviest keys of the newest {document['sampled']:,} records", style="bold")
        yield table(
            ["key", "partition>", "records>", "share>"],
            [
                [
                    Text("no key", style="dim") if one["key"] is None else one["key"],
                    one["partition"],
                    f"{one['records']:,}",
                    f"{one['share']:.1%}",
                ]
                for one in document["keys"]
            ],
        )
    for line in document["advice"]:
        yield Text.assemble(("→ ", "bold yellow"), line)
    if not document["records_per_s"]:
        yield Text("nothing was written meanwhile: shares are those of the sample", style="dim")


def _per_s(value: float | None) -> str:
    return "-" if value is None else f"{format_size(round(value))}/s"


def _brokers_drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    if len(document["brokers"]) < 2:
        return
    yield Text()
    bytes_known = all(one["bytes_per_s"] is not None for one in document["partitions"])
    shown = _per_s if bytes_known else "{:,.0f} records/s".format
    rows = [[one["broker"], one["leads"], shown(one["topic_load"]), shown(one["load"])] for one in document["brokers"]]
    yield table(["broker>", "leads>", "serves of it>", "in all>"], rows)
    source = "as the nodes counted" if document["counted_by_nodes"] else "as seen from here"
    yield Text(f"{source}, {document['seconds']:g} s", style="dim")


def _colour(share: float, count: int) -> str:
    return "red" if share * count >= UNEVEN and count > 1 else "cyan"
