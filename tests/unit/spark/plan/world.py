"""A cluster in a dictionary, for plans: partitions with a first and a next offset, and timestamps where needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tapelog.spark.plan.options import ReadOptions, read_options
from tapelog.spark.plan.values import Offsets, Plan, TopicPartition
from tapelog.spark.plan.view import Isolation


@dataclass
class World:
    """What View promises, over logs: (topic, partition) to (first offset, next offset)."""

    logs: dict[TopicPartition, tuple[int, int]]
    stable: dict[TopicPartition, int] = field(default_factory=dict)
    """The last stable offset, where a transaction is open."""
    timestamps: dict[TopicPartition, Sequence[int]] = field(default_factory=dict)
    """Of the records from the first offset on, in milliseconds."""
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    uncut: set[TopicPartition] = field(default_factory=set)
    """Partitions that have their first leader epoch."""
    asked: list[str] = field(default_factory=list)

    def topics(self) -> Iterable[str]:
        return sorted({of.topic for of in self.logs})

    def ids(self, topics: Sequence[str]) -> Mapping[str, bytes]:
        there = {of.topic for of in self.logs}
        return {name: self.topic_ids[name] for name in topics if name in self.topic_ids and name in there}

    def partitions(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        self.asked.append("partitions")
        found: dict[str, list[int]] = {}
        for of in sorted(self.logs):
            if of.topic in topics:
                found.setdefault(of.topic, []).append(of.partition)
        return found

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        self.asked.append("earliest")
        return {of: self.logs[of][0] for of in partitions if of in self.logs}

    def latest(self, partitions: Sequence[TopicPartition], isolation: Isolation) -> Offsets:
        self.asked.append("latest")
        ends = {of: self.logs[of][1] for of in partitions if of in self.logs}
        return ends if isolation == "read_uncommitted" else {of: self.stable.get(of, end) for of, end in ends.items()}

    def uncut_ends(self, partitions: Sequence[TopicPartition]) -> Offsets:
        return {of: self.logs[of][1] for of in partitions if of in self.uncut and of in self.logs}

    def for_times(self, times: Mapping[TopicPartition, int], isolation: Isolation) -> Offsets:
        self.asked.append("for_times")
        assert all(time >= 0 for time in times.values())
        found: dict[TopicPartition, int] = {}
        for of, wanted in times.items():
            end = self.latest([of], isolation).get(of, 0)
            for offset, time in enumerate(self.timestamps.get(of, ()), self.logs[of][0]):
                if time >= wanted and offset < end:
                    found[of] = offset
                    break
        return found


def world(**partitions: Sequence[tuple[int, int]]) -> World:
    """A cluster: world(orders=[(0, 10), (5, 8)])."""
    logs = {TopicPartition(topic, number): log for topic, of in partitions.items() for number, log in enumerate(of)}
    return World(logs)


def options(streaming: bool = False, **more: str) -> ReadOptions:
    """Options of a read of topic t, unless told otherwise."""
    given = {"kafka.bootstrap.servers": "a:1"} | {name.replace("__", "."): value for name, value in more.items()}
    if not {"subscribe", "subscribePattern", "assign"} & given.keys():
        given["subscribe"] = "t"
    return read_options(given, streaming=streaming)


def told(plan: Plan) -> str:
    """The ranges as text: `t-0:5-9 t-1:0-3`."""
    return " ".join(f"{piece.of}:{piece.start}-{piece.until}" for piece in plan.ranges)
