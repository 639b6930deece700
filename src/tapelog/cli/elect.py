"""`tape cluster elect`: the preferred replica of each partition leads again, as after a rolling restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tapelog.cli.complete import complete_topic
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Yes
from tapelog.cli.output import emit, remark
from tapelog.cli.prompt import confirm
from tapelog.cli.rebalance import refuse_moving, returning
from tapelog.cli.rebalance_view import count
from tapelog.cli.topic_names import own_first
from tapelog.cli.txn_options import open_wire

if TYPE_CHECKING:
    from tapelog.cli.cluster_state import ClusterState, Partition

Topics = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOPIC…]", help="Only of these topics.", autocompletion=complete_topic),
]


def elect(
    topics: Topics = None,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Let the preferred replica (the first of a partition's list) lead again, where it is in sync. Copies nothing.

    Example: tape cluster elect --yes
    """
    from tapelog.cli import cluster_asks
    from tapelog.cli.connect import missing_topic
    from tapelog.cli.moves import prefer_leaders

    with open_wire(bootstrap, properties, timeout) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False)
        refuse_moving(state)
        names = [one.topic for one in state.partitions]
        for name in topics or ():
            if name not in names:
                raise missing_topic(name, sorted(set(names)))
        chosen = [place for place in returning(state, []) if not topics or place[0] in topics]
        chosen.sort(key=lambda place: (own_first(place[0]), place[1]))
        if chosen:
            confirm(f"let the preferred replica of {count(len(chosen))} lead again?", yes)
            prefer_leaders(wire, chosen)
    away = [one for one in out_of_sync(state) if not topics or one.topic in topics]
    document = {
        "elected": [{"topic": topic, "partition": index} for topic, index in chosen],
        "not_in_sync": [{"topic": one.topic, "partition": one.index} for one in away],
    }
    emit(json, document, lambda: [Text(_told(len(chosen), away))])
    if away and not json:
        remark(f"the preferred replica of {count(len(away))} is not in sync: `tape cluster describe`")


def out_of_sync(state: ClusterState) -> list[Partition]:
    """Partitions that another than their preferred replica leads, because that one is not in sync."""
    return [one for one in state.partitions if one.replicas and one.replicas[0] not in (one.leader, *one.isr)]


def _told(elected: int, away: Sequence[Partition]) -> str:
    if elected:
        return f"the preferred replica leads {count(elected)} again"
    return "nothing to elect" if away else "every partition is led by its preferred replica"
