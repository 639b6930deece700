"""`tape broker move-dir`: replicas of one broker move to another of its log directories, while they are used.

Kafka's own APIs: AlterReplicaLogDirs begins, DescribeLogDirs tells how far it is. The broker copies and switches by
itself, also after a restart of it; this side asks, waits and reports.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, CliError, emit, remark
from tapelog.cli.raw import Wire, check
from tapelog.cli.txn_options import open_wire
from tapelog.cli.units import format_size
from tapelog.wire.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tapelog.wire.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse

if TYPE_CHECKING:
    from tapelog.cli.raw import Node

POLL_S = 0.3
TELL_S = 2.0


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of the broker, and where it is."""

    topic: str
    index: int
    directory: str
    size_bytes: int


def move_dir(
    broker: Annotated[int, typer.Argument(metavar="ID", help="The broker's id; `tape broker list` shows them.")],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="Where they go; `tape broker disks` shows them.")],
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC…]", help="Of these topics only; of all if none is named.")
    ] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="DIR", help="Only what is in this directory.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until they are there.")] = True,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Move replicas of a broker to another of its log directories, while they are written and read.

    Example: tape broker move-dir 1 orders payments --to /disk2/node-1

    Example, to empty a disk: tape broker move-dir 1 --from /disk2/node-1 --to /disk3/node-1
    """
    from tapelog.cli import cluster_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        found = [one for one in cluster_asks.brokers(wire)[2] if one.id == broker]
        if not found:
            raise CliError(f"there is no broker {broker}", "`tape broker list` shows them", EXIT_NOT_FOUND)
        node = found[0].node
        held, _, directories = _held(wire, node)
        if source is not None and source not in directories:  # or a slip would read: there is nothing left in it
            raise CliError(
                f"broker {broker} has no log directory {source}",
                f"it has {', '.join(directories)}; `tape broker disks` shows more",
                EXIT_NOT_FOUND,
            )
        chosen = [
            one
            for one in held
            if one.directory != to and source in (None, one.directory) and (not topics or one.topic in topics)
        ]
        unknown = [topic for topic in topics or [] if topic not in {one.topic for one in held}]
        if unknown:
            raise CliError(
                f"broker {broker} has no replica of {', '.join(unknown)}",
                "`tape topic list` shows topics",
                EXIT_NOT_FOUND,
            )
        _begin(wire, node, chosen, to)
        if wait:
            _wait(wire, node, chosen, to)
    listed = [{"topic": one.topic, "partition": one.index, "from": one.directory, "to": to} for one in chosen]
    done = "moved" if wait else "on the way; `tape broker disks` shows when that is done"
    emit(
        json,
        {"broker": broker, "to": to, "waited": wait, "replicas": listed},
        lambda: [Text(f"{len(chosen)} replica{'' if len(chosen) == 1 else 's'} of broker {broker} {done}")],
    )


def _held(wire: Wire, node: Node) -> tuple[list[Replica], dict[tuple[str, int], int], list[str]]:
    """The broker's replicas, of those that are on their way how many offsets they lack, and its directories."""
    told = wire.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, node)
    held, moving = [], {}
    for directory in told.results:
        for topic in directory.topics:
            for part in topic.partitions:
                if part.is_future_key:
                    moving[topic.name, part.partition_index] = part.offset_lag
                else:
                    held.append(Replica(topic.name, part.partition_index, directory.log_dir, part.partition_size))
    return held, moving, [directory.log_dir for directory in told.results]


def _begin(wire: Wire, node: Node, chosen: list[Replica], to: str) -> None:
    topics: dict[str, list[int]] = {}
    for one in chosen:
        topics.setdefault(one.topic, []).append(one.index)
    if not topics:
        return
    asked = [AlterReplicaLogDirTopic(name=name, partitions=indexes) for name, indexes in topics.items()]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=to, topics=asked)])
    answer = wire.ask(request, AlterReplicaLogDirsResponse, node)
    for result in answer.results:
        for part in result.partitions:
            check(
                part.error_code,
                f"{result.topic_name}:{part.partition_index} cannot be moved to {to}",
                "`tape broker disks` shows the broker's directories, and which are offline or cordoned",
            )


def _wait(wire: Wire, node: Node, chosen: list[Replica], to: str) -> None:
    from tapelog.cli.moves import patiently

    wanted = {(one.topic, one.index): one for one in chosen}
    told_s = time.monotonic()
    while True:
        held, moving, _ = patiently(partial(_held, wire, node))
        left = [key for key in wanted if key in moving]
        if not left:
            break
        if time.monotonic() - told_s >= TELL_S:
            told_s = time.monotonic()
            size = sum(wanted[key].size_bytes for key in left)
            remark(f"{len(wanted) - len(left)} of {len(wanted)} moved, {format_size(size)} to go")
        time.sleep(POLL_S)
    there = {(one.topic, one.index): one.directory for one in held}
    stayed = [f"{topic}:{index}" for topic, index in wanted if there.get((topic, index), to) != to]
    if stayed:
        raise CliError(
            f"not moved to {to}: {', '.join(stayed[:10])}",
            "the broker's log says why; `tape broker disks` shows whether the directory works",
            EXIT_FAILED,
        )
