"""Between the classic and the consumer protocol, both ways and live: members of either kind in one consumer group.

Until it is built: members of the classic protocol are not let into consumer groups, and groups keep their kind as
long as they have members.
"""

from __future__ import annotations

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.group import ClassicGroup
from tapelog.coordinators.classic.registry import ClassicGroups
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.outcome import CoordinatorRecord, Outcome, Reply
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest
from tapelog.wire.messages.leave_group_response import LeaveGroupResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.sync_group_response import SyncGroupResponse


def upgrade(
    groups: ConsumerGroups, classic: ClassicGroups, former: ClassicGroup, records: list[CoordinatorRecord]
) -> ConsumerGroup:
    """The consumer group that a classic group with members becomes; adds the records that make it one.

    The group returned is as those records, replayed, would make it.
    """
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {former.group_id} is not a consumer group.")


def join(
    groups: ConsumerGroups,
    classic: ClassicGroups,
    group: ConsumerGroup,
    caller: Caller,
    request: JoinGroupRequest,
    reply: Reply[JoinGroupResponse],
) -> Outcome[None]:
    """JoinGroup to a consumer group that has members."""
    raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def sync(
    groups: ConsumerGroups, group: ConsumerGroup, request: SyncGroupRequest, reply: Reply[SyncGroupResponse]
) -> Outcome[None]:
    """SyncGroup to a consumer group."""
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


def heartbeat(groups: ConsumerGroups, group: ConsumerGroup, request: HeartbeatRequest) -> Outcome[HeartbeatResponse]:
    """Heartbeat to a consumer group."""
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


def leave(groups: ConsumerGroups, group: ConsumerGroup, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
    """LeaveGroup to a consumer group."""
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
