"""The consumer protocol embedded in classic groups: what members subscribe to and what leaders assign, as bytes.

Versions 0 to 3. A version from the future is read as the newest known, as Kafka does: fields are only ever added.
Topics are named, not numbered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tapelog.wire.primitives import Reader, WireError, Writer

VERSION_MAX: Final = 3
OWNED_FROM: Final = 1
GENERATION_FROM: Final = 2
RACK_FROM: Final = 3

TOPIC_BYTES_MIN: Final = 2
"""The shortest topic name on the wire: its length field."""

TOPIC_PARTITIONS_BYTES_MIN: Final = 6
"""The shortest topic with partitions: two length fields."""

PARTITION_BYTES: Final = 4

Places = Mapping[str, tuple[int, ...]]
"""Partitions by topic name."""

NO_PLACES: Final[Places] = {}


class Subscription(NamedTuple):
    """What a member of a classic group wants, and what it owns as it joins."""

    version: int
    topics: frozenset[str]
    owned: Places = NO_PLACES
    rack: str | None = None


class Assigned(NamedTuple):
    """What a leader gave to a member."""

    places: Places
    user_data: bytes = b""


def subscription_of(data: bytes) -> Subscription:
    """The subscription in a member's metadata. WireError if it is none."""
    r = Reader(data, 0, len(data))
    version = _version(r)
    topics = frozenset([r.string() for _ in range(r.array(TOPIC_BYTES_MIN))])
    r.nullable_bytestring()
    owned = _places(r) if version >= OWNED_FROM else NO_PLACES
    if version >= GENERATION_FROM:
        r.i32()
    rack = r.nullable_string() if version >= RACK_FROM else None
    return Subscription(version, topics, owned, rack)


def assigned_of(data: bytes) -> Assigned:
    """The assignment that a leader wrote; an empty one for no bytes. WireError if it is none."""
    if not data:
        return Assigned(NO_PLACES)
    r = Reader(data, 0, len(data))
    _version(r)
    places = _places(r)
    return Assigned(places, r.nullable_bytestring() or b"")


def assignment_bytes(places: Places, version: int) -> bytes:
    """An assignment as a leader would write it."""
    w = Writer()
    w.i16(version)
    w.array(len(places))
    for topic in sorted(places):
        w.string(topic)
        w.array(len(places[topic]))
        w.i32_items(list(places[topic]))
    w.nullable_bytestring(None)
    return w.tobytes()


def _version(r: Reader) -> int:
    version = r.i16()
    if version < 0:
        raise WireError(f"the consumer protocol has no version {version}")
    return min(version, VERSION_MAX)


def _places(r: Reader) -> dict[str, tuple[int, ...]]:
    places: dict[str, tuple[int, ...]] = {}
    for _ in range(r.nullable_array(TOPIC_PARTITIONS_BYTES_MIN)):
        topic = r.string()
        partitions = r.i32_items(r.array(PARTITION_BYTES))
        places[topic] = tuple(sorted({*places.get(topic, ()), *partitions}))
    return places
