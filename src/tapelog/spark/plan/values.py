"""The nouns of a plan: a partition, offsets, a range. Frozen, ordered, picklable; they travel to executors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, TypeAlias

from tapelog.spark.plan.stored import History

LATEST: Final = -1
EARLIEST: Final = -2
"""What stands for an offset in the options' JSON."""

OFFSET_MAX: Final = 2**63 - 1


class TopicPartition(NamedTuple):
    """A partition of a topic; equal to the plain pair."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Offsets: TypeAlias = Mapping[TopicPartition, int]
"""Where each partition stands: the offset that is read next, as in Spark's Kafka source."""

Weights: TypeAlias = Mapping[TopicPartition, float]
"""Bytes per offset of partitions, as far as anybody knows; an estimate decides sizes, never which rows are read."""

NO_WEIGHTS: Final[Weights] = {}


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """The unit of work: offsets `start` to `until`, the last one not included. Never empty."""

    topic: str
    partition: int
    start: int
    until: int
    history: History | None = field(default=None, compare=False, repr=False)
    """The objects that hold it, if it is read from storage; None: from brokers. The same rows either way."""
    topic_id: bytes = field(default=b"", compare=False, repr=False)
    """Of the topic that the offsets count in, as the driver was told; empty where the cluster has no ids."""

    def __post_init__(self) -> None:
        assert 0 <= self.start < self.until, self

    @property
    def of(self) -> TopicPartition:
        """The partition that it is a piece of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many offsets; compaction and transactions may leave fewer rows."""
        return self.until - self.start

    def __setstate__(self, state: Sequence[Any]) -> None:
        """From a pickle."""
        restore(self, state)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}[{self.start}, {self.until})"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch reads, in order of topic, partition and offset, and what the user should hear about it."""

    ranges: tuple[Range, ...]
    warnings: tuple[str, ...] = ()
    empty: tuple[int, ...] = ()
    """Numbers of tasks that have nothing to read any more, among those that have: these keep theirs."""
    anew: frozenset[str] = frozenset()
    """Topics that were deleted and made anew: the plan's offsets do not count in them."""


def placed(ranges: Iterable[Range], empty: Sequence[int]) -> list[Range | None]:
    """One for each task: None where there is nothing to read."""
    tasks: list[Range | None] = list(ranges)
    for number in empty:
        tasks.insert(number, None)
    return tasks


def ordered(offsets: Offsets) -> dict[TopicPartition, int]:
    """The same offsets in order of topic and partition."""
    return {TopicPartition(*partition): offsets[partition] for partition in sorted(offsets)}


def topics_of(partitions: Iterable[TopicPartition]) -> list[str]:
    """The topics that they belong to, each once, in order."""
    return sorted({of.topic for of in partitions})


def restore(value: Any, state: Sequence[Any]) -> None:
    """Fill a frozen value from a pickle. One of an older version lacks the last fields: they get their defaults."""
    for number, one in enumerate(fields(value)):
        object.__setattr__(value, one.name, state[number] if number < len(state) else one.default)
