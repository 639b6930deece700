"""What planning asks of a cluster. The client implements it; tests hand in a dictionary.

Every answer leaves out what does not exist (any more): planning decides what that means. Errors of the network are the
implementer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from tapelog.spark.plan.values import Offsets, TopicPartition

Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]


class View(Protocol):
    """A cluster, as far as planning is concerned."""

    def topics(self) -> Iterable[str]:
        """The names of all topics that are not internal."""

    def ids(self, topics: Sequence[str]) -> Mapping[str, bytes]:
        """The ids of those topics that exist, as they were before any offset was asked for. None: left out."""

    def partitions(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """The partitions of those topics that exist."""

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The first offset of each partition."""

    def latest(self, partitions: Sequence[TopicPartition], isolation: Isolation) -> Offsets:
        """The offset after the last one that may be read: the high watermark, or the last stable offset."""

    def uncut_ends(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The offset after the last one (not only of the committed), where the leader epoch is still the first."""

    def for_times(self, times: Mapping[TopicPartition, int], isolation: Isolation) -> Offsets:
        """The first offset with a timestamp at or after the one given (ms, never negative); absent: there is none."""
