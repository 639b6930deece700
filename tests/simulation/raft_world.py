"""The quorum alone, in virtual time, over a net that loses, repeats, delays and reorders messages one way or both, with
crashes, pauses, full disks, wiped disks, snapshots and changing voters. One seed, one run; every claim is checked.

What must hold: one leader per epoch; what anybody was told is committed stays, at the same place, on a majority of
disks, in the log of every later leader; logs that agree somewhere agree before it; and when the faults end, somebody
leads and everybody catches up.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tapelog.base.timers import Timers
from tapelog.raft import state_file
from tapelog.raft.machine import Raft
from tapelog.raft.values import Endpoint, ReplicaKey
from tapelog.raft.voters import Voter, VoterSet
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.wire import record_batch
from tapelog.wire.errors import KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from tapelog.wire.messages.add_raft_voter_request import Listener as NewListener
from tapelog.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from tapelog.wire.messages.update_raft_voter_request import UpdateRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_response import UpdateRaftVoterResponse
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse
from tapelog.wire.reader import Reader
from tests.simulation.raft_node import CLUSTER as CLUSTER
from tests.simulation.raft_node import CONFIG as CONFIG
from tests.simulation.raft_node import Node as Node

EVENTS_MAX = 200_000


class World:
    """Nodes, a net and a calendar."""

    def __init__(self, seed: int, nodes: int = 3, spares: int = 0, wire: bool = False) -> None:
        self.seed = seed
        self.entropy = SimEntropy(seed)
        self.clock = SimClock()
        self.wire = wire
        self.config = CONFIG
        self.cluster_of: dict[int, str] = {}
        self.events: dict[str, int] = {}
        self.trace: list[str] = []
        self.digests: dict[int, int] = {0: 0}
        self.voters: dict[int, VoterSet | None] = {}
        self.entries: dict[int, tuple[int, int]] = {}
        self.commit_end = 0
        self.leaders: dict[int, int] = {}
        self.lost_keys: dict[ReplicaKey, None] = {}
        self.cuts: dict[tuple[int, int], None] = {}
        self.loss_percent = 0
        self.duplicate_percent = 0
        self.late_percent = 0
        self.latency_ms = 6
        self.disk_full_percent = 0
        self.crash_after_vote_percent = 0
        self.removable_from = 4
        self._heap: list[tuple[int, int, Node | None, Callable[[], None]]] = []
        self._created = 0
        self._ran = 0
        self.configured = VoterSet()
        self.nodes = [Node(self, id) for id in range(1, nodes + spares + 1)]
        self.configured = VoterSet([Voter(node.key, [node.endpoint]) for node in self.nodes[:nodes]])
        self.proposed = 0

    # -- time

    def at(self, delay_ms: int, node: Node | None, action: Callable[[], None]) -> None:
        """Call action in delay_ms."""
        self._created += 1
        heapq.heappush(self._heap, (self.clock.monotonic_ms() + delay_ms, self._created, node, action))

    def run(self, for_ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; whether `until` came true (checked after each event)."""
        end_ms = self.clock.monotonic_ms() + for_ms
        while True:
            if until is not None and until():
                return True
            best_ms, actor = end_ms + 1, None
            for node in self.nodes:
                due_ms = node.timers.next_due_ms() if node.raft is not None else None
                if due_ms is not None:
                    due_ms = max(due_ms, node.paused_until_ms)
                    if due_ms < best_ms:
                        best_ms, actor = due_ms, node
            message = bool(self._heap) and self._heap[0][0] < best_ms
            now_ms = self.clock.monotonic_ms()
            if message:
                best_ms = self._heap[0][0]
            if best_ms > end_ms:
                self.clock.advance(end_ms - now_ms)
                return False
            self.clock.advance(max(0, best_ms - now_ms))
            self._ran += 1
            assert self._ran < EVENTS_MAX, "this goes on and on"
            if message:
                self._deliver()
            elif actor is not None:
                actor.timers.run_due()
                actor.settle()

    def _deliver(self) -> None:
        _, _, node, action = heapq.heappop(self._heap)
        now_ms = self.clock.monotonic_ms()
        if node is not None and node.paused_until_ms > now_ms:
            self.at(node.paused_until_ms - now_ms, node, action)
            return
        action()
        if node is not None:
            node.settle()

    # -- the net

    def send(
        self,
        source: Node,
        life: Timers,
        node_id: int,
        endpoint: Endpoint,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """A request goes its way; what becomes of it is chance."""
        target = self.nodes[endpoint.port - 1]
        open = [True]

        def finish(response: Message | None) -> None:
            if open[0] and source.timers is life and source.raft is not None:
                open[0] = False
                done(response)

        life.after(timeout_ms, lambda: finish(None))

        def answered(response: Message) -> None:
            if isinstance(request, VoteRequest) and isinstance(response, VoteResponse):
                self.check_vote(target, request, response)
            if self._passes(target.id, source.id):
                self.at(self._latency_ms(), source, lambda: finish(self._over_the_wire(response, version)))

        def arrive() -> None:
            if target.raft is None:
                if self._passes(target.id, source.id):
                    self.at(1, source, lambda: finish(None))
                return
            self._handle(target.raft, self._over_the_wire(request, version), answered)
            if self.crash_after_vote_percent and isinstance(request, VoteRequest):
                self._crash_after_vote(target, request)

        for _ in range(2 if self.duplicate_percent and self.entropy.chance(self.duplicate_percent) else 1):
            if self._passes(source.id, target.id):
                self.at(self._latency_ms(), target, arrive)

    def _crash_after_vote(self, voter: Node, request: VoteRequest) -> None:
        """Its answer is on its way, and what it has not written down is gone."""
        if not request.topics[0].partitions[0].pre_vote and self.entropy.chance(self.crash_after_vote_percent):
            self.count("crash after a vote")
            voter.crash()
            self.at(self.entropy.below(20), None, lambda: voter.boot() if voter.raft is None else None)

    def _passes(self, source: int, target: int) -> bool:
        return (source, target) not in self.cuts and not (self.loss_percent and self.entropy.chance(self.loss_percent))

    def _latency_ms(self) -> int:
        if self.late_percent and self.entropy.chance(self.late_percent):
            return self.entropy.below(1500)
        return 1 + self.entropy.below(self.latency_ms)

    def _over_the_wire(self, message: Message, version: int) -> Message:
        if not self.wire:
            return message
        data = message.tobytes(version)
        return type(message).decode(Reader(data, 0, len(data)), version)

    def _handle(self, raft: Raft, request: Message, answered: Callable[[Message], None]) -> None:
        if isinstance(request, FetchRequest):
            raft.fetch(request, answered)
        elif isinstance(request, VoteRequest):
            answered(raft.vote(request))
        elif isinstance(request, BeginQuorumEpochRequest):
            answered(raft.begin_quorum_epoch(request))
        elif isinstance(request, EndQuorumEpochRequest):
            answered(raft.end_quorum_epoch(request))
        elif isinstance(request, FetchSnapshotRequest):
            answered(raft.fetch_snapshot(request))
        elif isinstance(request, AddRaftVoterRequest):
            raft.add_voter(request, lambda error: answered(AddRaftVoterResponse(error_code=_code(error))))
        elif isinstance(request, RemoveRaftVoterRequest):
            raft.remove_voter(request, lambda error: answered(RemoveRaftVoterResponse(error_code=_code(error))))
        elif isinstance(request, UpdateRaftVoterRequest):
            raft.update_voter(request, lambda error: answered(UpdateRaftVoterResponse(error_code=_code(error))))
        else:
            raise AssertionError(f"nobody sends {request}")

    # -- what must hold

    def elected(self, node: Node, epoch: int) -> None:
        """One leader per epoch, and it has everything that was committed."""
        assert self.leaders.setdefault(epoch, node.id) == node.id, f"epoch {epoch} has two leaders"
        held = {base: (end, of) for base, end, of, _ in node.log.entries}
        for base, (end, of) in self.entries.items():
            if base >= node.log.start_offset:
                assert held.get(base) == (end, of), f"leader {node.id} of epoch {epoch} lacks {base}, committed in {of}"
        self.note(f"node {node.id} leads epoch {epoch}")

    def committed(self, node: Node, base: int, end: int, epoch: int, state: int) -> None:
        """Everybody is told the same, forever."""
        known = self.entries.setdefault(base, (end, epoch))
        assert known == (end, epoch), f"node {node.id} was told {end, epoch} at {base}, others {known}"
        assert self.digests.setdefault(end, state) == state, f"node {node.id} was told other records before {end}"
        self.commit_end = max(self.commit_end, end)

    def check_vote(self, voter: Node, request: VoteRequest, response: VoteResponse) -> None:
        """A vote is on disk when it is told."""
        asked = request.topics[0].partitions[0]
        if response.topics and response.topics[0].partitions[0].vote_granted and not asked.pre_vote:
            assert voter.disk.vote is not None, f"node {voter.id} voted and did not write it down"
            state = state_file.parse(voter.disk.vote)
            voted = ReplicaKey(asked.replica_id, asked.replica_directory_id)
            assert (state.epoch, state.voted) == (asked.replica_epoch, voted), f"node {voter.id} wrote {state}"

    def check_majority(self, leader: Node, high_watermark: int) -> None:
        """What is committed is on the disks of a majority of the voters."""
        assert leader.raft is not None
        voters = leader.raft.voters
        entry = next((e for e in reversed(leader.log.entries) if e[1] == high_watermark), None)
        if entry is None:
            return
        assert entry[2] == leader.raft.epoch, f"epoch {entry[2]} is committed by counting in {leader.raft.epoch}"
        keys = {node.key: node for node in self.nodes}
        holders = 0
        for voter in voters.voters.values():
            node = keys.get(voter.key)
            if node is not None:
                holders += node.disk.start[0] >= entry[1] or entry in node.disk.entries
            else:
                holders += voter.key in self.lost_keys  # it may have had it
        assert holders >= voters.majority, f"{entry[:3]} is on {holders} disks only"

    def check_logs(self) -> None:
        """Logs that have the same epoch at an offset are the same up to there."""
        for one in self.nodes:
            for other in self.nodes:
                if one.id < other.id and one.raft is not None and other.raft is not None:
                    theirs = {entry[0]: entry for entry in other.log.entries}
                    common = [e for e in one.log.entries if e[0] in theirs]
                    agree = [index for index, e in enumerate(common) if theirs[e[0]][2] == e[2]]
                    last = agree[-1] if agree else -1
                    for entry in common[: last + 1]:
                        assert theirs[entry[0]] == entry, f"logs of {one.id} and {other.id} differ at {entry[0]}"

    # -- what happens

    def leader(self) -> Node | None:
        """The leader with the greatest epoch."""
        leading = [node for node in self.nodes if node.raft is not None and node.epoch_led >= 0]
        return max(leading, key=lambda node: node.epoch_led) if leading else None

    def propose(self, node: Node) -> int:
        """A leader, perhaps only a former one, appends something; returns the end of its log."""
        assert node.raft is not None
        self.proposed += 1
        payload = f"{self.proposed}".encode() + b"x" * self.entropy.below(60)
        end = node.raft.append(record_batch.build_batch([record_batch.Record(0, 0, None, payload)]))
        node.settle()
        return end

    def change_voters(self) -> None:
        """Somebody administers: removes a voter whose disk is lost, or any; adds an observer."""
        leading = [node for node in self.nodes if node.raft is not None and node.epoch_led >= 0]
        if not leading:
            return
        node = leading[self.entropy.below(len(leading))]  # perhaps one that leads no more and does not know
        raft = node.raft
        if raft is None or node.paused_until_ms > self.clock.monotonic_ms():
            return
        lost = [voter.key for voter in raft.voters.voters.values() if voter.key in self.lost_keys]
        observers = [other for other in self.nodes if raft.voters.get(other.id) is None]
        if lost or (len(raft.voters) >= self.removable_from and self.entropy.chance(50)):
            keys = lost or [voter.key for voter in raft.voters.voters.values()]
            key = keys[self.entropy.below(len(keys))]
            request = RemoveRaftVoterRequest(CLUSTER, key.id, key.directory_id)
            raft.remove_voter(request, self._told(f"remove {key.id}"))
        elif observers:
            other = observers[self.entropy.below(len(observers))]
            listener = NewListener(name="CONTROLLER", host="node", port=other.id)
            raft.add_voter(
                AddRaftVoterRequest(CLUSTER, 1000, other.id, other.disk.directory_id, [listener]),
                self._told(f"add {other.id}"),
            )
        node.settle()

    def _told(self, what: str) -> Callable[[KafkaError | None], None]:
        def told(error: KafkaError | None) -> None:
            if error is None:
                self.count("voter added" if what.startswith("add") else "voter removed")
            self.note(f"{what}: {error or 'done'}")

        return told

    def count(self, what: str) -> None:
        """Something worth counting happened."""
        self.events[what] = self.events.get(what, 0) + 1
        self.note(what)

    def note(self, what: str) -> None:
        """For whoever looks at a failure."""
        self.trace.append(f"{self.clock.monotonic_ms()} {what}")


def _code(error: KafkaError | None) -> int:
    return 0 if error is None else int(error.code)
