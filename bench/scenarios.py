"""What is measured, as a table of values, and the figures that were promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bench import frames
from bench.load import Shape

Kind = Literal[
    "produce",
    "fetch",
    "latency",
    "endtoend",
    "start",
    "idle",
    "partitions",
    "publish",
    "txn",
    "members",
    "commits",
    "load",
    "storm",
    "storm-clients",
]
KIB = 1 << 10
MIB = 1 << 20
MEGABYTE = 1_000_000
FETCH_BATCH = 128 << 10
"""Eight batches fill one MiB exactly, so that neither side sends bytes that the client must throw away."""


PLAIN = Shape()


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about one figure: Tapelog's value divided by Kafka's, or the value itself when `absolute`."""

    figure: str
    bound: float
    at_least: bool = True
    absolute: bool = False

    def met(self, value: float) -> bool:
        """Whether a measured ratio (or value) keeps the promise."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{'' if self.absolute else '×'}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row: what is sent, how, which figure is the headline, what it costs, what was promised."""

    name: str
    title: str
    kind: Kind
    headline: str
    cost: str = ""
    shape: Shape = PLAIN
    record_size: int = 100
    batch_bytes: int = 0
    lz4: bool = False
    fsync: bool = False
    targets: tuple[Target, ...] = ()

    def records(self) -> tuple[bytes, int]:
        """The record batch that this scenario sends, and how many records are in it."""
        if self.lz4:
            count = self.batch_bytes // (self.record_size + 8)
            return frames.batch(frames.values(count, self.record_size), lz4=True), count
        if self.batch_bytes:
            return frames.batch_of_bytes(self.batch_bytes, self.record_size)
        return frames.batch(frames.values(1, self.record_size)), 1

    def shortened(self) -> Scenario:
        """The same for `--quick`."""
        bound_s = {"endtoend": 3.0, "storm": 20.0, "storm-clients": 20.0}.get(self.kind, 1.5)
        shape = replace(self.shape, secs=min(self.shape.secs, bound_s))
        return replace(self, shape=shape)


def at_least(figure: str, ratio: float) -> Target:
    """Tapelog's figure is at least `ratio` times Kafka's."""
    return Target(figure, ratio)


def at_most(figure: str, bound: float, *, absolute: bool = False) -> Target:
    """Tapelog's figure is at most `bound` times Kafka's, or at most `bound` itself."""
    return Target(figure, bound, at_least=False, absolute=absolute)


def _small(
    name: str, title: str, shape: Shape, *targets: Target, fsync: bool = False, record_size: int = 100
) -> Scenario:
    return Scenario(name, title, "produce", "req_s", "cpu_us_req", shape, record_size, fsync=fsync, targets=targets)


def _large(
    name: str, title: str, shape: Shape, *targets: Target, size: int, record_size: int = 100, lz4: bool = False
) -> Scenario:
    shape = replace(shape, max_mb=1500.0, warm_s=0.3)
    return Scenario(name, title, "produce", "mb_s", "cpu_s_gb", shape, record_size, size, lz4, targets=targets)


def _fetch(conns: int, *targets: Target) -> Scenario:
    title = f"fetch 1 MiB, {conns} connection{'s' if conns > 1 else ''}"
    shape = Shape(conns=conns, partitions=conns)
    return Scenario(f"fetch-1m-{conns}c", title, "fetch", "mb_s", "cpu_s_gb", shape, 100, FETCH_BATCH, targets=targets)


def _storm_of_clients(name: str, title: str) -> Scenario:
    title = f"100 librdkafka consumers come and go, {title}"
    return Scenario(f"storm-clients-{name}", title, "storm-clients", "still_p50_s", "cpu_s", Shape(secs=60))


