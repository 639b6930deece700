"""What a leader does: begins its epoch in the log, tells the voters, counts what is durable, and resigns when a
majority has not been heard from, when it is asked to, or when it is no voter any more.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.raft import control, requests
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Follower, Leader, Resigned, Role
from tapelog.raft.values import NO_NODE, Endpoint, ReplicaKey
from tapelog.raft.voters import Voter, VoterSet
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages import begin_quorum_epoch_request, end_quorum_epoch_request
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse


class Leading:
    """The leader's side of an epoch, and how followers hear of its beginning and end."""

    def __init__(self, quorum: Quorum, stand: Callable[[], None]) -> None:
        self.quorum = quorum
        self.stand = stand
        self._successors: list[ReplicaKey] = []

    def entered(self, role: Role) -> None:
        """The replica's role changed."""
        quorum = self.quorum
        if isinstance(role, Leader):
            self._begin(role)
        elif isinstance(role, Resigned):
            self._tell_end()
            quorum.arm(quorum.random_ms(quorum.config.election_timeout_ms), self.stand)

    # -- leading

    def append(self, batch: bytes) -> int:
        """Append one batch in the leader's epoch; returns the end of the log."""
        assert self.quorum.leading is not None, "only a leader appends"
        return self.quorum.log.append(batch, self.quorum.epoch)

    def append_voters(self, voters: VoterSet) -> int:
        """Change who votes; it counts from here on. Returns the offset of the record."""
        quorum = self.quorum
        offset = quorum.log.end_offset
        self.append(control.control_batch([control.voters_record(voters, quorum.clock.wall_ms())], quorum.epoch))
        self._voters_changed(offset, voters)
        return offset

    def count(self) -> None:
        """Something became durable, here or there: perhaps more is committed. Records of earlier epochs are committed
        only together with one of this epoch."""
        quorum, leader = self.quorum, self.quorum.leading
        if leader is None:
            return
        committable = min(leader.progress.committable(quorum.log.durable_end), quorum.log.end_offset)
        if committable > leader.start_offset:
            quorum.advance(committable)
            if quorum.role is leader and not quorum.is_voter and quorum.high_watermark > quorum.history.latest_offset:
                self.resign()  # it saw to its own removal

    def resign(self) -> None:
        """Stop leading; the others are told who may follow."""
        leader = self.quorum.leading
        assert leader is not None
        self._successors = leader.progress.by_end()
        self.quorum.become_resigned()

    def _begin(self, role: Leader) -> None:
        quorum = self.quorum
        now_ms = quorum.clock.wall_ms()
        voters = quorum.voters
        records = [control.leader_change(quorum.me.id, voters, role.granted, now_ms)]
        offset = quorum.log.end_offset
        mine = Voter(quorum.me, quorum.endpoints)
        moved = quorum.is_voter and bool(quorum.endpoints) and voters.get(quorum.me.id) != mine
        changed = quorum.history.latest_offset < 0 or moved
        if changed:
            if quorum.history.latest_offset < 0:
                records.append(control.version_record(now_ms))
            voters = voters.with_voter(mine) if moved else voters
            records.append(control.voters_record(voters, now_ms))
        self.append(control.control_batch(records, quorum.epoch))
        if changed:
            self._voters_changed(offset + len(records) - 1, voters)
        quorum.arm(quorum.config.check_quorum_ms, self._check_quorum)
        self._tell_begin()
        quorum.listener.elected(quorum.epoch, role.start_offset)
        self.count()

    def _voters_changed(self, offset: int, voters: VoterSet) -> None:
        quorum, leader = self.quorum, self.quorum.leading
        assert leader is not None
        quorum.history.add(offset, voters)
        leader.progress.change_voters(voters, quorum.clock.monotonic_ms())

    def _check_quorum(self) -> None:
        quorum, leader = self.quorum, self.quorum.leading
        assert leader is not None
        now_ms = quorum.clock.monotonic_ms()
        due_ms = leader.progress.majority_fetched_ms(now_ms) + quorum.config.check_quorum_ms
        if due_ms <= now_ms:
            self.resign()
        else:
            quorum.arm(due_ms - now_ms, self._check_quorum)

    # -- telling

    def _tell_begin(self) -> None:
        """Tell voters that do not fetch who leads; again and again, since they may have been away."""
        quorum, leader = self.quorum, self.quorum.leading
        if leader is None:
            return
        pause_ms = max(1, quorum.config.fetch_timeout_ms // 2)
        silent = leader.progress.silent_voters(quorum.clock.monotonic_ms() - pause_ms)
        for voter in quorum.voters.others(quorum.me):
            if voter.key in silent:
                self._tell_begin_to(leader, voter, quorum.config.retry_backoff_ms)
        quorum.later(pause_ms, self._tell_begin)

    def _tell_begin_to(self, leader: Leader, voter: Voter, backoff_ms: int) -> None:
        quorum = self.quorum
        request = requests.begin(quorum.cluster_id, voter.key, quorum.me.id, quorum.epoch, quorum.endpoints)

        def answered(response: Message | None) -> None:
            if isinstance(response, BeginQuorumEpochResponse) and response.topics:
                partition = response.topics[0].partitions[0]
                endpoint = requests.told_endpoint(response, partition.leader_id)
                quorum.learn(partition.leader_epoch, partition.leader_id, endpoint)

        quorum.send(voter, request, requests.BEGIN_VERSION, quorum.config.request_timeout_ms, answered)

    def _tell_end(self) -> None:
        quorum = self.quorum
        request = requests.end(quorum.cluster_id, quorum.me.id, quorum.epoch, self._successors, quorum.endpoints)
        for voter in quorum.voters.others(quorum.me):
            quorum.send(voter, request, requests.END_VERSION, quorum.config.request_timeout_ms, self._end_answered)

    def _end_answered(self, response: Message | None) -> None:
        if isinstance(response, EndQuorumEpochResponse) and response.topics:
            partition = response.topics[0].partitions[0]
            endpoint = requests.told_endpoint(response, partition.leader_id)
            self.quorum.learn(partition.leader_epoch, partition.leader_id, endpoint)

    # -- hearing

    def begins(
        self, request: BeginQuorumEpochRequest, partition: begin_quorum_epoch_request.PartitionData
    ) -> BeginQuorumEpochResponse:
        """Another replica says that it leads."""
        quorum = self.quorum
        code = ErrorCode.NONE
        if not quorum.addressed(request.voter_id, partition.voter_directory_id):
            code = ErrorCode.INVALID_VOTER_KEY
        elif partition.leader_epoch < quorum.epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        elif (
            partition.leader_id == quorum.me.id
            or not quorum.believes(partition.leader_epoch)
            or (partition.leader_epoch == quorum.epoch and quorum.leader_id not in (NO_NODE, partition.leader_id))
        ):
            code = ErrorCode.INVALID_REQUEST
        else:
            told = [Endpoint(e.name, e.host, e.port) for e in request.leader_endpoints]
            quorum.learn(partition.leader_epoch, partition.leader_id, told[0] if told else None)
        return requests.begin_answer(code, quorum.vouched_leader, quorum.epoch, quorum.leader_endpoint())

    def ends(
        self, request: EndQuorumEpochRequest, partition: end_quorum_epoch_request.PartitionData
    ) -> EndQuorumEpochResponse:
        """The leader says that it stops: whoever has most of the log stands first."""
        quorum = self.quorum
        code = ErrorCode.NONE
        if partition.leader_epoch < quorum.epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        elif partition.leader_id == quorum.me.id or not quorum.believes(partition.leader_epoch):
            code = ErrorCode.INVALID_REQUEST
        else:
            quorum.learn(partition.leader_epoch, partition.leader_id, None)
            role = quorum.role
            if isinstance(role, Follower) and quorum.may_stand and role.leader_id == partition.leader_id:
                quorum.heard_leader(role.leader_id)
                role.suspect = True
                order = [candidate.candidate_id for candidate in partition.preferred_candidates]
                order = order or list(partition.preferred_successors)  # version 0
                place = order.index(quorum.me.id) if quorum.me.id in order else len(order)
                quorum.arm(self._pause_ms(place), self.stand)
        return requests.end_answer(code, quorum.vouched_leader, quorum.epoch, quorum.leader_endpoint())

    def _pause_ms(self, place: int) -> int:
        """The first stands at once, the others give it time."""
        if place == 0:
            return 0
        quorum = self.quorum
        return quorum.entropy.below(max(1, min(quorum.config.election_backoff_max_ms, 100 << min(place, 8)))) + 50
