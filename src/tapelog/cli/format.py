"""`tape format`: makes the directories of a cluster, or of a node that joins one, and starts nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tapelog.cli.cluster_files import PlannedNode
from tapelog.cli.starting import DEFAULT_LISTEN, EXIT_USAGE, UpError, parse_address, parse_settings, told
from tapelog.cli.up_cluster import prepared, prepared_on, written


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of `tape format` as typed."""

    data: str
    listen: str | None = None
    nodes: int | None = None
    on: Sequence[str] = ()
    join: str | None = None
    controller: bool = False
    node_id: int | None = None
    settings: Sequence[str] = ()
    places: Sequence[str] = ()


def run_format(wanted: Wanted, *, as_json: bool = False) -> int:
    """Make the directories and print where they are; returns the exit code."""
    try:
        _check(wanted)
        plan, remarks, steps = _joined(wanted) if wanted.join is not None else (_made(wanted), [], [])
    except UpError as error:
        return told(error, as_json)
    for text in remarks:
        sys.stderr.write(f"{text}\n")
    if as_json:
        import json

        listed = [
            {
                "node": node.config.node_id,
                "directory": os.path.abspath(node.directory),
                "listen": str(node.config.listeners[0]).partition("://")[2],
            }
            for node in plan
        ]
        sys.stdout.write(json.dumps(listed) + "\n")
        return 0
    for node in plan:
        where = f" (on {node.config.listeners[0].host})" if wanted.on else ""
        sys.stdout.write(f"{node.directory}: `tape node {node.directory}` starts it{where}\n")
    for text in steps:
        sys.stdout.write(f"{text}\n")
    return 0


def _check(wanted: Wanted) -> None:
    """Refuse options that contradict each other."""
    if wanted.join is None and (wanted.controller or wanted.node_id is not None):
        name = "--controller" if wanted.controller else "--id"
        raise UpError(f"{name} is of a node that joins a cluster", "give --join HOST:PORT as well", EXIT_USAGE)
    if wanted.join is not None and (wanted.listen is not None or wanted.nodes is not None or len(wanted.on) != 1):
        raise UpError(
            "one node joins at a time, and needs its own address",
            "--join HOST:PORT --on HOST:PORT, without --listen and --nodes",
            EXIT_USAGE,
        )
    if wanted.on and (wanted.listen is not None or wanted.nodes is not None):
        raise UpError("--on says how many nodes and where", "leave out --listen and --nodes", EXIT_USAGE)


def _made(wanted: Wanted) -> list[PlannedNode]:
    chosen = parse_settings(wanted.settings)
    if wanted.on:
        return prepared_on(wanted.data, wanted.on, chosen, wanted.places)
    return prepared(
        wanted.data, *parse_address(wanted.listen or DEFAULT_LISTEN), wanted.nodes or 1, chosen, wanted.places
    )


def _joined(wanted: Wanted) -> tuple[list[PlannedNode], Sequence[str], list[str]]:
    """The node, what to know of it, and what to do next."""
    from tapelog.cli.join_asks import joined, next_steps

    assert wanted.join is not None
    joining = joined(
        wanted.join,
        wanted.data,
        parse_address(wanted.on[0], "--on"),
        controller=wanted.controller,
        node_id=wanted.node_id,
        settings=parse_settings(wanted.settings),
        places=wanted.places,
    )
    plan = written(wanted.data, [joining.node], here=False)
    return plan, joining.remarks, next_steps(joining.node, wanted.join)
