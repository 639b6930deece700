"""`tape format`: makes the directories of a cluster, or of a node that joins one, and starts nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapelog.cli.cluster_files import PlanError, PlannedNode, planned_alone, replication_settings
from tapelog.cli.starting import (
    DEFAULT_LISTEN,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    UpError,
    parse_address,
    parse_settings,
    told,
)
from tapelog.cli.up_cluster import prepared, prepared_on, written

if TYPE_CHECKING:
    from tapelog.cli.server_properties import Imported


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
    source: str | None = None
    settings: Sequence[str] = ()
    places: Sequence[str] = ()


def run_format(wanted: Wanted, *, as_json: bool = False) -> int:
    """Make the directories and print where they are; returns the exit code."""
    try:
        _check(wanted)
        found = None if wanted.source is None else _imported(wanted, wanted.source)
        settings = {**(found.settings if found is not None else {}), **parse_settings(wanted.settings)}
        remarks = [] if found is None else [*found.remarks, *_few_copies(found, wanted)]
        steps: list[str] = []
        if wanted.join is not None:
            plan, more, steps = _joined(wanted, wanted.join, settings)
            remarks += more
        elif found is not None and found.listeners:
            plan = _as_in_the_file(wanted, found, settings)
        else:
            plan = _made(wanted, settings)
    except UpError as error:
        return told(error, as_json)
    if as_json:
        import json

        listed = [
            {
                "node": node.config.node_id,
                "directory": os.path.abspath(node.directory),
                "listen": str(node.config.listeners[0]).partition("://")[2],
                "remarks": remarks,
            }
            for node in plan
        ]
        sys.stdout.write(json.dumps(listed) + "\n")
        return 0
    for text in remarks:
        sys.stderr.write(f"{text}\n")
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


def _made(wanted: Wanted, chosen: dict[str, str]) -> list[PlannedNode]:
    if wanted.on:
        return prepared_on(wanted.data, wanted.on, chosen, wanted.places)
    return prepared(
        wanted.data, *parse_address(wanted.listen or DEFAULT_LISTEN), wanted.nodes or 1, chosen, wanted.places
    )


def _imported(wanted: Wanted, source: str) -> Imported:
    """What Kafka's file gives: addresses only where the command line has none."""
    from tapelog.cli.server_properties import ImportRefusedError, imported

    try:
        with open(source, encoding="latin-1") as opened:  # Java's encoding of these files
            text = opened.read()
    except OSError as error:
        raise UpError(f"cannot read {source}: {error.strerror}", "--from server.properties", EXIT_NOT_FOUND) from None
    addresses = wanted.listen is None and wanted.nodes is None and not wanted.on
    one_node = (wanted.nodes or 1) == 1 and len(wanted.on) <= 1
    try:
        return imported(source, text, addresses=addresses, one_node=one_node)
    except ImportRefusedError as error:
        raise UpError(str(error), error.hint, EXIT_USAGE) from None


def _few_copies(found: Imported, wanted: Wanted) -> list[str]:
    """Files of a single node keep one copy of everything; so would a cluster made from them."""
    nodes = len(wanted.on) if wanted.join is None else 1
    ours = replication_settings(max(nodes, wanted.nodes or 1))
    few = {name: found.settings[name] for name in ours if int(found.settings.get(name, ours[name])) < int(ours[name])}
    return [f"{name}={few[name]} is taken from {wanted.source}; --set {name}={ours[name]} is safer" for name in few]


def _as_in_the_file(wanted: Wanted, found: Imported, settings: dict[str, str]) -> list[PlannedNode]:
    """One node that listens where the file says. Its ports may be taken: Kafka may still run there."""
    try:
        plan = planned_alone(wanted.data, found.listeners, found.advertised, found.controller, settings, wanted.places)
    except PlanError as error:
        raise UpError(str(error), error.hint, EXIT_USAGE) from None
    except ValueError as error:
        raise UpError(f"{wanted.source}: {error}", "--set changes a setting of the file", EXIT_USAGE) from None
    return written(wanted.data, [plan], here=False)


def _joined(
    wanted: Wanted, bootstrap: str, settings: dict[str, str]
) -> tuple[list[PlannedNode], Sequence[str], list[str]]:
    """The node, what to know of it, and what to do next."""
    from tapelog.cli.join_asks import joined, next_steps

    joining = joined(
        bootstrap,
        wanted.data,
        parse_address(wanted.on[0], "--on"),
        controller=wanted.controller,
        node_id=wanted.node_id,
        settings=settings,
        places=wanted.places,
    )
    plan = written(wanted.data, [joining.node], here=False)
    return plan, joining.remarks, next_steps(joining.node, bootstrap)
