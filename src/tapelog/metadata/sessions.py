"""Who was heard of, and when: the liveness of brokers as the active controller sees it.

Soft state, the only one the controller keeps outside the log. It begins afresh with every new active controller, which
gives every broker a full session's time to be heard of. Only the node that led before it is known to have been silent
for a while, if it was: that counts. Time is monotonic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tapelog.base.ports import Clock
from tapelog.metadata.image import MetadataImage

NEVER_MS: Final = 1 << 62


class Session:
    """One incarnation of a broker: its last sign of life and how far it has followed the metadata."""

    __slots__ = ("contact_ms", "epoch", "metadata_offset", "shutdown_offset")

    def __init__(self, epoch: int, contact_ms: int) -> None:
        self.epoch = epoch
        self.contact_ms = contact_ms
        self.metadata_offset = -1
        self.shutdown_offset = -1
        """Everybody must have applied this before the broker may go; -1 while it does not want to."""


class BrokerSessions:
    """Sessions by broker id. Without a clock (a node alone) nobody's session ends."""

    def __init__(self, clock: Clock | None, timeout_ms: int) -> None:
        self._clock = clock
        self.timeout_ms = timeout_ms
        self._sessions: dict[int, Session] = {}

    @property
    def timed(self) -> bool:
        """Whether sessions can end."""
        return self._clock is not None

    def now_ms(self) -> int:
        """The time sessions are measured by."""
        return 0 if self._clock is None else self._clock.monotonic_ms()

    def begin(self, image: MetadataImage, before: tuple[int, int] | None = None, grace_ms: int = 0) -> None:
        """A new active controller: everybody registered counts as just heard of. `before`: who was the active one until
        now, and when it was last heard of; it has grace_ms, at least, to be heard of here."""
        now_ms = self.now_ms()
        self._sessions = {id: Session(broker.epoch, now_ms) for id, broker in image.brokers.items()}
        if before is not None and before[0] in self._sessions:
            earliest_ms = now_ms - max(0, self.timeout_ms - grace_ms)
            self._sessions[before[0]].contact_ms = min(now_ms, max(before[1], earliest_ms))

    def clear(self) -> None:
        """Not the active controller any more."""
        self._sessions = {}

    def heard(self, broker_id: int, epoch: int, metadata_offset: int = -1) -> Session:
        """A sign of life of that incarnation, which is known to be the registered one."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = Session(epoch, 0)
        session.contact_ms = self.now_ms()
        session.metadata_offset = max(session.metadata_offset, metadata_offset)
        return session

    def lasting(self, broker_id: int, epoch: int) -> None:
        """A broker that shares our process needs no heartbeats."""
        self.heard(broker_id, epoch).contact_ms = NEVER_MS

    def forget(self, broker_id: int) -> None:
        """It was unregistered."""
        self._sessions.pop(broker_id, None)

    def alive(self, broker_id: int, epoch: int) -> bool:
        """Whether that incarnation was heard of within the session timeout."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            return False
        return session.contact_ms + self.timeout_ms >= self.now_ms()

    def heard_since(self, broker_id: int, epoch: int, since_ms: int) -> bool:
        """Whether that incarnation was heard of after that moment."""
        session = self._sessions.get(broker_id)
        return session is not None and session.epoch == epoch and session.contact_ms > since_ms

    def silent(self, image: MetadataImage) -> list[int]:
        """Unfenced brokers whose session has ended, by id. One never heard of gets its session now."""
        found = []
        for id in sorted(image.brokers):
            broker = image.brokers[id]
            if broker.fenced:
                continue
            session = self._sessions.get(id)
            if session is None or session.epoch != broker.epoch:
                self.heard(id, broker.epoch)
            elif not self.alive(id, broker.epoch):
                found.append(id)
        return found

    def next_end_ms(self, image: MetadataImage) -> int:
        """When the next session of an unfenced broker ends if nothing is heard; NEVER_MS if there is none."""
        if self._clock is None:
            return NEVER_MS
        ends = [
            self._sessions[id].contact_ms + self.timeout_ms + 1
            if id in self._sessions
            else self.now_ms() + self.timeout_ms + 1
            for id, broker in image.brokers.items()
            if not broker.fenced
        ]
        return min(ends, default=NEVER_MS)

    def lowest_offset(self, brokers: Iterable[int]) -> int:
        """How far all these brokers have followed the metadata, at least."""
        sessions = [self._sessions.get(id) for id in brokers]
        return min((-1 if session is None else session.metadata_offset for session in sessions), default=NEVER_MS)
