"""Bugs to plant in a cluster: each is a mistake that somebody could make, in one place, and must be caught by seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tapelog.coordinators.consumer.reconcile import Goal
from tapelog.coordinators.transactions.completion import Completions
from tapelog.log.log import Log
from tapelog.metadata import election
from tapelog.replication.followed import Followed
from tapelog.replication.isr import InSync
from tapelog.replication.leadership import Leadership
from tapelog.replication.partition import Partition
from tapelog.replication.progress import NO_EPOCH, Replica
from tapelog.sim.disk import SimDisk

Plant = Callable[[pytest.MonkeyPatch], None]


def ack_before_replication(patch: pytest.MonkeyPatch) -> None:
    """The leader's own disk is enough."""
    patch.setattr(Leadership, "ceiling", lambda self, own_end, *_: own_end)


def high_watermark_goes_back(patch: pytest.MonkeyPatch) -> None:
    """A new leader begins at the start of its log."""
    lead = Partition.lead

    def forgetful(self: Partition, *args: Any) -> None:
        self.high_watermark = self.log.start_offset
        lead(self, *args)

    patch.setattr(Partition, "lead", forgetful)


def forgotten_truncation(patch: pytest.MonkeyPatch) -> None:
    """A follower does not say which epoch its last record is of, so nobody finds out where the logs part."""
    position = Followed.position
    patch.setattr(Followed, "position", lambda self: (position(self)[0], NO_EPOCH))


def isr_never_shrinks(patch: pytest.MonkeyPatch) -> None:
    """Nobody is ever too late."""
    patch.setattr(Leadership, "lagging", lambda *_: [])


def follower_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """A follower claims what is only written."""

    def own_end(self: Partition) -> int:
        return self.log.durable_end if self.leading and not self.page_cache else self.log.written_end

    patch.setattr(Partition, "own_end", property(own_end))


def unclean_leader(patch: pytest.MonkeyPatch) -> None:
    """Whoever is there may lead."""
    decision: Any = election._Decision
    patch.setattr(decision, "_may_lead", lambda self, replica: self._there(replica))


def marker_lost_on_failover(patch: pytest.MonkeyPatch) -> None:
    """A coordinator that takes over does not go on with what the one before had decided."""

    def serve(self: Completions) -> None:
        self._serving = True
        self.committed(self._store.journal.committed_offset)

    patch.setattr(Completions, "serve", serve)


def stale_leader_serves(patch: pytest.MonkeyPatch) -> None:
    """A leader that stops being one tells everybody who waits that all is well."""
    fail = Partition.fail_parked_above

    def generous(self: Partition, offset: int, code: int) -> None:
        if code == 6:  # NOT_LEADER_OR_FOLLOWER
            for parked in [*self._parked, *self._parked_local]:
                parked.waiter.committed(parked.index)
            self._parked.clear()
            self._parked_local.clear()
        else:
            fail(self, offset, code)

    patch.setattr(Partition, "fail_parked_above", generous)


def shrink_counts_at_once(patch: pytest.MonkeyPatch) -> None:
    """What the controller was asked for counts before it has agreed."""
    patch.setattr(InSync, "maximal", property(lambda self: self.asked.ids if self.asked is not None else self.isr))


def followers_forget_producers(patch: pytest.MonkeyPatch) -> None:
    """A follower does not keep who wrote what: a new leader takes a batch twice."""
    note = Log._note_producer
    replicate = Log._append_replicated

    def replicated(self: Log, *args: Any) -> Any:
        self.forgetting = True  # type: ignore[attr-defined]
        try:
            return replicate(self, *args)
        finally:
            self.forgetting = False  # type: ignore[attr-defined]

    def noted(self: Log, *args: Any) -> None:
        if not getattr(self, "forgetting", False):
            note(self, *args)

    patch.setattr(Log, "_append_replicated", replicated)
    patch.setattr(Log, "_note_producer", noted)


def disk_that_does_not_sync(patch: pytest.MonkeyPatch) -> None:
    """Flush rounds end before anything is on disk."""
    init = SimDisk.__init__

    def lying(self: SimDisk, *args: Any) -> None:
        init(self, *args)
        self.skips_syncs = True

    patch.setattr(SimDisk, "__init__", lying)


def below_min_isr_commits(patch: pytest.MonkeyPatch) -> None:
    """The high watermark rises although too few are in sync."""
    ceiling = Leadership.ceiling

    def careless(self: Leadership, *args: int) -> int:
        self.min_isr, kept = 1, self.min_isr
        try:
            return ceiling(self, *args)
        finally:
            self.min_isr = kept

    patch.setattr(Leadership, "ceiling", careless)


def anybody_enters_the_isr(patch: pytest.MonkeyPatch) -> None:
    """Whoever fetches is in sync."""

    def may_enter(self: Leadership, follower: Replica, *_: int) -> bool:
        in_sync = self.in_sync
        return in_sync.asked is None and follower.id not in in_sync.isr and follower.eligible(self.hub.alive)

    patch.setattr(Leadership, "may_enter", may_enter)


def end_told_too_early(patch: pytest.MonkeyPatch) -> None:
    """A new leader says where the log ends before it knows: never OFFSET_NOT_AVAILABLE."""
    patch.setattr(Partition, "high_watermark_is_known", property(lambda self: True))


def given_before_given_back(patch: pytest.MonkeyPatch) -> None:
    """A partition goes to its next owner although the one before has not given it back."""
    init = Goal.__init__

    def careless(self: Goal, *args: Any) -> None:
        init(self, *args)
        self.is_taken = lambda *_: False

    patch.setattr(Goal, "__init__", careless)


PLANTS: Final[dict[str, Plant]] = {
    plant.__name__: plant
    for plant in (
        ack_before_replication,
        high_watermark_goes_back,
        forgotten_truncation,
        isr_never_shrinks,
        follower_before_fsync,
        unclean_leader,
        marker_lost_on_failover,
        stale_leader_serves,
        shrink_counts_at_once,
        followers_forget_producers,
        disk_that_does_not_sync,
        below_min_isr_commits,
        anybody_enters_the_isr,
        end_told_too_early,
        given_before_given_back,
    )
}
