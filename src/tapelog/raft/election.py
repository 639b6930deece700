"""Elections: pre-votes, votes, and how long one waits before, between and after them.

A replica asks for pre-votes first, in the epoch it is in: only when a majority would vote for it does it begin a new
epoch. So a node that was cut off, or is only slow, disturbs nobody when it comes back. A vote is on disk before it is
told, and names the candidate's disk.
"""

from __future__ import annotations

from typing import Final

from tapelog.raft import requests
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Ballot, Candidate, Follower, Leader, Prospective, Role, Unattached
from tapelog.raft.values import NO_NODE, OffsetEpoch, ReplicaKey
from tapelog.raft.voters import Voter
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.vote_request import PartitionData, VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse

BACKOFF_MS_MIN: Final = 50
"""After a lost election one waits at random up to this, doubled with each, up to the configured most."""
BACKOFF_DOUBLINGS_MAX: Final = 16


class Elections:
    """Who may lead: asks, answers and counts."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum

    # -- asking

    def entered(self, role: Role) -> None:
        """The replica's role changed."""
        quorum = self.quorum
        if isinstance(role, Unattached):
            if quorum.may_stand:
                quorum.arm(quorum.random_ms(quorum.config.election_timeout_ms), self.stand)
        elif isinstance(role, Prospective):
            quorum.arm(quorum.random_ms(quorum.config.election_timeout_ms), self.lost)
            self._ask(role, pre_vote=True)
        elif isinstance(role, Candidate):
            quorum.arm(quorum.random_ms(quorum.config.election_timeout_ms), self.lost)
            self._ask(role, pre_vote=False)

    def stand(self) -> None:
        """Nobody leads, it seems: ask whether one could. The only voter has the answer at once."""
        if self.quorum.may_stand:
            self.quorum.become_prospective()

    def lost(self) -> None:
        """No majority in time: try again, if still a voter."""
        quorum = self.quorum
        quorum.lost_elections += 1
        if quorum.may_stand:
            quorum.become_prospective()
        elif quorum.leader_id == NO_NODE:
            quorum.become_unattached(quorum.epoch, quorum.state.voted)
        else:
            quorum.become_follower(quorum.epoch, quorum.leader_id, None)

    def _ask(self, role: Ballot, pre_vote: bool) -> None:
        quorum = self.quorum
        role.granted[quorum.me] = None
        if self._won(role):
            return
        for voter in quorum.voters.others(quorum.me):
            request = requests.vote(
                quorum.cluster_id, voter.key, quorum.me, quorum.epoch, quorum.end(), pre_vote=pre_vote
            )
            quorum.send(
                voter,
                request,
                requests.VOTE_VERSION,
                quorum.config.request_timeout_ms,
                lambda response, voter=voter: self._answered(role, voter, response),  # type: ignore[misc]
            )

    def _answered(self, role: Ballot, voter: Voter, response: Message | None) -> None:
        quorum = self.quorum
        granted = False
        if isinstance(response, VoteResponse) and response.error_code == 0 and response.topics:
            partition = response.topics[0].partitions[0]
            endpoint = requests.told_endpoint(response, partition.leader_id)
            granted = partition.vote_granted and partition.error_code == 0
            quorum.learn(partition.leader_epoch, partition.leader_id, endpoint)
        if quorum.role is not role:
            return
        if granted:
            role.granted[voter.key] = None
            role.refused.pop(voter.key, None)
            self._won(role)
            return
        role.refused[voter.key] = None
        if self._hopeless(role):
            quorum.arm(self._backoff_ms(), self.lost)

    def _won(self, role: Ballot) -> bool:
        quorum = self.quorum
        if len([key for key in role.granted if key in quorum.voters]) < quorum.voters.majority:
            return False
        if isinstance(role, Prospective):
            quorum.become_candidate()
        else:
            quorum.become_leader()
        return True

    def _hopeless(self, role: Ballot) -> bool:
        """Whether too many refused; the leader whose silence began all this will hardly say yes, so nobody waits for
        it. Should it answer after all, it counts."""
        quorum = self.quorum
        silent = quorum.voters.get(quorum.last_leader)
        missing = silent is not None and silent.key not in role.refused and silent.key not in role.granted
        return len(quorum.voters) - len(role.refused) - missing < quorum.voters.majority

    def _backoff_ms(self) -> int:
        quorum = self.quorum
        most = BACKOFF_MS_MIN << min(quorum.lost_elections, BACKOFF_DOUBLINGS_MAX)
        return 1 + quorum.entropy.below(max(1, min(most, quorum.config.election_backoff_max_ms)))

    # -- answering

    def vote(self, request: VoteRequest, partition: PartitionData) -> VoteResponse:
        """Somebody asks for a vote, or whether it would get one."""
        quorum = self.quorum
        if not quorum.addressed(request.voter_id, partition.voter_directory_id):
            return self._answer(ErrorCode.INVALID_VOTER_KEY, False)
        if not quorum.believes(partition.replica_epoch):
            return self._answer(ErrorCode.INVALID_REQUEST, False)
        if partition.replica_epoch < quorum.epoch:
            return self._answer(ErrorCode.FENCED_LEADER_EPOCH, False)
        if partition.replica_epoch > quorum.epoch:
            quorum.become_unattached(partition.replica_epoch)
        candidate = ReplicaKey(partition.replica_id, partition.replica_directory_id)
        granted = self._would_vote(
            candidate, OffsetEpoch(partition.last_offset, partition.last_offset_epoch), partition.pre_vote
        )
        if granted and not partition.pre_vote:
            quorum.cast_vote(candidate)
        return self._answer(ErrorCode.NONE, granted)

    def _would_vote(self, candidate: ReplicaKey, end: OffsetEpoch, pre_vote: bool) -> bool:
        quorum = self.quorum
        role = quorum.role
        ours = quorum.end()
        if (end.epoch, end.offset) < (ours.epoch, ours.offset):
            return False
        if pre_vote:
            heard = isinstance(role, Follower) and role.fetched and not role.suspect
            return not isinstance(role, Leader) and not heard
        if not isinstance(role, Unattached | Prospective) or quorum.leader_id != NO_NODE:
            return False
        return quorum.state.voted in (None, candidate)

    def _answer(self, code: ErrorCode, granted: bool) -> VoteResponse:
        quorum = self.quorum
        leader = quorum.vouched_leader
        return requests.vote_answer(code, leader, quorum.epoch, granted, quorum.leader_endpoint())
