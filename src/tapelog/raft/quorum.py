"""The replica at the centre of the quorum's machine: its epoch, role, vote, log and high watermark.

Every change of role or epoch goes through the `become_…` methods here, which make durable what must be before anybody
is told. What a role does (asking for votes, leading, fetching) is told in `on_enter` to whoever does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base import ids
from tapelog.base.ports import Clock, DiskError, Entropy
from tapelog.base.timers import Timer, Timers
from tapelog.raft import state_file
from tapelog.raft.history import VoterHistory
from tapelog.raft.ports import Listener, QuorumStore, RaftLog, Send, Snapshots
from tapelog.raft.progress import Progress
from tapelog.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached, check
from tapelog.raft.state_file import ElectionState
from tapelog.raft.values import NO_NODE, Endpoint, OffsetEpoch, RaftConfig, ReplicaKey
from tapelog.raft.voters import Voter, VoterSet
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message

EPOCH_MAX: Final = (1 << 31) - 1
"""The last epoch that fits into a message: nobody stands for election behind it."""
EPOCH_JUMP_MAX: Final = 1 << 24
"""More elections than this cannot have been held while a replica was away: it has heard a mistake."""

_OTHER_CLUSTER: Final = int(ErrorCode.INCONSISTENT_CLUSTER_ID)


class Quorum:
    """See the module."""

    def __init__(
        self,
        me: ReplicaKey,
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
    ) -> None:
        self.me = me
        self.cluster_id = cluster_id
        self.config = config
        self.log = log
        self.store = store
        self.snapshots = snapshots
        self.timers = timers
        self.clock = clock
        self.entropy = entropy
        self.listener = listener
        self.endpoints = endpoints
        self.bootstrap = bootstrap
        self.history = VoterHistory(configured)
        self.state = ElectionState()
        self.role: Role = Unattached()
        self.high_watermark = 0
        self.lost_elections = 0
        self.last_leader = NO_NODE
        """The leader that this replica last knew; -1 while it is itself the last one."""
        self.last_leader_ms = 0
        """When it was last heard of, by the monotonic clock."""
        self.predecessor: tuple[int, int] | None = None
        """As leader: who led before, and when it was last heard of; None if that was long ago, or this replica."""
        self.closed = False
        self.trouble: Callable[[DiskError], None] = _ignore
        self.wrong_cluster: Callable[[], None] = _nothing
        """Called when a majority of the others says that it is another cluster, and this replica was in none yet."""
        self.on_enter: Callable[[Role], None] = _ignore
        self.on_advance: Callable[[], None] = _nothing
        self._send = send
        self._deadline: Timer | None = None
        self._told = (NO_NODE, 0)
        self._strangers: dict[tuple[str, int], None] | None = {}

    # -- what is known

    @property
    def epoch(self) -> int:
        """The newest epoch this replica has heard of."""
        return self.state.epoch

    @property
    def leader_id(self) -> int:
        """The epoch's leader; -1 if unknown."""
        return self.state.leader_id

    @property
    def voters(self) -> VoterSet:
        """Who votes, by the newest record in the log."""
        return self.history.latest

    @property
    def is_voter(self) -> bool:
        """Whether this replica is among them."""
        return self.me in self.voters

    @property
    def may_stand(self) -> bool:
        """Whether this replica holds elections: as a voter, or as one whose removal is not known to be committed. It
        may be the only one with the whole log, and then nobody else can be elected to commit its removal."""
        if self.epoch >= EPOCH_MAX:
            return False
        if self.is_voter:
            return True
        return self.history.latest_offset >= self.high_watermark and self.me in self.history.before

    @property
    def leading(self) -> Leader | None:
        """The leader's state while this replica leads."""
        return self.role if isinstance(self.role, Leader) else None

    @property
    def vouched_leader(self) -> int:
        """The leader this replica would send others to: not one it has not heard from, or no more."""
        role = self.role
        if isinstance(role, Leader):
            return self.me.id
        return role.leader_id if isinstance(role, Follower) and role.fetched and not role.suspect else NO_NODE

    def leader_endpoint(self) -> Endpoint | None:
        """Where the leader can be reached."""
        if isinstance(self.role, Leader):
            return self.endpoints[0] if self.endpoints else None
        if isinstance(self.role, Follower) and self.role.endpoint is not None:
            return self.role.endpoint
        voter = self.voters.get(self.leader_id)
        return voter.endpoint if voter is not None else None

    def end(self) -> OffsetEpoch:
        """Where the log ends, and its last epoch."""
        return OffsetEpoch(self.log.end_offset, self.log.last_epoch)

    def believes(self, epoch: int) -> bool:
        """Whether somebody may be in that epoch."""
        return epoch <= min(self.epoch + EPOCH_JUMP_MAX, EPOCH_MAX)

    def addressed(self, voter_id: int, directory_id: bytes) -> bool:
        """Whether a request to that voter is meant for this replica. Early versions name no voter, or no directory."""
        return voter_id in (NO_NODE, self.me.id) and directory_id in (ids.ZERO, self.me.directory_id)

    # -- changes of role

    def become_unattached(self, epoch: int, voted: ReplicaKey | None = None) -> None:
        """A newer epoch without a leader known; or a vote given in this one."""
        assert epoch > self.epoch or (epoch == self.epoch and self.leader_id == NO_NODE)
        self._remember(ElectionState(epoch, NO_NODE, voted))
        self._enter(Unattached())

    def become_follower(self, epoch: int, leader_id: int, endpoint: Endpoint | None) -> None:
        """The epoch's leader is known."""
        assert leader_id != self.me.id
        assert epoch > self.epoch or (epoch == self.epoch and self.leader_id in (NO_NODE, leader_id))
        voted = self.state.voted if epoch == self.epoch else None
        news = epoch > self.epoch or self.last_leader != leader_id
        self._remember(ElectionState(epoch, leader_id, voted))
        if news:
            self.heard_leader(leader_id)
        self._enter(Follower(leader_id, endpoint))

    def become_prospective(self) -> None:
        """Ask for pre-votes, within the same epoch."""
        self._enter(Prospective())

    def become_candidate(self) -> None:
        """Begin an epoch and vote for oneself in it."""
        self._remember(ElectionState(self.epoch + 1, NO_NODE, self.me))
        self._enter(Candidate())

    def become_leader(self) -> None:
        """A majority voted for this replica."""
        progress = Progress(self.me, self.voters, self.clock.monotonic_ms())
        self._remember(ElectionState(self.epoch, self.me.id, self.state.voted))
        self.lost_elections = 0
        granted = list(self.role.granted) if isinstance(self.role, Candidate) else []
        self.predecessor = None if self.last_leader == NO_NODE else (self.last_leader, self.last_leader_ms)
        self.last_leader = NO_NODE
        self._enter(Leader(self.log.end_offset, progress, granted))

    def become_resigned(self) -> None:
        """Lead no more; the epoch stays, and so does the vote."""
        self._enter(Resigned())

    def learn(self, epoch: int, leader_id: int, endpoint: Endpoint | None) -> None:
        """Somebody spoke of an epoch and perhaps of its leader: follow what is newer."""
        if leader_id == self.me.id:
            leader_id = NO_NODE  # an earlier life of this node
        if not self.believes(epoch):
            return
        if epoch > self.epoch:
            if leader_id != NO_NODE:
                self.become_follower(epoch, leader_id, endpoint)
            else:
                self.become_unattached(epoch)
        elif (
            epoch == self.epoch
            and leader_id != NO_NODE
            and self.leader_id in (NO_NODE, leader_id)
            and not isinstance(self.role, Leader | Follower)
        ):
            self.become_follower(epoch, leader_id, endpoint)

    def heard_leader(self, leader_id: int) -> None:
        """A sign of life of the leader."""
        self.last_leader, self.last_leader_ms = leader_id, self.clock.monotonic_ms()

    def cast_vote(self, candidate: ReplicaKey) -> None:
        """Vote in this epoch: on disk before it is told."""
        assert self.state.voted in (None, candidate) and self.leader_id == NO_NODE
        if self.state.voted is None:
            self.become_unattached(self.epoch, candidate)

    def advance(self, high_watermark: int) -> None:
        """More is committed."""
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.on_advance()
            self.listener.committed(high_watermark)

    # -- time and messages

    def arm(self, delay_ms: int, action: Callable[[], None]) -> None:
        """The role's one deadline: action in delay_ms, unless the role changes or another is set."""
        self.disarm()
        role = self.role

        def due() -> None:
            if self.role is not role or self.closed:
                return
            try:
                action()
            except DiskError as error:
                self.trouble(error)
                if self.role is role and not self.closed:
                    self.arm(self.config.election_timeout_ms, action)

        self._deadline = self.timers.after(delay_ms, due)

    def disarm(self) -> None:
        """No deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def later(self, delay_ms: int, action: Callable[[], None]) -> Timer:
        """Action in delay_ms, if the role is still the same then."""
        role = self.role

        def due() -> None:
            if self.role is role and not self.closed:
                try:
                    action()
                except DiskError as error:
                    self.trouble(error)

        return self.timers.after(delay_ms, due)

    def send(
        self, voter: Voter, request: Message, version: int, timeout_ms: int, done: Callable[[Message | None], None]
    ) -> None:
        """A request to another voter; done gets its response, or None."""
        endpoint = voter.endpoint
        if endpoint is None:
            self.timers.after(0, lambda: done(None))
            return
        self.send_to(voter.key.id, endpoint, request, version, timeout_ms, done)

    def send_to(
        self,
        node_id: int,
        endpoint: Endpoint,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """The same, by address."""

        def came(response: Message | None) -> None:
            if self.closed:
                return
            if getattr(response, "error_code", 0) == _OTHER_CLUSTER:
                self._met_stranger((endpoint.host, endpoint.port))
            try:
                done(response)
            except DiskError as error:
                self.trouble(error)

        self._send(node_id, endpoint, request, version, timeout_ms, came)

    def random_ms(self, base_ms: int) -> int:
        """Between base_ms and twice that."""
        return base_ms + self.entropy.below(max(1, base_ms))

    # -- inside

    def _met_stranger(self, address: tuple[str, int]) -> None:
        """One wrong address is somebody's mistake; if it is most of them, it is ours."""
        if self._strangers is None:
            return
        self._strangers[address] = None
        if len(self._strangers) >= max(1, len(self.voters.others(self.me)) // 2 + 1):
            self._strangers = None
            self.wrong_cluster()

    def restore(self) -> None:
        """At start: what disk and log tell."""
        data = self.store.read()
        if data is not None:
            self.state = state_file.parse(data)
        self.history.load(self.log, self.snapshots)
        if self.log.last_epoch > self.epoch:
            self.state = ElectionState(self.log.last_epoch)

    def _remember(self, state: ElectionState) -> None:
        if state != self.state:
            self.store.write(state_file.render(state))
            self.state = state

    def _enter(self, role: Role) -> None:
        check(self.role, role)
        if isinstance(role, Leader | Follower):
            self._strangers = None
        before, self.role = self.role, role
        self.disarm()
        if isinstance(before, Leader):
            self.listener.resigned()
        leader = (NO_NODE if isinstance(role, Resigned) else self.leader_id, self.epoch)
        self.on_enter(role)
        if leader != self._told and self.role is role:
            self._told = leader
            self.listener.leader_is(*leader)


def _ignore(_: object) -> None:
    pass


def _nothing() -> None:
    pass
