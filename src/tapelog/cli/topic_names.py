"""Which topics are the cluster's own, and how lists of topics are ordered: one's own topics before internal ones."""

from __future__ import annotations

INTERNAL = "__"
"""What the names of internal topics begin with, as `__consumer_offsets`."""


def is_internal(topic: str) -> bool:
    """Whether the cluster made the topic for itself."""
    return topic.startswith(INTERNAL)


def own_first(topic: str) -> tuple[bool, str]:
    """A sort key: one's own topics by name, then internal ones by name.

    >>> sorted(["__consumer_offsets", "orders", "billing"], key=own_first)
    ['billing', 'orders', '__consumer_offsets']
    """
    return is_internal(topic), topic
