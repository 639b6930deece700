"""A plan of `tape rebalance` or `tape broker drain`, drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.output import table
from tapelog.cli.topic_names import is_internal
from tapelog.cli.units import format_size

if TYPE_CHECKING:
    from tapelog.cli.rebalance_plan import Move

SHOWN_MAX = 30
"""Partitions of one's own topics that are named one by one; the rest is counted."""


def plan_view(changes: Sequence[Move], document: dict[str, Any]) -> Iterator[RenderableType]:
    """What would change, and what each broker has before and after."""
    from tapelog.cli.rebalance_load import load_view

    loads = document.get("load")
    back = len(document["to_preferred_leaders"])
    if back:
        words = "goes back to its preferred leader" if back == 1 else "go back to their preferred leaders"
        yield Text(f"{count(back)} {words}", style="bold")
        yield Text()
    if not changes and back:
        yield _per_broker(document)
        return
    if not changes:
        yield Text(
            f"nothing to do: {'replicas and leaders are' if loads is None else 'moving leaders makes it no more'} even"
        )
        if loads is not None:
            yield from load_view(loads)
        return
    own = [move for move in changes if not is_internal(move.topic)]
    rows = [
        [
            f"{move.topic}:{move.index}",
            ",".join(map(str, move.before)),
            "→",
            _highlighted(move),
            format_size(move.bytes) if move.added else "order only",
        ]
        for move in own[:SHOWN_MAX]
    ]
    if rows:
        yield table(["partition", "replicas", "", "then", "to copy>"], rows)
    if len(own) > SHOWN_MAX:
        yield Text(f"… and {len(own) - SHOWN_MAX} more (--json lists all)", style="dim")
    internal = [move for move in changes if is_internal(move.topic)]
    if internal:
        names = ", ".join(dict.fromkeys(move.topic for move in internal))
        size = format_size(sum(move.bytes for move in internal))
        words = f"{count(len(internal))} of internal topics ({names}), {size} to copy"
        yield Text(f"and {words}" if own else words, style="dim")
    yield Text()
    yield _per_broker(document)
    if loads is not None:
        yield from load_view(loads)
    yield Text(f"{count(len(changes))} to change, {format_size(document['bytes'])} to copy", style="bold")


def _per_broker(document: dict[str, Any]) -> RenderableType:
    """Replicas, who leads now, and whose turn it is to lead (the first replica), before and after."""
    columns = ("broker", "replicas", "replicas_after", "leads_now", "leaders", "leaders_after")
    return table(
        ["broker>", "replicas>", "then>", "leads now>", "preferred>", "then>"],
        [[one[column] for column in columns] for one in document["brokers"]],
    )


def count(number: int) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{number:,} partition{'' if number == 1 else 's'}"


def _highlighted(move: Move) -> Text:
    parts: list[Any] = []
    for broker in move.after:
        parts += [",", (str(broker), "bold green" if broker in move.added else "")]
    return Text.assemble(*parts[1:])
