"""Raft: the metadata quorum's machine behind one door.

The node calls `start`, hands in requests that came, calls `written` and `durable` when the log's file or disk has more,
and `append` while this replica leads. Everything else it hears from its Listener. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Clock, DiskError, Entropy
from tapelog.base.timers import Timers
from tapelog.raft import describe
from tapelog.raft.election import Elections
from tapelog.raft.following import Following
from tapelog.raft.joining import Joining
from tapelog.raft.leading import Leading
from tapelog.raft.membership import Membership
from tapelog.raft.ports import Listener, QuorumStore, RaftLog, Send, Snapshots
from tapelog.raft.quorum import Quorum
from tapelog.raft.requests import TOPIC
from tapelog.raft.roles import Follower, Leader, Resigned, Role
from tapelog.raft.serving import Reply, Serving
from tapelog.raft.values import NO_NODE, Endpoint, RaftConfig, ReplicaKey
from tapelog.raft.values import Leader as LeaderView
from tapelog.raft.voters import VoterSet
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest
from tapelog.wire.messages.describe_quorum_response import DescribeQuorumResponse
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_request import UpdateRaftVoterRequest
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse

FIRST_LOOK_MS: Final = 50
"""A voter that starts asks for pre-votes after at most this: if there is a leader, that is how it hears of it."""


class Raft:
    """See the module. `configured` are the voters as long as the log names none; `bootstrap`: others that may know."""

    def __init__(
        self,
        node_id: int,
        directory_id: bytes,
        cluster_id: str,
        config: RaftConfig,
        log: RaftLog,
        store: QuorumStore,
        snapshots: Snapshots,
        send: Send,
        timers: Timers,
        clock: Clock,
        entropy: Entropy,
        listener: Listener,
        configured: VoterSet,
        endpoints: tuple[Endpoint, ...] = (),
        bootstrap: tuple[Endpoint, ...] = (),
        trouble: Callable[[DiskError], None] | None = None,
        wrong_cluster: Callable[[], None] | None = None,
    ) -> None:
        me = ReplicaKey(node_id, directory_id)
        self.quorum = Quorum(
            me,
            cluster_id,
            config,
            log,
            store,
            snapshots,
            send,
            timers,
            clock,
            entropy,
            listener,
            configured,
            endpoints,
            bootstrap,
        )
        self.quorum.on_enter = self._entered
        self.quorum.on_advance = self._advanced
        if trouble is not None:
            self.quorum.trouble = trouble
        if wrong_cluster is not None:
            self.quorum.wrong_cluster = wrong_cluster
        self.elections = Elections(self.quorum)
        self.leading = Leading(self.quorum, self.elections.stand)
        self.serving = Serving(self.quorum, self.leading.count)
        self.following = Following(self.quorum, self.elections.stand)
        self.membership = Membership(self.quorum, self.leading)
        self.joining = Joining(self.quorum)

    # -- life

    def start(self) -> None:
        """Take up what disk and log tell. The only voter leads at once; everything it has on disk is committed."""
        quorum = self.quorum
        self.mend_log()
        quorum.restore()
        if quorum.voters.only(quorum.me):
            quorum.high_watermark = quorum.log.durable_end
            quorum.listener.committed(quorum.high_watermark)
        if quorum.leader_id == quorum.me.id:
            quorum.role = Resigned()
        if quorum.voters.only(quorum.me):
            self.elections.stand()
        elif quorum.leader_id not in (NO_NODE, quorum.me.id):
            quorum.become_follower(quorum.epoch, quorum.leader_id, None)
        else:
            self.following.entered(quorum.role)
        if not isinstance(quorum.role, Leader) and quorum.may_stand:
            quorum.arm(1 + quorum.entropy.below(FIRST_LOOK_MS), self.elections.stand)

    def mend_log(self) -> None:
        """A crash between a downloaded snapshot and the log that begins behind it: the snapshot counts."""
        quorum = self.quorum
        for offset, epoch in quorum.snapshots.list()[-1:]:
            if quorum.log.end_offset < offset or quorum.log.last_epoch < epoch:
                quorum.log.restart_at(offset, epoch, lambda: True, _raise)

    def stop(self) -> None:
        """A clean shutdown: a leader names its successors. Nothing happens here afterwards."""
        if self.quorum.leading is not None:
            self.leading.resign()
        self.close()

    def close(self) -> None:
        """Nothing happens here any more."""
        self.quorum.closed = True
        self.quorum.disarm()

    # -- what is known

    @property
    def leader(self) -> LeaderView | None:
        """Who leads; None while unknown."""
        quorum = self.quorum
        if not isinstance(quorum.role, Leader | Follower):
            return None
        return LeaderView(quorum.leader_id, quorum.epoch, quorum.leader_endpoint())

    @property
    def epoch(self) -> int:
        """The newest epoch heard of."""
        return self.quorum.epoch

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads."""
        return self.quorum.leading is not None

    @property
    def high_watermark(self) -> int:
        """Everything below is committed."""
        return self.quorum.high_watermark

    @property
    def known_high_watermark(self) -> int:
        """What the quorum had committed when this replica last heard of it; -1 if it has not heard yet."""
        quorum, leader = self.quorum, self.quorum.leading
        if leader is not None:
            fresh = quorum.high_watermark > leader.start_offset or quorum.voters.only(quorum.me)
            return quorum.high_watermark if fresh else -1
        told = self.following.told_high_watermark
        return told if told > 0 else -1

    @property
    def predecessor(self) -> tuple[int, int] | None:
        """As leader: who led before, and when (monotonic) it was last heard of; None if this replica knows of nobody
        who led since itself."""
        return self.quorum.predecessor

    @property
    def kraft_version(self) -> int:
        """1 once the log says who votes, so that voters may change; 0 while only the configuration does."""
        return 1 if self.quorum.history.latest_offset >= 0 else 0

    @property
    def voters(self) -> VoterSet:
        """Who votes."""
        return self.quorum.voters

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """Who voted according to the log below end_offset: what a snapshot there must say."""
        return self.quorum.history.at(end_offset)

    # -- the log

    def append(self, batch: bytes) -> int:
        """As leader: append one batch; returns the end of the log. It is committed when the Listener says so."""
        return self.leading.append(batch)

    def written(self) -> None:
        """More of the log can be read."""
        if self.quorum.leading is not None:
            self.serving.look()

    def durable(self) -> None:
        """More of the log is on disk."""
        self.leading.count()
        self.following.durable()

    def write_failed(self) -> None:
        """The log took back what it could not write. A leader with company lets somebody else try."""
        quorum = self.quorum
        quorum.history.truncate(quorum.log.end_offset)
        self.membership.taken_back()
        leader = quorum.leading
        if leader is not None:
            leader.progress.change_voters(quorum.voters, quorum.clock.monotonic_ms())
            if quorum.log.end_offset <= leader.start_offset or not quorum.voters.only(quorum.me):
                self.leading.resign()
        else:
            self.following.write_failed()

    # -- requests

    def vote(self, request: VoteRequest) -> VoteResponse:
        """Vote, versions 0 to 2."""
        if not self._ours(request.cluster_id):
            return VoteResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.topics[0].topic_name != TOPIC:
            return VoteResponse(error_code=int(ErrorCode.INVALID_REQUEST))
        try:
            return self.elections.vote(request, request.topics[0].partitions[0])
        except DiskError as error:
            self.quorum.trouble(error)
            return VoteResponse(error_code=int(ErrorCode.KAFKA_STORAGE_ERROR))

    def begin_quorum_epoch(self, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
        """BeginQuorumEpoch, versions 0 and 1."""
        if not self._ours(request.cluster_id):
            return BeginQuorumEpochResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.topics[0].topic_name != TOPIC:
            return BeginQuorumEpochResponse(error_code=int(ErrorCode.INVALID_REQUEST))
        try:
            return self.leading.begins(request, request.topics[0].partitions[0])
        except DiskError as error:
            self.quorum.trouble(error)
            return BeginQuorumEpochResponse(error_code=int(ErrorCode.KAFKA_STORAGE_ERROR))

    def end_quorum_epoch(self, request: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
        """EndQuorumEpoch, versions 0 and 1."""
        if not self._ours(request.cluster_id):
            return EndQuorumEpochResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.topics[0].topic_name != TOPIC:
            return EndQuorumEpochResponse(error_code=int(ErrorCode.INVALID_REQUEST))
        try:
            return self.leading.ends(request, request.topics[0].partitions[0])
        except DiskError as error:
            self.quorum.trouble(error)
            return EndQuorumEpochResponse(error_code=int(ErrorCode.KAFKA_STORAGE_ERROR))

    def fetch(self, request: FetchRequest, done: Reply) -> None:
        """Fetch of the metadata log, versions 12 to 18; done is called now or when there is something."""
        if not self._ours(request.cluster_id):
            done(FetchResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID)))
            return
        self.serving.fetch(request, request.topics[0].partitions[0], done)

    def fetch_snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        """FetchSnapshot, versions 0 and 1."""
        if not self._ours(request.cluster_id):
            return FetchSnapshotResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.topics[0].name != TOPIC:
            return FetchSnapshotResponse(error_code=int(ErrorCode.INVALID_REQUEST))
        return self.serving.fetch_snapshot(request, request.topics[0].partitions[0])

    def describe_quorum(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        """DescribeQuorum, versions 0 to 2."""
        return describe.describe(self.quorum, request)

    def add_voter(self, request: AddRaftVoterRequest, done: Callable[[KafkaError | None], None]) -> None:
        """AddRaftVoter, versions 0 and 1."""
        self.membership.add(request, done)

    def remove_voter(self, request: RemoveRaftVoterRequest, done: Callable[[KafkaError | None], None]) -> None:
        """RemoveRaftVoter, version 0."""
        self.membership.remove(request, done)

    def update_voter(self, request: UpdateRaftVoterRequest, done: Callable[[KafkaError | None], None]) -> None:
        """UpdateRaftVoter, version 0."""
        self.membership.update(request, done)

    def invariants(self) -> None:
        """What must hold after every step."""
        quorum, log = self.quorum, self.quorum.log
        assert quorum.high_watermark <= log.end_offset, (quorum.high_watermark, log.end_offset)
        assert log.last_epoch <= quorum.epoch
        assert quorum.history.latest_offset < log.end_offset or quorum.history.latest_offset < 0
        if isinstance(quorum.role, Leader):
            assert quorum.leader_id == quorum.me.id
        if isinstance(quorum.role, Follower):
            assert quorum.leader_id == quorum.role.leader_id != quorum.me.id

    # -- inside

    def _ours(self, cluster_id: str | None) -> bool:
        return cluster_id is None or cluster_id == self.quorum.cluster_id

    def _entered(self, role: Role) -> None:
        self.serving.entered(role)
        self.membership.entered(role)
        for part in (self.elections, self.leading, self.following, self.joining):
            if self.quorum.role is role:
                part.entered(role)

    def _advanced(self) -> None:
        self.serving.look()
        self.membership.advanced()


def _raise(error: DiskError | None) -> None:
    if error is not None:
        raise error
