"""`tape format --join`: the directory of a node that joins a running cluster.

`join_asks` asks the cluster; `planned_join` decides, and writes nothing. The new node is a broker. With a controller it
can be made a voter later, by `tape cluster add-voter`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

from tapelog.base.addresses import host_port
from tapelog.base.node_config import ROLE_BROKER, ROLE_CONTROLLER, Listener, NodeConfig
from tapelog.cli import node_files
from tapelog.cli.cluster_files import PlanError, PlannedNode, directory_of

CONTROLLER = "CONTROLLER"
PLAINTEXT = "PLAINTEXT"
INTER_BROKER = "inter.broker.listener.name"
PROTOCOL_MAP = "listener.security.protocol.map"
OWN = (
    "advertised.listeners",
    "broker.id",
    "broker.rack",
    "controller.listener.names",
    "controller.quorum.voters",
    "cordoned.log.dirs",
    INTER_BROKER,
    PROTOCOL_MAP,
    "listeners",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "node.id",
    "process.roles",
)
"""Settings that each node has for itself: a new node never takes them from another."""
_WILDCARDS = ("", "0.0.0.0", "::")


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter of the metadata quorum, and where its controller listens."""

    id: int
    host: str
    port: int
    directory: str

    @property
    def address(self) -> str:
        """`HOST:PORT`."""
        return host_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A broker that is there. `settings`: what it was started with. `tapelog`: it is none of another make."""

    id: int
    host: str
    port: int
    settings: Mapping[str, str]
    tapelog: bool = True

    @property
    def address(self) -> str:
        """`HOST:PORT`."""
        return host_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """What a new node must know of the cluster. `taken`: node ids of brokers (also fenced ones) and controllers."""

    cluster_id: str
    brokers: Sequence[RunningBroker]
    voters: Sequence[Voter]
    taken: frozenset[int]
    features: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Joining:
    """The new node, and what the operator should know of it."""

    node: PlannedNode
    remarks: tuple[str, ...]


def planned_join(
    cluster: RunningCluster,
    data: str,
    address: tuple[str, int],
    *,
    controller: bool = False,
    node_id: int | None = None,
    settings: Mapping[str, str] | None = None,
    places: Sequence[str] = (),
) -> Joining:
    """A node for the cluster, in a new directory below `data`. PlanError says why it cannot be."""
    given = dict(settings or {})
    host, port = address
    _check_empty(data)
    _check_address(host, port, controller)
    _check_cluster(cluster)
    _check_brokers(cluster, host, port)
    _check_alone(cluster)
    _check_controllers(cluster, host)
    number = _number(cluster, node_id)
    shared, remarks = shared_settings(cluster.brokers, given)
    name = next((one.settings[INTER_BROKER] for one in cluster.brokers if INTER_BROKER in one.settings), PLAINTEXT)
    if name != PLAINTEXT:
        shared |= {INTER_BROKER: name, PROTOCOL_MAP: f"{name}:PLAINTEXT,{CONTROLLER}:PLAINTEXT"}
    directory = directory_of(data, number)
    config = NodeConfig(
        node_id=number,
        cluster_id=cluster.cluster_id,
        roles=(ROLE_BROKER, ROLE_CONTROLLER) if controller else (ROLE_BROKER,),
        listeners=[Listener(name, host, port)],
        controller_listener=Listener(CONTROLLER, host, port + 1) if controller else None,
        log_dirs=node_files.log_dirs(directory, places, None),
        voters=[f"{one.id}@{one.address}:{one.directory}" for one in sorted(cluster.voters, key=lambda one: one.id)],
        settings=shared | given,
    )
    return Joining(PlannedNode(directory, config, os.urandom(16)), tuple(remarks + _listeners(cluster, name)))


def shared_settings(
    brokers: Sequence[RunningBroker], given: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """What all brokers were started with alike, and remarks on what differs and was not `given`."""
    first, rest = brokers[0].settings, brokers[1:]
    names = sorted({name for one in brokers for name in one.settings if name not in OWN})
    shared = {name: first[name] for name in names if name in first and _alike(name, brokers)}
    remarks = []
    for name in names:
        if name not in shared and name not in (given or {}):
            values = ", ".join(f"{one.id}: {one.settings.get(name, 'not set')}" for one in brokers)
            remarks.append(f"{name} differs among the brokers ({values}) and was left out: --set {name}=… sets it")
    racks = {one.settings.get("broker.rack") for one in (brokers[0], *rest)} - {None}
    if racks and "broker.rack" not in (given or {}):
        remarks.append(f"the brokers have racks ({', '.join(sorted(map(str, racks)))}): --set broker.rack=… sets one")
    return shared, remarks


def _alike(name: str, brokers: Sequence[RunningBroker]) -> bool:
    return len({one.settings.get(name) for one in brokers}) == 1


def _listeners(cluster: RunningCluster, own: str) -> list[str]:
    """A node with several listeners is known by one address only: the others are the operator's to add."""
    names: dict[str, None] = {}
    for one in cluster.brokers:
        for text in filter(None, one.settings.get("listeners", "").split(",")):
            names[Listener.parse(text).name] = None
    controllers = {one.settings.get("controller.listener.names", CONTROLLER) for one in cluster.brokers}
    more = [name for name in names if name != own and name not in controllers]
    if not more:
        return []
    return [f"the brokers also listen on {', '.join(more)}: add it to `listeners` in node.toml before the start"]


