"""The state of one classic group: its members, its generation, and the legal transitions between its five states.

Handlers in this package change it; nothing here answers a request by itself except where a member is replaced. Member
order is the order of joining, so that everything that follows from it is the same in every run.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.classic.ledger import MEMBER_BYTES, Ledger
from tapelog.coordinators.classic.member import ClassicMember, Protocols
from tapelog.coordinators.classic.subscription import CONSUMER, subscribed_topics
from tapelog.coordinators.outcome import Reply
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

EMPTY: Final = "Empty"
PREPARING_REBALANCE: Final = "PreparingRebalance"
COMPLETING_REBALANCE: Final = "CompletingRebalance"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

TRANSITIONS: Final[dict[str, tuple[str, ...]]] = {
    EMPTY: (PREPARING_REBALANCE, DEAD),
    PREPARING_REBALANCE: (COMPLETING_REBALANCE, EMPTY, DEAD),
    COMPLETING_REBALANCE: (STABLE, PREPARING_REBALANCE, DEAD),
    STABLE: (PREPARING_REBALANCE, DEAD),
    DEAD: (DEAD,),
}
"""From each state, the states a group may go to."""


class ClassicGroup:
    """One group and its members."""

    def __init__(self, group_id: str, state: str, state_since_ms: int) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = DEAD
        self.state_since_ms = state_since_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_joins: dict[str, None] = {}
        self.pending_syncs: dict[str, None] = {}
        self.subscribed: frozenset[str] | None = None
        self.new_member_added = False
        self.joined = 0
        self.held_bytes = 0
        """About what its members take in memory."""
        self._ledger: Ledger | None = None
        self._speakers: dict[str, int] = {}

    # -- questions

    def is_in(self, *states: str) -> bool:
        """The group is in one of these states."""
        return self.state in states

    @property
    def is_consumer_group(self) -> bool:
        """Its members speak the consumer protocol, so their subscriptions can be read."""
        return self.protocol_type == CONSUMER

    @property
    def all_joined(self) -> bool:
        """Everybody known has joined, and nobody who was given an id is still on the way."""
        return not self.pending_joins and self.joined == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """A member speaking these could join: same type, and one protocol that all members speak."""
        if self.state == EMPTY:
            return bool(protocol_type) and bool(protocols)
        return self.protocol_type == protocol_type and any(
            self._speakers.get(name, 0) == len(self.members) for name, _ in protocols
        )

    def select_protocol(self) -> str:
        """The common protocol with most votes; among equals the one voted for first."""
        candidates = [name for name, speakers in self._speakers.items() if speakers == len(self.members)]
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def is_subscribed_to(self, topic: str) -> bool:
        """Some member reads that topic. A consumer group whose subscriptions cannot be read may read anything."""
        return self.is_consumer_group if self.subscribed is None else topic in self.subscribed

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member of that identity. UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if its place was taken over."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def check_generation(self, member: ClassicMember, generation: int) -> None:
        """ILLEGAL_GENERATION if the member is not in that one. Until it has joined again, one that was a member of a
        consumer group may name its epoch: it is behind, and yet loses nothing of what it owns."""
        if generation != self.generation and generation != member.former_epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)

    @property
    def sent_bytes(self) -> int:
        """What its members sent, all their protocols together."""
        return self.held_bytes - MEMBER_BYTES * len(self.members)

    # -- changes

    def transition(self, state: str, now_ms: int) -> None:
        """Go to another state; refuses what the table does not allow."""
        assert state in TRANSITIONS[self.state], f"group {self.group_id}: {self.state} to {state} is not a transition"
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def add(self, member: ClassicMember, reply: Reply[JoinGroupResponse] | None) -> None:
        """A new member, parked in this rebalance if there is a reply to give."""
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members, "a static member is replaced, not added"
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self.park_join(member, reply)
        self.pending_joins.pop(member.member_id, None)

    def update(
        self,
        member: ClassicMember,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        reply: Reply[JoinGroupResponse] | None,
    ) -> None:
        """A known member joined again, perhaps with other wishes."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self.park_join(member, reply)

    def park_join(self, member: ClassicMember, reply: Reply[JoinGroupResponse] | None) -> None:
        """Let the member wait for the end of the joining phase (or, with None, not any more)."""
        if reply is not None:
            member.former_epoch = None
        self.joined += (reply is not None) - (member.awaiting_join is not None)
        member.awaiting_join = reply

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> bool:
        """Answer the member's parked JoinGroup, if there is one."""
        reply = member.awaiting_join
        self.park_join(member, None)
        if reply is not None:
            reply.answer(response)
        return reply is not None

    def enter(self, ledger: Ledger | None) -> None:
        """What it holds counts there from now on (or, with None, nowhere)."""
        if self._ledger is not None:
            self._ledger.held_bytes -= self.held_bytes
        if ledger is not None:
            ledger.held_bytes += self.held_bytes
        self._ledger = ledger

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        size = change * (MEMBER_BYTES + sum([len(data) for _, data in member.protocols]))
        self.held_bytes += size
        if self._ledger is not None:
            self._ledger.held_bytes += size
        for name, _ in member.protocols:
            self._speakers[name] = self._speakers.get(name, 0) + change
            if self._speakers[name] == 0:
                del self._speakers[name]

    def remove(self, member_id: str) -> None:
        """Forget a member or a pending id; another member leads if it was the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            self.park_join(member, None)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)

    def replace_static(self, instance_id: str, new_id: str) -> ClassicMember:
        """A static member came back under a new id: its old self is fenced, assignment and leadership stay."""
        old = self.members.pop(self.static_members[instance_id])
        self.answer_join(old, JoinGroupResponse(member_id=old.member_id, error_code=ErrorCode.FENCED_INSTANCE_ID))
        answer_sync(old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member = old.renamed(new_id)
        self.members[new_id] = member
        if self.leader == old.member_id:
            self.leader = new_id
        self.static_members[instance_id] = new_id
        self.pending_syncs.pop(old.member_id, None)
        return member

    def elect_joined_leader(self) -> bool:
        """See that the leader is a member that joined; False if none has."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader = member.member_id
                return True
        return False

    def next_generation(self, now_ms: int) -> None:
        """The joining phase is over: choose the protocol and wait for the leader, or be empty."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed = self.compute_subscribed()
        self.transition(COMPLETING_REBALANCE if self.members else EMPTY, now_ms)
        self.pending_syncs.clear()

    def compute_subscribed(self) -> frozenset[str] | None:
        """The topics all members together subscribe to; None if that cannot be known."""
        if self.protocol_type != CONSUMER:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        return subscribed_topics([member.metadata(self.protocol) for member in self.members.values()])

    def roster(self) -> list[JoinGroupResponseMember]:
        """What the leader needs to assign: everybody, with the metadata of the chosen protocol."""
        assert self.protocol is not None
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol),
            )
            for member in self.members.values()
        ]

    def invariants(self) -> None:
        """What must hold between any two operations."""
        assert self.leader is None or self.leader in self.members
        assert (self.leader is None) == (not self.members)
        assert all(self.members[m].instance_id == i for i, m in self.static_members.items())
        assert not any(member_id in self.members for member_id in self.pending_joins)
        assert all(member_id in self.members for member_id in self.pending_syncs)
        assert self.state != EMPTY or not self.members
        assert not self.is_in(COMPLETING_REBALANCE, STABLE) or (self.members and self.protocol is not None)
        assert self.joined == sum(1 for m in self.members.values() if m.awaiting_join is not None)
        waiting = [m for m in self.members.values() if m.awaiting_sync is not None]
        assert not waiting or self.state == COMPLETING_REBALANCE


def answer_sync(member: ClassicMember, response: SyncGroupResponse) -> bool:
    """Answer the member's parked SyncGroup, if there is one."""
    reply, member.awaiting_sync = member.awaiting_sync, None
    if reply is not None:
        reply.answer(response)
    return reply is not None
