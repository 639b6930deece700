"""What a server-side assignor is given and what it gives back: frozen values and nothing else.

A group's coordinator builds a `GroupSpec`, an assignor (`assign(spec) -> GroupAssignment`) answers who should own what;
for a large group it does so piece by piece, and the event loop serves others in between.
Topics are named by id throughout; regular expressions are resolved before. The same spec gives the same answer in every
process: member order is by id, and no set is iterated unsorted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
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


PIECE_UNITS: Final = 20_000
"""How much an assignor does at a time, in steps of its inner loops: about ten milliseconds."""

Pieces = Generator[None, None, GroupAssignment]
"""An assignment under way: yields after each piece, returns the answer."""


class Pace:
    """Counts the steps of an assignor, and says when a piece is over."""

    __slots__ = ("_left", "_units")

    def __init__(self, units: int = PIECE_UNITS) -> None:
        self._units = self._left = units

    def spent(self, steps: int) -> bool:
        """So many steps were made (or are about to be): True if it is time to let others have their turn."""
        self._left -= steps
        if self._left > 0:
            return False
        self._left = self._units
        return True


class Assignor:
    """An assignor never fails: what nobody can own stays unassigned, a member without a wish gets nothing."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Callable[[GroupSpec, Pace], Pieces]) -> None:
        self.pieces = pieces
        """The way to the answer, a bounded piece at a time. The spec must not change on the way."""

    def __call__(self, spec: GroupSpec) -> GroupAssignment:
        """The answer, however long it takes."""
        return finished(self.pieces(spec, Pace()))


def finished(pieces: Pieces) -> GroupAssignment:
    """Go all the way."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            answer: GroupAssignment = end.value
            return answer