def _check_empty(data: str) -> None:
    try:
        found = os.listdir(data)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise PlanError(f"{data} is not a directory", "give a new one: --data DIR") from None
    if found:
        raise PlanError(f"{data} is not empty: there is {sorted(found)[0]}", "give a new directory: --data DIR")


def _check_address(host: str, port: int, controller: bool) -> None:
    if host in _WILDCARDS:
        raise PlanError(
            f"{host_port(host, port)} is not an address that clients and other nodes can connect to",
            "--on takes the one that they use; to listen on all interfaces, change `listeners` in node.toml afterwards",
        )
    if not 0 < port < (65535 if controller else 65536):
        raise PlanError(f"port {port} cannot be: the other nodes must know it", "--on HOST:9092")


def _check_cluster(cluster: RunningCluster) -> None:
    """Refuse clusters that a broker of this version cannot be part of."""
    from tapelog.metadata.features import SUPPORTED

    if not cluster.brokers:
        raise PlanError("no broker of the cluster is up", "start them: `tape node DIR/node-N`")
    if not all(one.tapelog for one in cluster.brokers):
        raise PlanError(
            "not all brokers of the cluster are Tapelog's",
            "a Tapelog node joins Tapelog clusters only; topics of another cluster can be mirrored (MirrorMaker 2)",
        )
    for name, level in sorted(cluster.features.items()):
        least, most = SUPPORTED.get(name, (0, 0))
        if not least <= level <= most:
            raise PlanError(
                f"the cluster has {name} {level}; this version supports {least} to {most}",
                "install the version that the other nodes run",
            )


def _check_alone(cluster: RunningCluster) -> None:
    """Refuse a broker without voters: it has no connections to others. The hint has the lines that it needs."""
    if len(cluster.brokers) != 1 or cluster.brokers[0].settings.get("controller.quorum.voters"):
        return
    alone, (voter, *_) = cluster.brokers[0], cluster.voters
    lines, how = [], "add to its node.toml, above [settings]:"
    if is_loopback(voter.host) and not is_loopback(alone.host):
        voter = replace(voter, host=alone.host)
        lines, how = [f'controller_listener = "{CONTROLLER}://{voter.address}"'], "put these into its node.toml:"
    lines.append(f'voters = ["{voter.id}@{voter.address}:{voter.directory}"]')
    raise PlanError(
        f"broker {alone.id} at {alone.address} runs alone: it takes no other nodes",
        f"stop it, {how} {' and '.join(lines)}; then start it with `tape node`",
    )


def _check_brokers(cluster: RunningCluster, host: str, port: int) -> None:
    """Refuse addresses of which brokers and the new node cannot reach each other's."""
    taken = next((one for one in cluster.brokers if (one.host, one.port) == (host, port)), None)
    if taken is not None:
        raise PlanError(f"{taken.address} is the address of broker {taken.id}", "--on takes the new node's own")
    near = next((one for one in cluster.brokers if is_loopback(one.host)), None)
    if near is not None and not is_loopback(host):
        raise _out_of_reach(f"broker {near.id}", near, host)
    if near is None and is_loopback(host):
        raise PlanError(
            f"{host_port(host, port)} can be reached from this machine only, and the cluster is on other ones",
            "--on takes an address that the other nodes and clients reach",
        )


def _check_controllers(cluster: RunningCluster, host: str) -> None:
    """Refuse voters that the new node cannot reach."""
    near = next((one for one in cluster.voters if is_loopback(one.host)), None)
    if near is not None and not is_loopback(host):
        raise _out_of_reach(f"the controller of node {near.id}", near, host)


def _out_of_reach(who: str, near: RunningBroker | Voter, host: str) -> PlanError:
    return PlanError(
        f"{who} listens on {near.address}, where a node on {host} cannot reach it",
        f"stop node {near.id}, give `listeners`, `controller_listener` and `voters` in its node.toml addresses that "
        "other machines reach, and start it again",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _number(cluster: RunningCluster, wanted: int | None) -> int:
    free = max((0, *cluster.taken)) + 1
    if wanted is None:
        return free
    if wanted in cluster.taken:
        where = next((f": broker {one.id} is at {one.address}" for one in cluster.brokers if one.id == wanted), "")
        raise PlanError(f"node id {wanted} is taken{where}", f"--id {free} is free; without --id it is chosen")
    return wanted


def unreachable(voters: Iterable[Voter], tries: Mapping[int, str]) -> list[str]:
    """Remarks on controllers that could not be connected to from here: voter id → why."""
    return [
        f"the controller of node {one.id} does not answer here at {one.address} ({tries[one.id]}): "
        "the new node must reach it"
        for one in voters
        if one.id in tries
    ]
