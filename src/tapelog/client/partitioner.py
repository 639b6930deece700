"""Which partition a record goes to, as Kafka's own producers decide it.

Keys: murmur2 of the key, modulo the number of partitions. No key: one partition for as long as a batch lasts, then
another (sticky), so that batches are full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Kafka's hash of a key, as an unsigned number of 32 bits."""
    size = len(key)
    h = _SEED ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if size > whole:
        h = (h ^ int.from_bytes(key[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """Where Kafka's default partitioner puts that key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Sticky:
    """Partitions for records without a key: the same one until `turn`, then another by chance."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._current: dict[str, int] = {}

    def partition(self, topic: str, partitions: int) -> int:
        """The topic's current one."""
        current = self._current.get(topic)
        if current is None or current >= partitions:
            current = self._current[topic] = int(self._chance() * partitions)
        return current

    def turn(self, topic: str, partitions: int) -> None:
        """A batch is full: go on with another partition, where there is one."""
        current = self._current.get(topic)
        if current is not None and partitions > 1:
            self._current[topic] = (current + 1 + int(self._chance() * (partitions - 1))) % partitions
