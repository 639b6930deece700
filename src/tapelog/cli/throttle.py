"""Replication throttles while partitions move: set before, taken away after. Kafka's four config names.

Only the copies that are being made are throttled, not the replicas that are in sync.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tapelog.cli.raw import Node, Wire, check
from tapelog.cli.rebalance_plan import Move
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


@contextmanager
def throttled(wire: Wire, moves: Sequence[Move], bytes_per_s: int | None) -> Iterator[None]:
    """While this lasts, copies of these moves are made at no more than so many bytes a second per broker."""
    copying = [move for move in moves if move.added]
    if bytes_per_s is None or not copying:
        yield
        return
    brokers = sorted({one for move in copying for one in (*move.before, *move.after)})
    lists = replica_lists(copying)
    change(
        wire,
        [(BROKER, str(one), [(name, SET, str(bytes_per_s)) for name in RATES]) for one in brokers]
        + [(TOPIC, topic, [(REPLICAS[0], SET, pair[0]), (REPLICAS[1], SET, pair[1])]) for topic, pair in lists.items()],
    )
    try:
        yield
    finally:
        change(
            wire,
            [(TOPIC, topic, [(name, DELETE, None) for name in REPLICAS]) for topic in lists]
            + [(BROKER, str(one), [(name, DELETE, None) for name in RATES]) for one in brokers],
        )


def replica_lists(moves: Iterable[Move]) -> dict[str, tuple[str, str]]:
    """Topic → the replicas throttled as leaders (those there before) and as followers (those added): `p:b,p:b`."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for move in moves:
        leaders, followers = found.setdefault(move.topic, ([], []))
        leaders += [f"{move.index}:{broker}" for broker in move.before]
        followers += [f"{move.index}:{broker}" for broker in move.added]
    return {topic: (",".join(leaders), ",".join(followers)) for topic, (leaders, followers) in found.items()}


def change(wire: Wire, wanted: Iterable[tuple[int, str, Sequence[tuple[str, int, str | None]]]]) -> None:
    """Change configs of topics and brokers; a broker's go to that broker, as the protocol wants."""
    nodes = {node.id: node for node in wire.nodes()}
    topics = []
    for kind, name, configs in wanted:
        resource = AlterConfigsResource(kind, name, [AlterableConfig(*one) for one in configs])
        if kind == TOPIC:
            topics.append(resource)
        elif int(name) in nodes:  # who is away gets none, and copies nothing meanwhile
            _ask(wire, [resource], nodes[int(name)])
    if topics:
        _ask(wire, topics, None)


def _ask(wire: Wire, resources: list[AlterConfigsResource], node: Node | None) -> None:
    told = wire.ask(IncrementalAlterConfigsRequest(resources), IncrementalAlterConfigsResponse, node)
    for one in told.responses:
        check(one.error_code, f"the throttle on {one.resource_name}: {one.error_message or 'refused'}")