HALF_CPU = at_most("cpu_us_req", 0.5)
HALF_CPU_GB = at_most("cpu_s_gb", 0.5)
FOUR_BY_FIVE = Shape(conns=4, depth=5, partitions=4)
FOUR_BY_TWO = Shape(conns=4, depth=2, partitions=4)
"""For megabyte batches: more in flight makes Kafka slower (its heap), and that is not what these rows compare."""

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("start", "start to first answer", "start", "start_s", targets=(at_most("start_s", 0.3, absolute=True),)),
    Scenario(
        "idle-memory",
        "idle memory",
        "idle",
        "memory_mb",
        "idle_cpu_pct",
        targets=(at_most("memory_mb", 60, absolute=True),),
    ),
    _small(
        "produce-1r-50c-1f",
        "1-record Produce, 50 conns, 1 in flight",
        Shape(conns=50),
        at_least("req_s", 1.5),
        HALF_CPU,
    ),
    _small(
        "produce-1r-50c-5f", "1-record Produce, 50 conns, 5 in flight", Shape(50, 5), at_least("req_s", 3), HALF_CPU
    ),
    _small("produce-1r-50c-5f-50p", "… the same over 50 partitions", Shape(50, 5, 50)),
    _small("produce-1r-4c-64f", "1-record Produce, 4 conns, 64 in flight", Shape(4, 64)),
    _large("produce-16k", "16 KB batches, 4 conns, 5 in flight", FOUR_BY_FIVE, size=16 << 10, record_size=KIB),
    _large("produce-1m-100b", "1 MB batches of 100 B", FOUR_BY_TWO, at_least("mb_s", 1.5), HALF_CPU_GB, size=MEGABYTE),
    _large(
        "produce-1m-1k",
        "1 MB batches of 1 KiB",
        FOUR_BY_TWO,
        at_least("mb_s", 1.5),
        HALF_CPU_GB,
        size=MEGABYTE,
        record_size=KIB,
    ),
    _large("produce-1m-lz4", "1 MB of 100 B, sent as lz4", FOUR_BY_TWO, size=MEGABYTE, lz4=True),
    _fetch(1, at_least("mb_s", 1.8), at_most("cpu_s_gb", 1.0)),
    _fetch(4, at_least("mb_s", 0.9), at_most("cpu_s_gb", 1.0)),
    Scenario("rtt-1000", "Produce round trip p50 at 1,000/s", "latency", "p50_us", "cpu_us_req", Shape(warm_s=1.0)),
    Scenario(
        "endtoend-1000",
        "end to end p50 at 1,000/s, acks=all",
        "endtoend",
        "p50_us",
        "cpu_us_req",
        Shape(secs=15.0, warm_s=1.0),
        targets=(at_most("p50_us", 0.6), at_most("p99_us", 1.0), at_most("p999_us", 1.0)),
    ),
    Scenario(
        "partitions-1000", "1,000 partitions online", "partitions", "online_s", targets=(at_most("online_s", 0.5),)
    ),
    _small("fsync-1p", "default flush: 50 conns, 5 in flight, 1 partition", Shape(50, 5), fsync=True),
    _small("fsync-100p", "default flush: 100 conns, 5 in flight, 100 partitions", Shape(100, 5, 100), fsync=True),
    Scenario(
        "fsync-rtt",
        "default flush: round trip p50 at 200/s",
        "latency",
        "p50_us",
        "cpu_us_req",
        Shape(rate=200),
        fsync=True,
    ),
    Scenario(
        "txn-100", "transactions of 100 records, 8 producers", "txn", "txn_s", "cpu_us_txn", Shape(8, partitions=4)
    ),
    Scenario(
        "txn-100-fsync",
        "default flush: transactions of 100 records, 8 producers",
        "txn",
        "txn_s",
        "cpu_us_txn",
        Shape(8, partitions=4),
        fsync=True,
    ),
    Scenario("members-classic", "one more joins 1,000 members, classic", "members", "rebalance_s", "cpu_s"),
    Scenario("members-consumer", "one more joins 1,000 members, KIP-848", "members", "rebalance_s", "cpu_s"),
    Scenario(
        "storm-classic", "100 come and go, classic: a partition still", "storm", "still_p50_s", "cpu_s", Shape(secs=60)
    ),
    Scenario(
        "storm-consumer", "100 come and go, KIP-848: a partition still", "storm", "still_p50_s", "cpu_s", Shape(secs=60)
    ),
    _storm_of_clients("range", "classic, librdkafka's default"),
    _storm_of_clients("cooperative", "classic, cooperative-sticky"),
    _storm_of_clients("consumer", "KIP-848"),
    Scenario("commits-10k", "offset commits of 10,000 groups", "commits", "commits_s", "cpu_us_req"),
    Scenario("load-1m", "1 M committed offsets back after a restart", "load", "back_s", "cpu_s"),
    Scenario(
        "publish-1k", "1 KiB publishes, 50 conns, 5 in flight", "publish", "req_s", "cpu_us_req", Shape(50, 5), 1024
    ),
)


def select(names: list[str]) -> tuple[Scenario, ...]:
    """Scenarios whose name begins with one of `names` (all when none is given); ValueError for an unknown name."""
    if not names:
        return SCENARIOS
    for name in names:
        if not any(s.name.startswith(name) for s in SCENARIOS):
            raise ValueError(f"no scenario begins with {name!r}; there are: {', '.join(s.name for s in SCENARIOS)}")
    return tuple(s for s in SCENARIOS if s.name.startswith(tuple(names)))
