"""A lane: one connection to a leader with at most one fetch under way, the partitions it serves, and its session.

Owned by a `follower.Fetcher`. What an answer brought must be on disk before the next request leaves, since that request
says so; so a lane is *held* while a member of it settles or is cut. Partitions that have nothing new cost nothing: the
leader remembers where they are.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.fetch_memory import FINAL, FetchMemory, Key, place
from tapelog.replication.followed import AWAY, CUTTING, FETCHING, SETTLING, Followed, Limits
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, ReplicaState

_HOLDING: Final = (SETTLING, CUTTING)


class Lane:
    """See the module."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"fetch-{number}"
        self.members: dict[Key, Followed] = {}
        self.memory = FetchMemory()
        self.in_flight = False
        self.resting = False
        """Waits after a failure of the connection or of the session."""
        self.failures = 0
        self.due_ms = 0
        """When the request under way is answered at the latest, if nothing goes wrong."""
        self.fetching = 0
        self.held = 0
        self._changed: dict[Key, Followed] = {}
        self._dropped: dict[Key, None] = {}

    @property
    def busy(self) -> bool:
        """A request must wait."""
        return self.in_flight or self.resting

    @property
    def may_send(self) -> bool:
        """Nothing is under way, everything received is safe, and there is something to fetch."""
        return not self.busy and self.held == 0 and self.fetching > 0

    def session_closed(self, _: Message | None) -> None:
        """The leader has answered, or will not, that the session is closed."""
        self.in_flight = False

    def add(self, followed: Followed) -> None:
        """A partition to fetch from now on."""
        assert followed.lane is None
        followed.lane = self
        self.members[followed.key] = followed

    def remove(self, followed: Followed) -> None:
        """Not any more."""
        if self.members.get(followed.key) is followed:
            self._leave(followed)
            del self.members[followed.key]
            self._changed.pop(followed.key, None)
        followed.lane = None

    def enter(self, followed: Followed, state: int) -> None:
        """A member changes state."""
        self._leave(followed, forget=state not in (FETCHING, SETTLING))
        followed.state = state
        if state == FETCHING:
            self.fetching += 1
            self._changed[followed.key] = followed
        elif state in _HOLDING:
            self.held += 1

    def touch(self, followed: Followed) -> None:
        """What it would say of itself changed."""
        if followed.state == FETCHING:
            self._changed[followed.key] = followed

    def _leave(self, followed: Followed, forget: bool = True) -> None:
        if followed.state == FETCHING:
            self.fetching -= 1
        elif followed.state in _HOLDING:
            self.held -= 1
        if forget and followed.in_session:
            followed.in_session = False
            self._dropped[followed.key] = None

    def reset(self) -> None:
        """The session is over, or in doubt."""
        self.memory.reset()

    def hand_over(self, other: Lane) -> None:
        """Everything this lane serves is the other's from now on."""
        for followed in list(self.members.values()):
            state = followed.state
            self.remove(followed)
            followed.state = AWAY
            other.add(followed)
            other.enter(followed, state)

    def farewell(self, limits: Limits, broker_epoch: int) -> FetchRequest:
        """A request that ends the session."""
        self.in_flight = True
        request = FetchRequest(session_id=self.memory.id, session_epoch=FINAL)
        request.replica_state = ReplicaState(limits.replica_id, broker_epoch)
        self.memory = FetchMemory()
        self._changed.clear()
        self._dropped.clear()
        return request

    def request(self, limits: Limits, broker_epoch: int, wait_ms: int) -> FetchRequest:
        """The next one; from now on it is under way."""
        memory = self.memory
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.bytes_max,
            session_id=memory.id,
            session_epoch=memory.epoch,
            replica_state=ReplicaState(limits.replica_id, broker_epoch),
        )
        wanted = self.members if memory.complete else self._changed
        parts = [
            (key, _part(followed, limits.partition_bytes_max))
            for key, followed in wanted.items()
            if followed.state == FETCHING
        ]
        forgotten: list[Key] = []
        if not memory.complete:
            forgotten = [key for key in self._dropped if key not in self._changed]
        place(request, parts, forgotten)
        self._changed.clear()
        self._dropped.clear()
        self.in_flight = True
        return request


def _part(followed: Followed, bytes_max: int) -> FetchPartition:
    followed.in_session = True
    offset, epoch = followed.position()
    return FetchPartition(
        partition=followed.partition.index,
        current_leader_epoch=followed.leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=epoch,
        log_start_offset=followed.partition.log.start_offset,
        partition_max_bytes=bytes_max,
    )
