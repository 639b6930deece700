"""Names for the types of the client tests' fixtures."""

from __future__ import annotations

from collections.abc import Callable

Fresh = Callable[[], str]
"""Gives a name that nothing else uses."""

MakeTopic = Callable[..., str]
"""make_topic(partitions=1, **configs): creates a topic and returns its name."""

LeaderOf = Callable[[str], str]
"""leader_of(topic): the address of the node that leads its first partition."""
