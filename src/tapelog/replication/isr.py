"""The in-sync replicas of a partition, as its leader knows them: committed, and asked for.

Only the controller changes the ISR. A leader asks (one change at a time) and goes by the *maximal* ISR meanwhile:
whoever may be in it holds the high watermark back. An answer counts if its question is still the current one; whatever
the image says of a later partition epoch overrides both.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.errors import ErrorCode

DOUBT_MS: Final = 60_000
"""So long a change that was sent more than once may still be applied although one copy of it was refused."""
REFUSED_BACKOFF_MS: Final = 500
"""After the controller has found a replica ineligible it is not asked again at once: its image will be ours soon."""

# what becomes of a change that was not made
RETRY: Final = 0
FORGET: Final = 1
WAIT_FOR_IMAGE: Final = 2

_NOT_APPLIED: Final = (int(ErrorCode.INELIGIBLE_REPLICA), int(ErrorCode.OPERATION_NOT_ATTEMPTED))
"""The controller knows this partition epoch and has not applied the change: we may go back to what is committed."""
_OUTDATED: Final = (
    int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    int(ErrorCode.UNKNOWN_TOPIC_ID),
    int(ErrorCode.FENCED_LEADER_EPOCH),
    int(ErrorCode.INVALID_UPDATE_VERSION),
    int(ErrorCode.INVALID_REQUEST),
    int(ErrorCode.NEW_LEADER_ELECTED),
)
"""Our image is behind (or an earlier try was applied and its answer lost): nobody knows what holds, so we keep the
maximal ISR until the image tells."""


class IsrChange:
    """A question to the controller: may these be in sync?"""

    def __init__(self, isr: list[tuple[int, int]], leader_epoch: int, partition_epoch: int) -> None:
        self.isr = isr
        """(replica, its broker epoch; -1: unknown)."""
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.copies = 0
        """How often it was sent."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The replicas alone."""
        return tuple([id for id, _ in self.isr])

    def void(self, alive: dict[int, int]) -> bool:
        """Whether a member has come back as another process since: no controller will ever make such a change."""
        return any(epoch >= 0 and alive.get(id, epoch) > epoch for id, epoch in self.isr)


def verdict(code: int) -> int:
    """What to do about a change that the controller answered with this error."""
    if code in _NOT_APPLIED:
        return FORGET
    if code in _OUTDATED:
        return WAIT_FOR_IMAGE
    return RETRY


class InSync:
    """Committed ISR and the change under way, of one leader epoch."""

    def __init__(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        self.isr = isr
        self.partition_epoch = partition_epoch
        self.asked: IsrChange | None = None
        self.not_before_ms = 0
        self._doubt_until_ms = -1

    @property
    def maximal(self) -> tuple[int, ...]:
        """Committed members, and those who may have become members without our knowing it yet."""
        asked = self.asked
        if asked is None:
            return self.isr
        return (*self.isr, *[id for id in asked.ids if id not in self.isr])

    def ask(self, change: IsrChange) -> None:
        """The change is on its way."""
        assert self.asked is None, "one change at a time"
        self.asked = change
        self._doubt_until_ms = -1

    def learn(self, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """The image says so; False if we know better (the controller's answer was faster than the image)."""
        if partition_epoch < self.partition_epoch:
            return False
        if partition_epoch > self.partition_epoch:
            self.asked = None
        self.isr = isr
        self.partition_epoch = partition_epoch
        return True

    def agreed(self, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """The controller made the change; False if we know of a newer one."""
        if partition_epoch < self.partition_epoch:
            return False
        self.asked = None
        self.isr = isr
        self.partition_epoch = partition_epoch
        return True

    def refused(self, code: int, now_ms: int, alive: dict[int, int]) -> bool:
        """The controller answered with an error; whether the same change must be sent again. `alive`: the epochs of the
        brokers that live.

        If other copies of it are under way (an attempt whose connection was lost), one of them may be applied after
        all once the replica is eligible again: until none can be any more, its members count."""
        wanted = verdict(code)
        if wanted == FORGET:
            assert self.asked is not None
            if self._doubt_until_ms < 0 and self.asked.copies > 1:
                self._doubt_until_ms = now_ms + DOUBT_MS
            if now_ms < self._doubt_until_ms and not self.asked.void(alive):
                return True
            self.asked = None
            self.not_before_ms = now_ms + REFUSED_BACKOFF_MS
        return wanted == RETRY
