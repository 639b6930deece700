"""The quorum's seeds notice what is wrong: each planted bug is caught within a bounded number of lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.raft import election, following, leading, quorum, serving
from tapelog.raft.history import VoterHistory
from tapelog.raft.progress import Progress
from tapelog.raft.roles import Candidate, Follower, Leader
from tapelog.raft.state_file import ElectionState
from tapelog.raft.values import OffsetEpoch, ReplicaKey
from tests.simulation.raft_life import Life

SEEDS_MAX = 500

Plant = Callable[[pytest.MonkeyPatch], None]


def votes_twice(patch: pytest.MonkeyPatch) -> None:
    """A vote is forgotten as soon as it was given."""
    cast = quorum.Quorum.cast_vote

    def forgetful(self: quorum.Quorum, candidate: ReplicaKey) -> None:
        cast(self, candidate)
        self.state = ElectionState(self.state.epoch, self.state.leader_id, None)

    patch.setattr(quorum.Quorum, "cast_vote", forgetful)


def vote_not_durable(patch: pytest.MonkeyPatch) -> None:
    """A vote is told, and written down only with the next change."""
    remember = quorum.Quorum._remember

    def lazy(self: quorum.Quorum, state: ElectionState) -> None:
        if state.voted is not None and state.leader_id < 0:
            self.state = state
        else:
            remember(self, state)

    patch.setattr(quorum.Quorum, "_remember", lazy)


def old_epoch_by_counting(patch: pytest.MonkeyPatch) -> None:
    """What is on a majority of disks is committed, whatever its epoch."""

    def count(self: leading.Leading) -> None:
        leader = self.quorum.leading
        if leader is not None:
            self.quorum.advance(
                min(leader.progress.committable(self.quorum.log.durable_end), self.quorum.log.end_offset)
            )

    patch.setattr(leading.Leading, "count", count)


def follower_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """A follower fetches behind what it has only written."""

    def fetch(self: following.Following) -> None:
        role = self.quorum.role
        endpoint = self.quorum.leader_endpoint()
        if isinstance(role, Follower) and self._under_way is None and not self.download.under_way and endpoint:
            self._ask(role.leader_id, endpoint, self._answered)

    patch.setattr(following.Following, "_fetch", fetch)


def leader_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """A leader counts its own log as soon as it is appended."""
    committable = Progress.committable
    patch.setattr(Progress, "committable", lambda self, own: committable(self, 1 << 60))


def no_truncation(patch: pytest.MonkeyPatch) -> None:
    """A log that parts from the leader's is left as it is, and more is put behind it."""
    patch.setattr(serving.Serving, "_parts", lambda self, end: None)


def log_not_compared(patch: pytest.MonkeyPatch) -> None:
    """Votes go to whoever asks first, however little of the log it has."""
    would = election.Elections._would_vote

    def any_log(self: election.Elections, candidate: ReplicaKey, end: OffsetEpoch, pre_vote: bool) -> bool:
        return would(self, candidate, OffsetEpoch(1 << 60, 1 << 30), pre_vote)

    patch.setattr(election.Elections, "_would_vote", any_log)


def epochs_not_compared(patch: pytest.MonkeyPatch) -> None:
    """The longer log is the better one, whoever wrote it."""
    would = election.Elections._would_vote

    def longest(self: election.Elections, candidate: ReplicaKey, end: OffsetEpoch, pre_vote: bool) -> bool:
        better = end.offset >= self.quorum.end().offset
        return would(self, candidate, OffsetEpoch(1 << 60, 1 << 30) if better else OffsetEpoch(-1, -1), pre_vote)

    patch.setattr(election.Elections, "_would_vote", longest)


def half_is_a_majority(patch: pytest.MonkeyPatch) -> None:
    """Two of four decide."""
    from tapelog.raft.voters import VoterSet

    patch.setattr(VoterSet, "majority", property(lambda self: max(1, len(self.voters) // 2)))


def wiped_disk_votes(patch: pytest.MonkeyPatch) -> None:
    """A voter is known by its node id alone: an empty disk votes like the one before it."""
    vote = election.Elections.vote

    def by_id(self: election.Elections, request: Any, partition: Any) -> Any:
        partition.voter_directory_id = self.quorum.me.directory_id
        return vote(self, request, partition)

    patch.setattr(election.Elections, "vote", by_id)


def voters_not_truncated(patch: pytest.MonkeyPatch) -> None:
    """Voters named by a record that was cut off still count."""
    patch.setattr(VoterHistory, "truncate", lambda self, end_offset: None)


def two_changes_at_once(patch: pytest.MonkeyPatch) -> None:
    """Voters are changed again before the change before is committed."""
    from tapelog.raft import membership

    def lenient(self: membership.Membership, cluster_id: str | None) -> Leader:
        leader = self.quorum.leading
        self._pending = None
        assert leader is not None
        return leader

    patch.setattr(membership.Membership, "_check", lenient)


def deaf_leader_stays(patch: pytest.MonkeyPatch) -> None:
    """A leader that nobody fetches from leads on; its voters, once they have heard of it, wait for it forever."""
    patch.setattr(leading.Leading, "_check_quorum", lambda self: None)
    patch.setattr(following.Following, "_failed", lambda self, role: self.quorum.later(20, self._fetch))

    def patient(self: quorum.Quorum, delay_ms: int, action: Callable[[], None]) -> None:
        if not isinstance(self.role, Follower):
            arm(self, delay_ms, action)

    arm = quorum.Quorum.arm
    patch.setattr(quorum.Quorum, "arm", patient)


def snapshot_without_voters(patch: pytest.MonkeyPatch) -> None:
    """A snapshot's voters are not taken over."""
    patch.setattr(VoterHistory, "install", lambda self, end_offset, snapshot: None)


def candidates_never_give_up(patch: pytest.MonkeyPatch) -> None:
    """A lost election is never held again."""
    patch.setattr(election.Elections, "lost", lambda self: None)


def high_watermark_of_any_leader(patch: pytest.MonkeyPatch) -> None:
    """A follower takes its own end for committed."""

    def durable(self: following.Following) -> None:
        log = self.quorum.log
        if isinstance(self.quorum.role, Follower):
            self.quorum.advance(log.durable_end)
        if self._waits_for_disk and log.durable_end >= log.end_offset:
            self._waits_for_disk = False
            self._fetch()

    patch.setattr(following.Following, "durable", durable)


def leader_returns_to_its_epoch(patch: pytest.MonkeyPatch) -> None:
    """A candidate stands in the epoch it is in, not in a new one."""

    def again(self: quorum.Quorum) -> None:
        epoch = max(1, self.epoch)
        self._remember(ElectionState(epoch, -1, self.me))
        self._enter(Candidate())

    patch.setattr(quorum.Quorum, "become_candidate", again)


PLANTED: list[Plant] = [
    votes_twice,
    vote_not_durable,
    old_epoch_by_counting,
    follower_before_fsync,
    leader_before_fsync,
    no_truncation,
    log_not_compared,
    epochs_not_compared,
    half_is_a_majority,
    wiped_disk_votes,
    voters_not_truncated,
    two_changes_at_once,
    deaf_leader_stays,
    snapshot_without_voters,
    candidates_never_give_up,
    high_watermark_of_any_leader,
    leader_returns_to_its_epoch,
]


def caught_at() -> int:
    """The first seed that notices; -1 if none does."""
    for seed in range(SEEDS_MAX):
        try:
            Life(seed).live()
        except Exception:
            return seed
    return -1


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert caught_at() >= 0, plant.__doc__
