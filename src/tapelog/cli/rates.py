"""How busy each partition is: as its nodes have counted over the last minutes, or by looking twice.

Tapelog's nodes count (tagged fields in DescribeLogDirs), so their rates are there at once and say what is read, too. Of
any other Kafka cluster, the end of a log is the count of its records and its size that of its bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tapelog.cli import cluster_asks
from tapelog.cli.cluster_state import ClusterState, Partition
from tapelog.cli.output import CliError
from tapelog.cli.raw import Node, Wire
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    PartitionTraffic,
    TrafficRate,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import ListOffsetsResponse

LATEST = -1
LONG_S, SHORT_S = 300, 60
"""What nodes smooth their rates over."""
UNTOLD_WINDOW_S = 5.0
"""How long to look where nodes count nothing and nobody said how long."""
Place = tuple[str, int]
Held = dict[tuple[int, str, int], DescribeLogDirsPartition]


@dataclass(frozen=True, slots=True)
class Rate:
    """What was done to one partition, per second. None: not known (the leader tells no sizes, or does not count)."""

    topic: str
    index: int
    leader: int
    records_per_s: float
    bytes_per_s: float | None
    bytes: int
    read_per_s: float | None = None
    """Bytes given to consumers by the leader."""
    copied_per_s: float | None = None
    """Bytes given to followers."""
    requests_per_s: float | None = None

    @property
    def load(self) -> float:
        """What its leader has to do: bytes in and out if they are known."""
        if self.bytes_per_s is None:
            return self.records_per_s
        return self.bytes_per_s + (self.read_per_s or 0.0) + (self.copied_per_s or 0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates of partitions that have a leader, in order of topic and partition, over so many seconds."""

    rates: Sequence[Rate]
    seconds: float
    counted: bool
    """By the nodes themselves; else by ends and sizes of the logs."""
    beside: Mapping[int, float] = field(default_factory=dict)
    """Bytes per second that brokers give to consumers as followers: that stays where it is."""


def measure(wire: Wire, state: ClusterState, window_s: float | None, span_s: int = LONG_S) -> Measured:
    """Without a window, what the nodes have counted over span_s; else by looking twice, that far apart."""
    parts = [one for one in state.partitions if not one.offline]
    first = cluster_asks.log_dirs(wire, state.brokers, [])
    if window_s is None:
        if counting(first, parts):
            return smoothed(parts, first, span_s)
        window_s = UNTOLD_WINDOW_S
    first_ends = {} if counting(first, parts) else ends(wire, state, parts)
    begun = time.monotonic()
    time.sleep(window_s)
    last = cluster_asks.log_dirs(wire, state.brokers, [])
    if counting(first, parts) and counting(last, parts):
        return difference(parts, first, last)
    last_ends = ends(wire, state, parts)
    elapsed = time.monotonic() - begun
    sizes = [{key: part.partition_size for key, part in cluster_asks.held(look).items()} for look in (first, last)]
    return Measured(rates(parts, elapsed, (first_ends, last_ends), (sizes[0], sizes[1])), elapsed, counted=False)


# -- what nodes count


def counting(told: Mapping[int, DescribeLogDirsResponse], parts: Iterable[Partition]) -> bool:
    """Whether every leader counts."""
    leaders = dict.fromkeys(part.leader for part in parts)
    return all(leader in told and told[leader].counted_ms >= 0 for leader in leaders)


def smoothed(parts: Iterable[Partition], told: dict[int, DescribeLogDirsResponse], span_s: int) -> Measured:
    """The nodes' own means."""
    held = cluster_asks.held(told)
    of_span = {key: _span(part.traffic, span_s) for key, part in held.items() if part.traffic is not None}
    return Measured(*_by_leader(parts, held, of_span, span_s))


def difference(
    parts: Iterable[Partition], first: dict[int, DescribeLogDirsResponse], last: dict[int, DescribeLogDirsResponse]
) -> Measured:
    """Between two looks. Counters that have become smaller began anew: the partition changed its role meanwhile."""
    before, held = cluster_asks.held(first), cluster_asks.held(last)
    elapsed = {id: (told.counted_ms - first[id].counted_ms) / 1000 for id, told in last.items() if id in first}
    of_window = {}
    for key, part in held.items():
        seconds = elapsed.get(key[0], 0.0)
        if part.traffic is not None and seconds > 0:
            was = before[key].traffic if key in before else None
            of_window[key] = _grown(was or PartitionTraffic(), part.traffic, seconds)
    return Measured(*_by_leader(parts, held, of_window, max(elapsed.values(), default=0.0)))


def _span(traffic: PartitionTraffic, span_s: int) -> TrafficRate:
    return next((rate for rate in traffic.rates if rate.span_seconds == span_s), TrafficRate())


def _grown(was: PartitionTraffic, now: PartitionTraffic, seconds: float) -> TrafficRate:
    if now.requests < was.requests:
        was = PartitionTraffic()
    return TrafficRate(
        round(seconds),
        (now.bytes_in - was.bytes_in) / seconds,
        (now.records_in - was.records_in) / seconds,
        (now.bytes_out - was.bytes_out) / seconds,
        (now.replica_bytes_out - was.replica_bytes_out) / seconds,
        (now.requests - was.requests) / seconds,
    )


def _by_leader(
    parts: Iterable[Partition], held: Held, traffic: Mapping[tuple[int, str, int], TrafficRate], seconds: float
) -> tuple[list[Rate], float, bool, dict[int, float]]:
    found, idle = [], TrafficRate()
    led: dict[tuple[int, str, int], None] = {}
    for part in parts:
        key = (part.leader, part.topic, part.index)
        led[key] = None
        rate, replica = traffic.get(key, idle), held.get(key)
        found.append(
            Rate(
                part.topic,
                part.index,
                part.leader,
                rate.records_in,
                rate.bytes_in,
                0 if replica is None else replica.partition_size,
                rate.bytes_out,
                rate.replica_bytes_out,
                rate.requests,
            )
        )
    beside: dict[int, float] = {}
    for key, rate in traffic.items():
        if key not in led and rate.bytes_out > 0:
            beside[key[0]] = beside.get(key[0], 0.0) + rate.bytes_out
    return found, seconds, True, beside


# -- what any cluster tells


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


# -- judged


def by_broker(measured: Measured) -> dict[int, float]:
    """broker → what it does as a leader, and for consumers as a follower; per second."""
    found = dict(measured.beside)
    for one in measured.rates:
        found[one.leader] = found.get(one.leader, 0.0) + one.load
    return found


def skew(values: Iterable[float]) -> float:
    """The largest over the mean: 1 is even, n is all in one of n; 1 for nothing at all."""
    listed = list(values)
    mean = sum(listed) / len(listed) if listed else 0.0
    return max(listed) / mean if mean else 1.0
