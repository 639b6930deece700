"""The directories of a local cluster: which nodes there are, what each one's node.toml says. Called by `tape up` and
`tape format`.

`planned` decides from what is there and what was asked for, `write` carries it out. New directories are formatted here,
because every node must know the voters' directory ids before any of them starts. What is there keeps its ids, its
roles, the voters and the controllers' ports; the command line says the rest each time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tapelog.base.addresses import host_port
from tapelog.base.node_config import ROLE_BROKER, ROLE_CONTROLLER, Listener, NodeConfig
from tapelog.cli import node_files
from tapelog.log.checkpoints import parse_meta_properties, render_meta_properties, uuid_bytes, uuid_text
from tapelog.log.names import META_PROPERTIES

VOTERS_MAX = 3
"""More local voters would make every change of metadata slower and no laptop safer."""
NODES_MAX = 64
REPLICAS_MAX = 3
CONTROLLER_HOST = "127.0.0.1"


class PlanError(ValueError):
    """A cluster that cannot be: what is wrong, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """One node's directory. `directory_id` is set for a directory that has yet to be made."""

    directory: str
    config: NodeConfig
    directory_id: bytes | None = None


@dataclass(slots=True)
class Ports:
    """Chooses ports that nobody has, none of them twice."""

    taken: list[int] = field(default_factory=list)

    def free(self) -> int:
        """A port of the loopback."""
        while (port := node_files.free_port()) in self.taken:
            pass
        self.taken.append(port)
        return port


def directory_of(data: str, number: int) -> str:
    """Where node `number` lives."""
    return os.path.join(data, f"node-{number}")


def present(data: str) -> list[int]:
    """The nodes that have a node.toml here, in order."""
    try:
        found = [re.fullmatch(r"node-([1-9][0-9]{0,8})", name) for name in os.listdir(data)]
    except OSError:
        return []
    numbers = sorted(int(match[1]) for match in found if match is not None)
    return [number for number in numbers if os.path.isfile(os.path.join(directory_of(data, number), "node.toml"))]


