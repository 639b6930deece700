"""How much is written to each partition: its log's end and size, looked at twice. Works with any Kafka cluster.

A node counts nothing for this: the end of a log is the count of its records, and its size that of its bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from tapelog.cli import cluster_asks
from tapelog.cli.cluster_state import ClusterState, Partition
from tapelog.cli.output import CliError
from tapelog.cli.raw import Node, Wire
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import ListOffsetsResponse

LATEST = -1
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Rate:
    """What was written to one partition, per second. Bytes are None where the leader does not tell sizes."""

    topic: str
    index: int
    leader: int
    records_per_s: float
    bytes_per_s: float | None
    bytes: int

    @property
    def load(self) -> float:
        """What to balance by: bytes if they are known."""
        return self.records_per_s if self.bytes_per_s is None else self.bytes_per_s


def measure(wire: Wire, state: ClusterState, window_s: float, topics: Iterable[str] | None = None) -> list[Rate]:
    """Rates over the window, of partitions that have a leader; in order of topic and partition."""
    wanted = None if topics is None else list(topics)
    parts = [one for one in state.partitions if not one.offline and (wanted is None or one.topic in wanted)]
    first_ends, first_sizes = ends(wire, state, parts), sizes(wire, state)
    begun = time.monotonic()
    time.sleep(window_s)
    last_ends, last_sizes = ends(wire, state, parts), sizes(wire, state)
    elapsed = time.monotonic() - begun
    return rates(parts, elapsed, (first_ends, last_ends), (first_sizes, last_sizes))


def rates(
    parts: Iterable[Partition],
    elapsed_s: float,
    two_ends: tuple[dict[Place, int], dict[Place, int]],
    two_sizes: tuple[dict[tuple[int, str, int], int], dict[tuple[int, str, int], int]],
) -> list[Rate]:
    """The differences of two looks. A log that became smaller was cut by retention: then its bytes are not known."""
    found = []
    for part in parts:
        place = part.topic, part.index
        if place not in two_ends[0] or place not in two_ends[1]:
            continue
        records = max(0, two_ends[1][place] - two_ends[0][place])
        key = (part.leader, *place)
        grown = two_sizes[1].get(key, 0) - two_sizes[0].get(key, 0) if key in two_sizes[0] else -1
        found.append(
            Rate(
                *place,
                part.leader,
                records / elapsed_s,
                grown / elapsed_s if grown >= 0 and key in two_sizes[1] else None,
                two_sizes[1].get(key, 0),
            )
        )
    return found


def ends(wire: Wire, state: ClusterState, parts: Iterable[Partition]) -> dict[Place, int]:
    """The end of each partition's log, from its leader; those that have moved meanwhile are left out."""
    by_leader: dict[int, dict[str, list[int]]] = {}
    for part in parts:
        by_leader.setdefault(part.leader, {}).setdefault(part.topic, []).append(part.index)
    found: dict[Place, int] = {}
    for leader, topics in sorted(by_leader.items()):
        broker = state.broker(leader)
        if broker is None:
            continue
        request = ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(name, [ListOffsetsPartition(index, timestamp=LATEST) for index in indexes])
                for name, indexes in topics.items()
            ]
        )
        try:
            told = _asked(wire, request, broker.node)
        except CliError:
            continue
        for topic in told.topics:
            for part_told in topic.partitions:
                if part_told.error_code == 0:
                    found[topic.name, part_told.partition_index] = part_told.offset
    return found


def _asked(wire: Wire, request: ListOffsetsRequest, node: Node) -> ListOffsetsResponse:
    return wire.ask(request, ListOffsetsResponse, node)


def sizes(wire: Wire, state: ClusterState) -> dict[tuple[int, str, int], int]:
    """(broker, topic, partition) → bytes on disk."""
    return cluster_asks.log_sizes(wire, state.brokers, [])


def skew(values: Iterable[float]) -> float:
    """The largest over the mean: 1 is even, n is all in one of n; 1 for nothing at all."""
    listed = list(values)
    mean = sum(listed) / len(listed) if listed else 0.0
    return max(listed) / mean if mean else 1.0
