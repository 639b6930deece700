"""Which partition coordinates a group: Java's hash of the name, as every Kafka broker computes it."""

from __future__ import annotations


def java_string_hash(text: str) -> int:
    """`String.hashCode` of the text: a signed 32-bit number over its UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_of(key: str, partitions: int) -> int:
    """The partition of a coordinator's topic that owns the key."""
    value = java_string_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
