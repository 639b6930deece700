"""What a server-side assignor is given and what it gives back: frozen values and nothing else.

A group's coordinator builds a `GroupSpec`, an assignor (`assign(spec) -> GroupAssignment`) answers who should own what.
Topics are named by id throughout; regular expressions are resolved before. The same spec gives the same answer in every
process: member order is by id, and no set is iterated unsorted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

Assignment = Mapping[bytes, tuple[int, ...]]
"""What one member owns or should own: topic id to partitions, ascending; no topic without partitions."""

NOTHING: Final[Assignment] = {}
"""Never changed, like every assignment."""

GroupAssignment = Mapping[str, Assignment]
"""The target of every member of the spec by member id, those with nothing included."""


class MemberSpec(NamedTuple):
    """One member as an assignor sees it."""

    member_id: str
    subscribed: frozenset[bytes]
    """Ids of the topics it reads; ids that are not among the spec's topics are ignored."""
    target: Assignment = NOTHING
    """Its target assignment so far: what stickiness is about. May name topics that are gone or no longer wanted."""
    instance_id: str | None = None
    rack: str | None = None


class TopicSpec(NamedTuple):
    """One topic as an assignor sees it."""

    topic_id: bytes
    partition_count: int
    racks: tuple[frozenset[str], ...] = ()
    """By partition, the racks that hold a replica; empty when racks are not known or do not matter."""


class GroupSpec(NamedTuple):
    """The whole question: the members, and the topics that exist and somebody subscribes to."""

    members: tuple[MemberSpec, ...]
    """In any order; ids are unique."""
    topics: Mapping[bytes, TopicSpec]


Assignor = Callable[[GroupSpec], GroupAssignment]
"""An assignor never fails: what nobody can own stays unassigned, a member without a wish gets an empty assignment."""
