"""`tape rebalance --by load`: which leaders to move by what brokers serve, and that plan drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.cluster_state import ClusterState
from tapelog.cli.load_plan import Loaded, plan_leaders
from tapelog.cli.output import table
from tapelog.cli.rates import measure, skew
from tapelog.cli.raw import Wire
from tapelog.cli.rebalance_plan import Move
from tapelog.cli.units import format_size


def leaders_by_load(wire: Wire, state: ClusterState, window_s: float | None) -> tuple[list[Move], dict[str, Any]]:
    """Leaders to move, and what each broker carries before and after."""
    measured = measure(wire, state, window_s)
    load = {(one.topic, one.index): one.load for one in measured.rates}
    loaded = [
        Loaded(one.topic, one.index, one.leader, one.replicas, one.isr, load.get((one.topic, one.index), 0.0))
        for one in state.partitions
        if not one.offline
    ]
    plan = plan_leaders([one.id for one in state.brokers if not one.fenced], loaded, measured.beside)
    known = all(one.bytes_per_s is not None for one in measured.rates)
    return plan.moves, {
        "unit": "bytes/s" if known else "records/s",
        "seconds": measured.seconds,
        "counted_by_nodes": measured.counted,
        "brokers": [
            {"broker": broker, "before": before, "after": plan.after[broker]} for broker, before in plan.before.items()
        ],
    }


def load_view(loads: dict[str, Any]) -> Iterator[RenderableType]:
    """What each broker serves as a leader, before and after, and how far the busiest is above the mean."""

    def amount(value: float) -> str:
        return f"{format_size(round(value))}/s" if loads["unit"] == "bytes/s" else f"{value:,.0f} records/s"

    listed = loads["brokers"]
    yield Text()
    yield table(
        ["broker>", "serves>", "then>"],
        [[one["broker"], amount(one["before"]), amount(one["after"])] for one in listed],
    )
    before, after = (skew(one[key] for one in listed) for key in ("before", "after"))
    source = "as the nodes counted" if loads["counted_by_nodes"] else "as seen from here"
    yield Text(
        f"the busiest broker has {before:.2f}× the mean, then {after:.2f}×; {source}, {loads['seconds']:g} s", "dim"
    )
