"""What the group coordinator must know about topics: the port to the metadata image."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class TopicLookup(Protocol):
    """Names, ids and sizes of the topics that exist now."""

    def id_of(self, name: str) -> bytes | None:
        """The topic's id; None if there is no such topic."""
        ...

    def name_of(self, topic_id: bytes) -> str | None:
        """The topic's name; None if there is no such topic."""
        ...

    def partition_count(self, name: str) -> int:
        """How many partitions it has; 0 if there is no such topic."""
        ...

    def names(self) -> Collection[str]:
        """Every topic there is, internal ones included."""
        ...

    def racks(self, name: str, partition: int) -> frozenset[str]:
        """The racks of the brokers that hold a replica of that partition; empty where brokers have none."""
        ...

    def version(self) -> int:
        """Grows whenever any of this changes."""
        ...
