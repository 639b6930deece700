"""The roles of a replica in an epoch, what each remembers, and which may follow which."""

from __future__ import annotations

from typing import Final

from tapelog.raft.progress import Progress
from tapelog.raft.values import Endpoint, ReplicaKey


class Role:
    """What a replica is at the moment."""

    name = "role"


class Unattached(Role):
    """Knows the epoch, but no leader in it. A voter begins an election after a while; everybody asks around."""

    name = "unattached"


class Ballot(Role):
    """Somebody who asks for votes, and what came back."""

    def __init__(self) -> None:
        self.granted: dict[ReplicaKey, None] = {}
        self.refused: dict[ReplicaKey, None] = {}


class Prospective(Ballot):
    """Asks whether a majority would vote for it, before it disturbs anybody with a new epoch."""

    name = "prospective"


class Candidate(Ballot):
    """Began an epoch, voted for itself, and asks the others to."""

    name = "candidate"


class Leader(Role):
    """Won the epoch. Its records start at start_offset, with the leader change."""

    name = "leader"

    def __init__(self, start_offset: int, progress: Progress, granted: list[ReplicaKey]) -> None:
        self.start_offset = start_offset
        self.progress = progress
        self.granted = granted
        """Who voted for it."""


class Follower(Role):
    """Fetches from the epoch's leader (observers too)."""

    name = "follower"

    def __init__(self, leader_id: int, endpoint: Endpoint | None) -> None:
        self.leader_id = leader_id
        self.endpoint = endpoint
        self.fetched = False
        """It has heard from this leader, so it would not vote for another."""
        self.suspect = False
        """The leader said goodbye, or its connection broke."""


class Resigned(Role):
    """Led this epoch and stopped: it neither votes in it nor follows anybody."""

    name = "resigned"


FOLLOWS: Final[dict[type[Role], tuple[type[Role], ...]]] = {
    Unattached: (Unattached, Prospective, Follower),
    Prospective: (Unattached, Prospective, Candidate, Follower),
    Candidate: (Unattached, Prospective, Leader, Follower),
    Leader: (Unattached, Follower, Resigned),
    Follower: (Unattached, Prospective, Follower),
    Resigned: (Unattached, Prospective, Follower),
}


def check(old: Role, new: Role) -> None:
    """Refuse a step that is not in the table."""
    assert type(new) in FOLLOWS[type(old)], f"a {old.name} replica never becomes {new.name}"
