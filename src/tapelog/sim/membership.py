"""Members of consumer groups in a simulated cluster, and what a group is promised.

In one epoch the coordinator gives a partition to one member only, whichever node coordinates (a classic group's new
coordinator may go by records that are lost later, as Kafka's does: its generations count per process); and no node
gives it to anybody while the one before has it, has just been heard of, and has not given it back. Offsets that were
acknowledged are there for whoever owns the partition next, and never go back: commits of members that are none any
more are refused. `sim.consuming` and `sim.classic` have the two protocols; `sim.groups` drives them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.sim.routing import Router
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

INTERVAL_MS: Final = 400
SESSION_MS: Final = 1500
SURE_MS: Final = 900
"""For so long after its last heartbeat a member cannot have been put out: less than a session by the fastest clock."""
COMMIT_MS: Final = 300
Part = tuple[str, int]

REFUSED: Final = frozenset(
    int(code)
    for code in (
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
    )
)
LATER: Final = frozenset(
    int(code)
    for code in (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    )
)


class Ledger:
    """What a group was told."""

    def __init__(self, name: str, parts: list[Part], boots: Callable[[int], int]) -> None:
        self.name = name
        self.parts = parts
        self.boots = boots
        """How often a node was started."""
        self.acknowledged: dict[Part, int] = {}
        self.attempted: dict[Part, int] = {}
        self.refused = 0
        self.members: list[Member] = []
        self._told: dict[tuple[int, Part, tuple[int, int] | None], str] = {}

    def told(self, epoch: int, part: Part, member: Member) -> None:
        """The coordinator says that the partition is that member's in that epoch."""
        name = f"{self.name}: {part[0]}-{part[1]}"
        owner = self._told.setdefault((epoch, part, None if member.checks_epochs else member.process), member.id)
        assert owner == member.id, f"{name} is given to {owner} and {member.id} in epoch {epoch}"
        for other in self.members if member.sure else ():
            if other is not member and part in other.owned and other.sure and other.coordinator == member.coordinator:
                raise AssertionError(f"{name} is given to {member.id} in epoch {epoch}, and {other.id} still has it")

    def found(self, part: Part, offset: int, promised: int) -> None:
        """The offset of a partition, and what had been acknowledged when it was asked for."""
        assert promised <= max(offset, 0) <= self.attempted.get(part, 0), (
            f"{self.name}: the offset of {part[0]}-{part[1]} is {offset}, {promised} was acknowledged"
        )


class Member:
    """One member of either kind. Whoever does not hear of a commit ends, for it may arrive at any time."""

    def __init__(self, ledger: Ledger, id: str, router: Router) -> None:
        self.ledger = ledger
        self.id = id
        self.router = router
        self.epoch = 0
        self.owned: dict[Part, None] = {}
        self.gone = False
        self.stalled_until_ms = 0
        self.heard_ms = -SURE_MS
        """When it sent the last request to which the coordinator said that all is well."""
        self.coordinator: int | None = None
        """Who said so."""
        self.process = (0, 0)
        """The same, and in which of its lives."""
        self._offsets: dict[Part, int] = {}
        self._busy = False
        self._committing = False
        self._next_ms = self._commit_ms = 0

    @property
    def sure(self) -> bool:
        """Whether what it was told must still be true."""
        return not self.gone and self.router.world.now_ms < self.heard_ms + SURE_MS

    def push(self) -> None:
        """Say that it lives, if it is time to; go on with its partitions."""
        now_ms = self.router.world.now_ms
        if self.gone or now_ms < self.stalled_until_ms:
            return
        if not self._busy and now_ms >= self._next_ms:
            self._busy, self._next_ms = True, now_ms + INTERVAL_MS
            self.beat()
        if not self._committing and self.epoch > 0 and self.owned and now_ms >= self._commit_ms:
            self._commit_ms = now_ms + COMMIT_MS
            self._work()

    def beat(self) -> None:
        """One request of the protocol."""
        raise NotImplementedError

    def leave(self) -> None:
        """It says good-bye, or nothing."""
        self.gone = True

    def soon(self) -> None:
        """There is something to say before the next beat is due."""
        self._next_ms = 0

    def given(self, epoch: int, parts: list[Part]) -> None:
        """The coordinator's word: these are its partitions, in that epoch."""
        self.epoch = epoch
        for part in parts:
            self.ledger.told(epoch, part, self)
        self._offsets = {part: offset for part, offset in self._offsets.items() if part in parts}
        self.owned = dict.fromkeys(parts)

    def fenced(self) -> None:
        """It is no member any more; it begins anew."""
        self.epoch = 0
        self.owned = {}
        self._offsets = {}
        self.soon()

    def ask(self, request: Any, version: int, done: Any) -> None:
        """Ask the coordinator; `done` gets the answer, unless there is none or the member is gone."""
        where, sent_ms = ("group", self.ledger.name, 0), self.router.world.now_ms

        def answered(response: Any) -> None:
            self._busy = False
            if not self.gone and response is not None:
                if response.error_code == 0:
                    self.heard_ms, self.coordinator = sent_ms, self.router.known.get(where)
                    node_id = self.coordinator or 0
                    self.process = node_id, self.ledger.boots(node_id)
                done(response)

        self.router.send(request, version, answered, where)

    # -- offsets

    def _work(self) -> None:
        unknown = [part for part in self.owned if part not in self._offsets]
        self._committing = True
        if unknown:
            self._fetch(unknown[0])
        else:
            parts = list(self.owned)
            self._commit(parts[self.router.entropy.below(len(parts))])

    def _fetch(self, part: Part) -> None:
        topics = [OffsetFetchRequestTopics(name=part[0], partition_indexes=[part[1]])]
        group = OffsetFetchRequestGroup(self.ledger.name, self.id, self.epoch, topics)
        if not self.checks_epochs:
            group.member_id, group.member_epoch = None, -1
        promised = self.ledger.acknowledged.get(part, 0)

        def done(response: Any) -> None:
            self._committing = False
            if response is None or self.gone or response.groups[0].error_code or part not in self.owned:
                return
            found = response.groups[0].topics[0].partitions[0]
            if found.error_code == 0:
                self.ledger.found(part, found.committed_offset, promised)
                self._offsets[part] = max(0, found.committed_offset)

        request = OffsetFetchRequest(groups=[group], require_stable=True)
        self.router.send(request, 9, done, ("group", self.ledger.name, 0))

    checks_epochs = True
    """Whether its offsets are asked for in the name of a member."""

    def _commit(self, part: Part) -> None:
        offset = self._offsets[part] + 1
        ledger = self.ledger
        ledger.attempted[part] = max(offset, ledger.attempted.get(part, 0))
        promised = ledger.acknowledged.get(part, 0)

        def done(response: Any) -> None:
            self._committing = False
            if response is None:
                self.gone = True
                return
            code = response.topics[0].partitions[0].error_code
            if code == 0:
                assert offset > promised, (
                    f"{ledger.name}: the offset of {part[0]}-{part[1]} goes back from {promised} to {offset}"
                )
                ledger.acknowledged[part] = max(offset, ledger.acknowledged.get(part, 0))
                if part in self._offsets:
                    self._offsets[part] = offset
                return
            assert code in REFUSED or code in LATER, f"{ledger.name}: a commit got {ErrorCode(code).name}"
            ledger.refused += code in REFUSED
            self._offsets.pop(part, None)

        one = OffsetCommitRequestPartition(partition_index=part[1], committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(ledger.name, self.epoch, self.id)
        request.topics = [OffsetCommitRequestTopic(name=part[0], partitions=[one])]
        self.router.send(request, 9, done, ("group", ledger.name, 0))
