"""What a leader knows of the others: how far each has the log on disk, and when it last asked.

A voter's fetch offset is its claim that everything below is durable there; the leader's own claim is its durable end.
"""

from __future__ import annotations

from typing import Final

from tapelog.raft.values import ReplicaKey
from tapelog.raft.voters import VoterSet

OBSERVERS_MAX: Final = 1000
OBSERVER_EXPIRY_MS: Final = 300_000


class Replica:
    """One replica as its leader sees it."""

    __slots__ = ("caught_up_wall_ms", "end_offset", "fetched_ms", "fetched_wall_ms", "leader_end")

    def __init__(self, now_ms: int) -> None:
        self.end_offset = -1
        self.fetched_ms = now_ms
        self.fetched_wall_ms = -1
        self.caught_up_wall_ms = -1
        self.leader_end = -1
        """Where the leader's log ended when it fetched before: having that much now is to be caught up."""


class Progress:
    """Voters and observers of one leader."""

    def __init__(self, me: ReplicaKey, voters: VoterSet, now_ms: int) -> None:
        self.me = me
        self.voters = voters
        self.began_ms = now_ms
        self.replicas: dict[ReplicaKey, Replica] = {}
        for voter in voters.others(me):
            self.replicas[voter.key] = Replica(now_ms)

    def change_voters(self, voters: VoterSet, now_ms: int) -> None:
        """The set of voters changed; who joins it keeps what is known of it."""
        self.voters = voters
        for voter in voters.others(self.me):
            replica = self.replicas.setdefault(voter.key, Replica(now_ms))
            replica.fetched_ms = max(replica.fetched_ms, self.began_ms)

    def fetched(self, key: ReplicaKey, offset: int, leader_end: int, now_ms: int, wall_ms: int) -> None:
        """A replica asks for what follows offset. A late, smaller claim says nothing new about its disk."""
        replica = self.replicas.get(key)
        if replica is None:
            self._forget_observers(now_ms)
            if len(self.replicas) >= OBSERVERS_MAX:
                return
            replica = self.replicas[key] = Replica(now_ms)
        if offset >= leader_end:
            replica.caught_up_wall_ms = wall_ms
        elif replica.leader_end >= 0 and offset >= replica.leader_end:
            replica.caught_up_wall_ms = replica.fetched_wall_ms
        replica.end_offset = max(replica.end_offset, offset)
        replica.fetched_ms, replica.fetched_wall_ms, replica.leader_end = now_ms, wall_ms, leader_end

    def committable(self, own_durable: int) -> int:
        """The offset up to which a majority of voters has the log on disk; -1 if no majority has spoken."""
        ends = [own_durable if key == self.me else self.replicas[key].end_offset for key in self._keys()]
        ends.sort(reverse=True)
        return ends[self.voters.majority - 1] if ends else -1

    def majority_fetched_ms(self, now_ms: int) -> int:
        """When it was last true that a majority (counting the leader, if it votes) had just fetched."""
        times = [now_ms if key == self.me else self.replicas[key].fetched_ms for key in self._keys()]
        times.sort(reverse=True)
        return times[self.voters.majority - 1] if times else now_ms

    def silent_voters(self, before_ms: int) -> list[ReplicaKey]:
        """Other voters that have not fetched since then."""
        return [
            key
            for key in self._keys()
            if key != self.me and (self.replicas[key].end_offset < 0 or self.replicas[key].fetched_ms < before_ms)
        ]

    def by_end(self) -> list[ReplicaKey]:
        """Other voters, the furthest first."""
        others = [key for key in self._keys() if key != self.me]
        return sorted(others, key=lambda key: (-self.replicas[key].end_offset, key.id))

    def observers(self) -> list[ReplicaKey]:
        """Who fetches and does not vote."""
        return [key for key in self.replicas if key not in self.voters]

    def _keys(self) -> list[ReplicaKey]:
        return [voter.key for voter in self.voters.voters.values()]

    def _forget_observers(self, now_ms: int) -> None:
        for key in self.observers():
            if now_ms - self.replicas[key].fetched_ms >= OBSERVER_EXPIRY_MS:
                del self.replicas[key]
