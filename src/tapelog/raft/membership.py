"""Changing who votes: one voter at a time, by a record in the log that counts as soon as it is there.

A new voter must have caught up as an observer first. Only one change is under way at a time, and none before the
leader has committed something in its epoch: so any two majorities share a voter. The caller is answered when the
record is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.timers import Timer
from tapelog.raft.leading import Leading
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Leader, Role
from tapelog.raft.values import Endpoint, ReplicaKey
from tapelog.raft.voters import Voter, VoterSet
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_request import UpdateRaftVoterRequest

CAUGHT_UP_WITHIN_MS: Final = 3_600_000
"""An observer may become a voter if it had everything at some time within this, as in Kafka."""
TIMEOUT_MS_MAX: Final = 60_000

Told = Callable[[KafkaError | None], None]


class Pending:
    """A change that waits until its record is committed."""

    def __init__(self, offset: int, epoch: int, done: Told) -> None:
        self.offset = offset
        self.epoch = epoch
        self.done: Told | None = done
        self.timer: Timer | None = None


class Membership:
    """Adds, removes and updates voters."""

    def __init__(self, quorum: Quorum, leading: Leading) -> None:
        self.quorum = quorum
        self.leading = leading
        self._pending: Pending | None = None

    def entered(self, role: Role) -> None:
        """The role changed: what is pending may or may not happen; its caller asks again."""
        if not isinstance(role, Leader):
            self._finish(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the leader of the quorum changed"))

    def advanced(self) -> None:
        """More is committed."""
        if self._pending is not None and self.quorum.high_watermark > self._pending.offset:
            self._finish(None)

    def taken_back(self) -> None:
        """The log took back what it could not write: perhaps the record that is waited for."""
        if self._pending is not None and self._pending.offset >= self.quorum.log.end_offset:
            self._finish(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the change could not be written"))

    def add(self, request: AddRaftVoterRequest, done: Told) -> None:
        """Make an observer a voter."""
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        endpoints = [Endpoint(listener.name, listener.host, listener.port) for listener in request.listeners]
        try:
            leader = self._check(request.cluster_id)
            if not endpoints:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "a voter needs a listener")
            if self.quorum.voters.get(key.id) is not None:
                raise KafkaError(ErrorCode.DUPLICATE_VOTER, f"node {key.id} is a voter already")
            self._check_caught_up(leader, key)
            self._change(self.quorum.voters.with_voter(Voter(key, endpoints)), request.timeout_ms, done)
        except KafkaError as error:
            done(error)
            return
        if not request.ack_when_committed and self._pending is not None:
            self._pending.done = None
            done(None)

    def remove(self, request: RemoveRaftVoterRequest, done: Told) -> None:
        """Make a voter an observer; the leader itself, too."""
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        try:
            self._check(request.cluster_id)
            if key not in self.quorum.voters:
                raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"node {key.id} with that directory is no voter")
            if len(self.quorum.voters) == 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the last voter cannot be removed")
            self._change(self.quorum.voters.without(key), TIMEOUT_MS_MAX, done)
        except KafkaError as error:
            done(error)

    def update(self, request: UpdateRaftVoterRequest, done: Told) -> None:
        """A voter listens elsewhere."""
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        endpoints = [Endpoint(listener.name, listener.host, listener.port) for listener in request.listeners]
        try:
            self._check(request.cluster_id)
            if request.current_leader_epoch != self.quorum.epoch:
                newer = request.current_leader_epoch > self.quorum.epoch
                raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH if newer else ErrorCode.FENCED_LEADER_EPOCH, "")
            if key not in self.quorum.voters:
                raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"node {key.id} with that directory is no voter")
            if not endpoints:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "a voter needs a listener")
            changed = self.quorum.voters.with_voter(Voter(key, endpoints))
            if changed == self.quorum.voters:
                done(None)
            else:
                self._change(changed, TIMEOUT_MS_MAX, done)
        except KafkaError as error:
            done(error)

    # -- inside

    def _check(self, cluster_id: str | None) -> Leader:
        quorum, leader = self.quorum, self.quorum.leading
        if cluster_id and cluster_id != quorum.cluster_id:
            raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {quorum.cluster_id}")
        if leader is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this node does not lead the quorum")
        if quorum.high_watermark <= leader.start_offset:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the leader has not committed anything yet")
        if quorum.history.latest_offset >= quorum.high_watermark:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "another change of voters is under way")
        return leader

    def _check_caught_up(self, leader: Leader, key: ReplicaKey) -> None:
        """A new voter had everything lately, and is there: with one that is not, the others may be no majority."""
        quorum, replica = self.quorum, leader.progress.replicas.get(key)
        if replica is None or replica.caught_up_wall_ms < 0:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"node {key.id} has not caught up with the leader")
        if quorum.clock.wall_ms() - replica.caught_up_wall_ms > CAUGHT_UP_WITHIN_MS:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"node {key.id} has not been caught up for long")
        if quorum.clock.monotonic_ms() - replica.fetched_ms > quorum.config.check_quorum_ms:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"node {key.id} does not fetch from the leader any more")

    def _change(self, voters: VoterSet, timeout_ms: int, done: Told) -> None:
        quorum = self.quorum
        assert self._pending is None
        offset = self.leading.append_voters(voters)
        pending = self._pending = Pending(offset, quorum.epoch, done)
        pending.timer = quorum.timers.after(min(max(0, timeout_ms), TIMEOUT_MS_MAX), lambda: self._expired(pending))
        self.leading.count()

    def _expired(self, pending: Pending) -> None:
        """The caller has waited long enough; the change may still happen."""
        told, pending.done = pending.done, None
        if told is not None:
            told(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the change is not committed yet"))

    def _finish(self, error: KafkaError | None) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if pending.timer is not None:
            pending.timer.cancel()
        if pending.done is not None:
            pending.done(error)
