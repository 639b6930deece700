"""`tape up --nodes N`: a cluster's directories made or continued (`tape format` does so, too), and its nodes run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tapelog.cli import cluster_files, node_files
from tapelog.cli.cluster_files import PlanError, PlannedNode
from tapelog.cli.starting import EXIT_USAGE, UpError, parse_address, refuse_live, refuse_taken


def size(data: str, asked: int | None) -> int | None:
    """How many nodes the cluster in `data` has or gets; None for one node alone, which needs no supervisor."""
    there = cluster_files.present(data)
    count = max(there, default=1) if asked is None else asked
    if count == 1 and there in ([], [1]) and not (there and _has_voters(data)):
        return None
    return count


def _has_voters(data: str) -> bool:
    try:
        return bool(node_files.load(cluster_files.directory_of(data, 1)).voters)
    except ValueError:
        return False  # told when it is used


def prepared(
    data: str, host: str, port: int, nodes: int, settings: dict[str, str], places: Sequence[str] = ()
) -> list[PlannedNode]:
    """Directories and configurations written, nothing started. UpError if it cannot be; then nothing is left behind."""
    try:
        plan = cluster_files.planned(data, host, port, nodes, settings, places)
    except PlanError as error:
        raise UpError(str(error), error.hint, EXIT_USAGE) from None
    except ValueError as error:
        raise refused(error, [cluster_files.directory_of(data, n) for n in cluster_files.present(data)]) from None
    return written(data, plan, here=True)


def refused(error: ValueError, directories: Sequence[str]) -> UpError:
    """What to tell of settings that no node can run with: an earlier version's node.toml may hold them, or --set."""
    for directory in directories:
        try:
            node_files.load(directory)
        except FileNotFoundError:
            continue
        except ValueError as stored:
            path = os.path.join(directory, node_files.CONFIG_FILE)
            return UpError(f"{path}: {stored}", "change it there", EXIT_USAGE)
    return UpError(str(error), "docs/operate/settings.md tells what each of Kafka's settings does here", EXIT_USAGE)


def written(data: str, plan: list[PlannedNode], *, here: bool) -> list[PlannedNode]:
    """The plan carried out. `here`: the nodes run on this machine, so their addresses must be free. UpError if not."""
    for node in plan if here else []:
        refuse_live(node.directory)
        controller = node.config.controller_listener
        for listener in [*node.config.listeners, *([controller] if controller is not None else [])]:
            refuse_taken(listener.host, listener.port)
    before = cluster_files.present(data)
    try:
        cluster_files.write(plan)
    except OSError as error:
        raise UpError(f"cannot write to {data}: {error.strerror}", "give another place with --data") from None
    added = [str(node.config.node_id) for node in plan if node.directory_id is not None]
    if before and added:
        sys.stderr.write(f"node {', '.join(added)} is new here: it has no data and takes none by itself\n")
    return plan


def run(plan: Sequence[PlannedNode], as_json: bool) -> int:
    """Run the nodes until told to stop; prints one `ready` line. Returns the exit code."""
    from tapelog.cli.supervisor import Supervisor

    def ready(addresses: list[str]) -> None:
        line = ",".join(address.split(",")[0] for address in addresses)
        sys.stdout.write(f'{{"ready": "{line}"}}\n' if as_json else f"ready {line}\n")
        sys.stdout.flush()

    return Supervisor([(node.config.node_id, node.directory) for node in plan], ready).run()


def prepared_on(
    data: str, addresses: Sequence[str], settings: dict[str, str], places: Sequence[str] = ()
) -> list[PlannedNode]:
    """Directories for nodes on several machines, to be copied there. UpError if it cannot be."""
    try:
        plan = cluster_files.planned_on(data, [parse_address(text, "--on") for text in addresses], settings, places)
    except PlanError as error:
        raise UpError(str(error), error.hint, EXIT_USAGE) from None
    except ValueError as error:
        raise UpError(str(error), "--on takes HOST:PORT as clients and other nodes reach it", EXIT_USAGE) from None
    return written(data, plan, here=False)