def replication_settings(nodes: int) -> dict[str, str]:
    """What makes a cluster of so many nodes keep its data and its coordinators when one of them is lost."""
    copies = min(REPLICAS_MAX, nodes)
    in_sync = "2" if copies >= 3 else "1"
    return {
        "default.replication.factor": str(copies),
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def planned(
    data: str, host: str, port: int, nodes: int, settings: dict[str, str], places: Sequence[str] = ()
) -> list[PlannedNode]:
    """The nodes of the cluster in `data`, new or continued, with log directories in these places as well. PlanError,
    and ValueError for settings no node can run with; writes nothing."""
    _check_request(port, nodes, settings)
    numbers = present(data)
    if numbers and numbers[-1] > nodes:
        raise PlanError(
            f"{data} holds a cluster of {numbers[-1]} nodes, not of {nodes}",
            f"continue it with --nodes {numbers[-1]}; to make it smaller, first `tape broker remove {numbers[-1]}`, "
            f"then delete {directory_of(data, numbers[-1])}; or give another --data",
        )
    before = {number: node_files.load(directory_of(data, number)) for number in numbers}
    cluster_id = _one_cluster(data, before)
    ports = Ports([port + i for i in range(nodes)] if port else [])
    new_ids = {
        number: formatted(directory_of(data, number)) or os.urandom(16)
        for number in range(1, nodes + 1)
        if number not in before
    }
    voters = _voters(data, before, nodes, new_ids, ports)
    controllers = _controller_ports(voters)
    chosen = {**node_files.DEFAULTS, **replication_settings(nodes), **settings}
    plan = []
    for number in range(1, nodes + 1):
        earlier = before.get(number)
        controller = _controller(number, controllers, earlier)
        plan.append(
            PlannedNode(
                directory_of(data, number),
                NodeConfig(
                    node_id=number,
                    cluster_id=cluster_id,
                    roles=(ROLE_BROKER, ROLE_CONTROLLER) if controller is not None else (ROLE_BROKER,),
                    listeners=[Listener("PLAINTEXT", host, _port(port, number, earlier, ports))],
                    controller_listener=controller,
                    log_dirs=node_files.log_dirs(directory_of(data, number), places, earlier),
                    voters=voters,
                    settings=chosen,
                ),
                new_ids.get(number),
            )
        )
    return plan


def planned_on(
    data: str, addresses: Sequence[tuple[str, int]], settings: dict[str, str], places: Sequence[str] = ()
) -> list[PlannedNode]:
    """A new cluster on several machines: one node for each address, its controller one port further."""
    if present(data):
        raise PlanError(f"{data} holds nodes already", "nodes of several machines are made once, in an empty place")
    count = VOTERS_MAX if len(addresses) >= VOTERS_MAX else 1
    directory_ids = [os.urandom(16) for _ in addresses]
    voters = [
        f"{i + 1}@{host_port(host, port + 1)}:{uuid_text(directory_ids[i])}"
        for i, (host, port) in enumerate(addresses[:count])
    ]
    cluster_id = node_files.new_cluster_id()
    plan = []
    for i, (host, port) in enumerate(addresses):
        directory = directory_of(data, i + 1)
        config = NodeConfig(
            node_id=i + 1,
            cluster_id=cluster_id,
            roles=(ROLE_BROKER, ROLE_CONTROLLER) if i < count else (ROLE_BROKER,),
            listeners=[Listener("PLAINTEXT", host, port)],
            controller_listener=Listener("CONTROLLER", host, port + 1) if i < count else None,
            log_dirs=node_files.log_dirs(directory, places, None),
            voters=voters,
            settings={**node_files.DEFAULTS, **replication_settings(len(addresses)), **settings},
        )
        plan.append(PlannedNode(directory, config, directory_ids[i]))
    return plan


def planned_alone(
    data: str,
    listeners: list[Listener],
    advertised: list[Listener],
    controller: Listener | None,
    settings: dict[str, str],
    places: Sequence[str] = (),
) -> PlannedNode:
    """A new cluster of one node that others may join, with these listeners; a free port for the controller if none is
    given. PlanError if nodes are there, ValueError for a configuration that no node can run with."""
    if present(data):
        raise PlanError(f"{data} holds nodes already", "give a new directory: --data DIR")
    own = controller if controller is not None else Listener("CONTROLLER", CONTROLLER_HOST, node_files.free_port())
    directory, directory_id = directory_of(data, 1), os.urandom(16)
    config = NodeConfig(
        node_id=1,
        cluster_id=node_files.new_cluster_id(),
        listeners=listeners,
        advertised_listeners=advertised or None,
        controller_listener=own,
        log_dirs=node_files.log_dirs(directory, places, None),
        voters=[f"1@{host_port(own.host, own.port)}:{uuid_text(directory_id)}"],
        settings={**node_files.DEFAULTS, **replication_settings(1), **settings},
    )
    return PlannedNode(directory, config, directory_id)


def _check_request(port: int, nodes: int, settings: dict[str, str]) -> None:
    if not 1 <= nodes <= NODES_MAX:
        raise PlanError(f"--nodes {nodes} makes no sense", f"from 1 to {NODES_MAX}: --nodes 3")
    if port and port + nodes - 1 > 65535:
        raise PlanError(f"{nodes} nodes from port {port} on would need port {port + nodes - 1}", "take a lower port")
    if "advertised.listeners" in settings and nodes > 1:
        raise PlanError(
            "advertised.listeners cannot be the same for several nodes",
            "listen on an address that clients reach: --listen HOST:PORT; or `tape format` and change each node.toml",
        )


def _one_cluster(data: str, before: dict[int, NodeConfig]) -> str:
    """The cluster id all of them have; a new one if there are none."""
    ids = list(dict.fromkeys(config.cluster_id for config in before.values()))
    if len(ids) > 1:
        raise PlanError(
            f"the nodes in {data} belong to different clusters: {', '.join(ids)}", "give each cluster its own --data"
        )
    wrong = [number for number, config in before.items() if config.node_id != number]
    if wrong:
        where = directory_of(data, wrong[0])
        raise PlanError(f"{where} is of node {before[wrong[0]].node_id}", f"run it alone with `tape node {where}`")
    return ids[0] if ids else node_files.new_cluster_id()


def _voters(data: str, before: dict[int, NodeConfig], nodes: int, new_ids: dict[int, bytes], ports: Ports) -> list[str]:
    """The voters that the nodes know of. A cluster that is there keeps its own; a node alone is its own voter."""
    known = next((config.voters for config in before.values() if config.voters), [])
    if known:
        return list(known)
    if before:
        first = min(before)
        listener = before[first].controller_listener
        if listener is None:
            raise PlanError(f"no node in {data} knows the voters", "write `voters` into its node.toml")
        ports.taken.append(listener.port)
        directory_id = formatted(directory_of(data, first))
        if directory_id is None:
            raise PlanError(f"node {first} in {data} has never run", "start it alone once: `tape up --nodes 1`")
        return [f"{first}@{CONTROLLER_HOST}:{listener.port}:{uuid_text(directory_id)}"]
    count = VOTERS_MAX if nodes >= VOTERS_MAX else 1  # two voters would be worse than one: both must be there
    return [f"{i}@{CONTROLLER_HOST}:{ports.free()}:{uuid_text(new_ids[i])}" for i in range(1, count + 1)]


def _controller_ports(voters: list[str]) -> dict[int, int]:
    """Node id → the port its controller listens on, from `id@host:port:directory`."""
    found = {}
    for voter in voters:
        number, _, rest = voter.partition("@")
        found[int(number)] = int(rest.rpartition(":")[0].rpartition(":")[2])
    return found


def _controller(number: int, ports: dict[int, int], earlier: NodeConfig | None) -> Listener | None:
    """Where a node's controller listens: as the voters say, or as its own file does if it was made one later."""
    if number in ports:
        return Listener("CONTROLLER", CONTROLLER_HOST, ports[number])
    return earlier.controller_listener if earlier is not None and earlier.is_controller else None


def _port(first: int, number: int, earlier: NodeConfig | None, ports: Ports) -> int:
    if first:
        return first + number - 1
    if earlier is not None and earlier.listeners:
        listener = earlier.listeners[0]
        if listener.port and node_files.listen_error(listener.host, listener.port) is None:
            return listener.port
    return ports.free()


def formatted(directory: str) -> bytes | None:
    """The id of a node's log directory as `tape up` makes it, if it has one."""
    return directory_id_in(os.path.join(directory, node_files.LOG_DIR))


def directory_id_in(log_dir: str) -> bytes | None:
    """The id of this log directory, if it has one."""
    try:
        with open(os.path.join(log_dir, META_PROPERTIES), "rb") as opened:
            return uuid_bytes(parse_meta_properties(opened.read())["directory.id"])
    except (OSError, KeyError, ValueError):
        return None


def write(plan: list[PlannedNode]) -> None:
    """Format what is new, then write every node.toml; each is durable when this returns. OSError if that fails."""
    for node in plan:
        if node.directory_id is not None:
            format_directory(node.config, node.directory_id)
        node_files.save(node.config, node.directory)


def format_directory(config: NodeConfig, directory_id: bytes) -> None:
    """Make the log directory of a new node and write down whose it is; one that is somebody's already stays so."""
    path = config.metadata_log_dir
    os.makedirs(path, exist_ok=True)
    if os.path.exists(os.path.join(path, META_PROPERTIES)):
        return
    properties = render_meta_properties(cluster_id=config.cluster_id, node_id=config.node_id, directory_id=directory_id)
    node_files.replace(os.path.join(path, META_PROPERTIES), properties)
