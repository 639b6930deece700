"""All classic groups of a shard: which exist, what they look like, and how they are written down.

A group exists when the log says so (`GroupState`). While it has members, or ids given to members to come, it also has a
`ClassicGroup` here; otherwise one is made from its record when asked for.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Entropy
from tapelog.coordinators.classic.group import (
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroup,
    answer_sync,
)
from tapelog.coordinators.classic.ledger import PENDING_MAX, Ledger
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.coordinators.config import GroupConfig
from tapelog.coordinators.outcome import ShardContext
from tapelog.coordinators.state import GroupState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.sync_group_response import SyncGroupResponse
from tapelog.wire.records.group_metadata_value import GroupMetadataValue, MemberMetadata

GROUP_TYPE: Final = "classic"


class ClassicGroups:
    """The classic groups of one shard, with what their handlers need."""

    def __init__(
        self, state: GroupState, config: GroupConfig, context: ShardContext, entropy: Entropy, ledger: Ledger
    ) -> None:
        self.state = state
        self.config = config
        self.context = context
        self.entropy = entropy
        self.ledger = ledger
        self.active: dict[str, ClassicGroup] = {}
        self._promised: dict[tuple[str, str], None] = {}

    def find(self, group_id: str) -> ClassicGroup | None:
        """The group, or None if there is none (or one of the newer protocol)."""
        group = self.active.get(group_id)
        if group is not None:
            return group
        if self.state.consumer.exists(group_id):
            return None
        image = self.state.metadata.get(group_id)
        if image is not None:
            return group_from_image(group_id, image)
        return ClassicGroup(group_id, EMPTY, -1) if self.state.offsets.has_group(group_id) else None

    def exists(self, group_id: str) -> bool:
        """The log knows of a classic group by that name, or of offsets without a group."""
        if group_id in self.state.metadata:
            return True
        return self.state.offsets.has_group(group_id) and not self.state.consumer.exists(group_id)

    def keep(self, group: ClassicGroup) -> None:
        """The group has or expects members: remember it beyond its record."""
        if self.active.get(group.group_id) is not group:
            self.active[group.group_id] = group
            group.enter(self.ledger)

    def promise(self, group_id: str, member_id: str) -> tuple[str, str] | None:
        """An id was given out. Returns the group and id of the oldest promise if it is one too many."""
        self._promised[group_id, member_id] = None
        if len(self._promised) <= PENDING_MAX:
            return None
        oldest = next(iter(self._promised))
        del self._promised[oldest]
        return oldest

    def wall_ms(self) -> int:
        """Now, as written in records."""
        return self.context.clock.wall_ms()

    def new_member_id(self, prefix: str) -> str:
        """An id nobody has had: the client's or instance's name and a random UUID."""
        token = bytearray(self.entropy.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        digits = token.hex()
        return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def drop(self, group_id: str, error: ErrorCode) -> None:
        """The group is gone: whoever waits in it hears why."""
        group = self.active.pop(group_id, None)
        if group is None:
            return
        group.enter(None)
        deadlines = self.context.deadlines
        deadlines.cancel(join_deadline(group_id))
        deadlines.cancel(sync_deadline(group_id))
        deadlines.cancel(empty_deadline(group_id))
        for member_id in [*group.members, *group.pending_joins]:
            deadlines.cancel(session_deadline(group_id, member_id))
        group.transition(DEAD, self.wall_ms())
        for member in group.members.values():
            group.answer_join(member, JoinGroupResponse(member_id=member.member_id, error_code=error))
            answer_sync(member, SyncGroupResponse(error_code=error))

    def settle(self, group: ClassicGroup) -> None:
        """A group without members, present or expected, needs no more than its record, once that is committed."""
        group_id = group.group_id
        idle = group.state == EMPTY and not group.pending_joins and self.active.get(group_id) is group
        image = self.state.metadata.committed(group_id)
        if idle and image is self.state.metadata.get(group_id) and (image is None or not image.members):
            del self.active[group_id]
            group.enter(None)

    def drop_undone(self, error: ErrorCode) -> None:
        """After an undo: drop the groups whose creation was taken back."""
        for group_id in [group_id for group_id in self.active if not self.exists(group_id)]:
            self.drop(group_id, error)

    def invariants(self) -> None:
        """What must hold between any two operations."""
        assert self.ledger.held_bytes >= sum(group.held_bytes for group in self.active.values())
        assert all(group_id in self.active for group_id, image in self.state.metadata.items() if image.members)
        for group_id, group in self.active.items():
            assert self.exists(group_id), f"group {group_id} is active without a record"
            group.invariants()
            image = self.state.metadata.get(group_id)
            assert image is None or image.generation <= group.generation, "generations only grow"
            deadlines = self.context.deadlines
            assert group.state != PREPARING_REBALANCE or join_deadline(group_id) in deadlines
            for member in group.members.values():
                assert member.excused or session_deadline(group_id, member.member_id) in deadlines


def session_deadline(group_id: str, member_id: str) -> str:
    """The deadline by which the member must be heard of."""
    return f"session/{group_id}/{member_id}"


def join_deadline(group_id: str) -> str:
    """The deadline of the group's joining phase."""
    return f"join/{group_id}"


def sync_deadline(group_id: str) -> str:
    """The deadline by which all members must have asked for their assignment."""
    return f"sync/{group_id}"


def empty_deadline(group_id: str) -> str:
    """When to try again to write down that the group is empty."""
    return f"empty/{group_id}"


def group_from_image(group_id: str, image: GroupMetadataValue) -> ClassicGroup:
    """The group as its record tells it: stable if it has members."""
    group = ClassicGroup(group_id, STABLE if image.members else EMPTY, image.current_state_timestamp)
    group.generation = image.generation
    group.protocol_type = image.protocol_type or None
    group.protocol = image.protocol
    for stored in image.members:
        group.add(
            ClassicMember(
                stored.member_id,
                stored.group_instance_id,
                stored.client_id,
                stored.client_host,
                stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout,
                stored.session_timeout,
                image.protocol_type,
                [(image.protocol or "", stored.subscription)],
                stored.assignment,
            ),
            None,
        )
    group.leader = image.leader if image.leader in group.members else next(iter(group.members), None)
    group.subscribed = group.compute_subscribed()
    return group


def image_of(group: ClassicGroup, assignments: dict[str, bytes]) -> GroupMetadataValue:
    """The group as a record, with these assignments."""
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol or ""),
            assignment=assignments[member.member_id],
        )
        for member in group.members.values()
    ]
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_since_ms,
        members=members,
    )


def empty_image(group: ClassicGroup) -> GroupMetadataValue:
    """The record of a group that was just created."""
    return GroupMetadataValue(current_state_timestamp=group.state_since_ms, protocol=None, leader=None)
