"""How clean the partitions of a compacted topic are, as their leaders say: for `tape topic describe`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from rich.text import Text

from tapelog.cli.connect import Connection
from tapelog.cli.output import CliError, table
from tapelog.cli.raw import Node, Wire
from tapelog.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse, PartitionCleaning


def asked(connection: Connection, topic: str, partitions: Iterable[Any]) -> dict[int, dict[str, Any]]:
    """Partition → how clean it is. Empty where nobody tells: other brokers do not, or cannot be asked now."""
    led: dict[int, tuple[Node, list[int]]] = {}
    for part in partitions:
        if part.leader is not None:
            node = Node(part.leader.id, part.leader.host, part.leader.port)
            led.setdefault(part.leader.id, (node, []))[1].append(part.id)
    found: dict[int, dict[str, Any]] = {}
    with Wire(connection) as wire:
        for node, indexes in led.values():
            request = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic, indexes)])
            try:
                answer = wire.ask(request, DescribeLogDirsResponse, node)
            except CliError:
                continue
            for directory in answer.results:
                for part in (one for known in directory.topics for one in known.partitions):
                    if part.cleaning is not None:
                        found[part.partition_index] = _document(part.cleaning)
    return found


def _document(told: PartitionCleaning) -> dict[str, Any]:
    return {
        "cleaned_up_to": told.cleaned_offset,
        "clean_bytes": told.clean_bytes,
        "dirty_bytes": told.dirty_bytes,
        "dirty_ratio": _ratio(told.clean_bytes, told.dirty_bytes),
        "last_cleaned_ms": told.cleaned_ms if told.cleaned_ms >= 0 else None,
        "under_way": told.under_way,
        "uncleanable": told.uncleanable or None,
    }


def _ratio(clean: int, dirty: int) -> float:
    return round(dirty / (clean + dirty), 4) if clean + dirty else 0.0


def shown(found: dict[int, dict[str, Any]]) -> Any:
    """The same as a table."""
    rows = [
        [partition, f"{one['dirty_ratio']:.0%}", one["cleaned_up_to"], _state(one)] for partition, one in found.items()
    ]
    return table(["partition>", "dirty>", "compacted up to>", "last compacted"], rows)


def _state(one: dict[str, Any]) -> Text:
    if one["uncleanable"]:
        return Text(f"cannot be compacted: {one['uncleanable']}", style="bold red")
    if one["under_way"]:
        return Text("now")
    if one["last_cleaned_ms"] is None:
        return Text("not since the node started")
    return Text(f"{max(0.0, time.time() - one['last_cleaned_ms'] / 1000):,.0f} s ago")
