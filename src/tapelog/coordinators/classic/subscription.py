"""Just enough of the consumer protocol to know which topics a group reads.

The metadata of a `consumer` member starts, in every version, with its version, then the topics; later fields (owned
partitions, generation, rack) belong to the assignor and are not looked at.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.primitives import Reader, WireError

CONSUMER: Final = "consumer"

TOPIC_BYTES_MIN: Final = 2
"""The shortest topic name on the wire: its length field."""


def subscribed_topics(subscriptions: list[bytes]) -> frozenset[str] | None:
    """All topics named in these subscriptions; None if one of them is not in the consumer protocol."""
    topics: set[str] = set()
    try:
        for data in subscriptions:
            r = Reader(data, 0, len(data))
            if r.i16() < 0:
                return None
            topics.update([r.string() for _ in range(r.array(TOPIC_BYTES_MIN))])
    except WireError:
        return None
    return frozenset(topics)
