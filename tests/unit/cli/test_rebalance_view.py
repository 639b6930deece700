"""How a plan of `tape rebalance` and `tape broker drain` is drawn: one's own topics first, internal ones summed."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from tapelog.cli.rebalance_plan import Move
from tapelog.cli.rebalance_view import SHOWN_MAX, plan_view


def text_of(*moves: Move) -> str:
    document: dict[str, Any] = {"bytes": sum(move.bytes for move in moves), "to_preferred_leaders": [], "brokers": []}
    console = Console(width=200, record=True, file=io.StringIO())
    for part in plan_view(moves, document):
        console.print(part)
    return console.export_text()


def offsets(count: int) -> list[Move]:
    return [Move("__consumer_offsets", index, (1,), (2,), 10) for index in range(count)]


def test_own_topics_are_all_named_though_many_internal_partitions_move() -> None:
    state = Move("__transaction_state", 0, (1, 2), (2, 1), 0)
    text = text_of(*offsets(50), state, Move("orders", 3, (1,), (2,), 4096), Move("zebra", 0, (1,), (2,), 5))
    assert "orders:3" in text and "zebra:0" in text and "__consumer_offsets:" not in text
    assert "and 51 partitions of internal topics (__consumer_offsets, __transaction_state), 500 B to copy" in text
    assert "more (--json" not in text, "nothing of one's own is left out"


def test_internal_partitions_alone_are_one_line() -> None:
    text = text_of(*offsets(40))
    assert "40 partitions of internal topics (__consumer_offsets), 400 B to copy" in text
    assert "__consumer_offsets:0" not in text and "  and" not in text


def test_too_many_own_partitions_are_counted_apart_from_internal_ones() -> None:
    text = text_of(*offsets(3), *(Move("orders", index, (1,), (2,), 1) for index in range(SHOWN_MAX + 7)))
    assert "… and 7 more (--json lists all)" in text and "and 3 partitions of internal topics" in text
