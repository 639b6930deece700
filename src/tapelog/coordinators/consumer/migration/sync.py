"""SyncGroup and Heartbeat of members of the classic protocol inside a consumer group.

SyncGroup fetches what the member's last JoinGroup gave it; a leader's assignments are not looked at. Heartbeat says
REBALANCE_IN_PROGRESS when joining again would change something: the targets are newer than the member, it has to give
something back, or what it waited for has become free.
"""

from __future__ import annotations

from tapelog.coordinators.classic.subscription import CONSUMER
from tapelog.coordinators.consumer.group import ConsumerGroup
from tapelog.coordinators.consumer.leave import check_instance, check_known
from tapelog.coordinators.consumer.member import (
    STATIC_LEAVING_EPOCH,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicMetadata,
)
from tapelog.coordinators.consumer.migration import deadlines
from tapelog.coordinators.consumer.migration.embedded import assignment_bytes, subscription_of
from tapelog.coordinators.consumer.registry import ConsumerGroups
from tapelog.coordinators.consumer.sessions import extend_session
from tapelog.coordinators.consumer.target import is_due
from tapelog.coordinators.outcome import Outcome, Reply
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.sync_group_response import SyncGroupResponse


def sync(
    groups: ConsumerGroups, group: ConsumerGroup, request: SyncGroupRequest, reply: Reply[SyncGroupResponse]
) -> Outcome[None]:
    """Give a member what it owns by now, once that is committed."""
    member_id, group_id = request.member_id, group.group_id
    classic = _check(group, member_id, request.group_instance_id, request.generation_id)
    protocol, metadata = classic.protocols[0]
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, protocol):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    current = group.current_of(member_id)
    if group.target_epoch > current.epoch and current.state != UNREVOKED_PARTITIONS:
        _expect_join(groups, group, member_id)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    named = {groups.watch.topics.name_of(topic_id): sorted(owned) for topic_id, owned in current.assigned.items()}
    places = {name: tuple(partitions) for name, partitions in named.items() if name is not None}
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=assignment_bytes(places, subscription_of(metadata).version),
    )

    def committed() -> None:
        deadlines.synced(groups, group_id, member_id)
        extend_session(groups, group_id, member_id, classic.session_timeout_ms)
        reply.answer(response)

    return Outcome([], None, committed=committed)


def heartbeat(groups: ConsumerGroups, group: ConsumerGroup, request: HeartbeatRequest) -> Outcome[HeartbeatResponse]:
    """The member lives. It hears REBALANCE_IN_PROGRESS when it has to join again."""
    member_id = request.member_id
    classic = _check(group, member_id, request.group_instance_id, request.generation_id)
    extend_session(groups, group.group_id, member_id, classic.session_timeout_ms)
    if not _should_join(groups, group, member_id):
        return Outcome([], HeartbeatResponse())
    _expect_join(groups, group, member_id)
    return Outcome([], HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))


def _check(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ClassicMetadata:
    """The member's classic side, if it is who it says and in the generation it says."""
    if instance_id is None:
        check_known(group, member_id)
    else:
        check_instance(group, member_id, instance_id)
    member = group.metadata.get(member_id)
    if member is None or member.classic is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
    epoch = group.current_of(member_id).epoch
    if generation != epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"The generation {generation} is not the member's, {epoch}.")
    return member.classic


def _should_join(groups: ConsumerGroups, group: ConsumerGroup, member_id: str) -> bool:
    current = group.current_of(member_id)
    if current.epoch < group.target_epoch or current.state == UNREVOKED_PARTITIONS:
        return True
    if current.state == UNRELEASED_PARTITIONS and not _waits_for_others(group, member_id):
        return True
    # Targets are computed as members of the newer protocol heartbeat, and as classic ones join. Where only classic
    # ones do anything (the others left for a while, or the policy forbids the way back), one of them has to.
    behind = group.epoch > group.target_epoch or _topics_changed(groups, group)
    return behind and is_due(groups, group) and not _has_newer_member(group)


def _topics_changed(groups: ConsumerGroups, group: ConsumerGroup) -> bool:
    return groups.has_news(group) and groups.watch.hash_of(group.subscribed()) != group.metadata_hash


def _has_newer_member(group: ConsumerGroup) -> bool:
    """Somebody of the newer protocol sends heartbeats."""
    return group.classic_count < len(group.metadata) and any(
        member.classic is None and group.current_of(member_id).epoch != STATIC_LEAVING_EPOCH
        for member_id, member in group.metadata.items()
    )


def _waits_for_others(group: ConsumerGroup, member_id: str) -> bool:
    """Something that the member should own and does not is still owned by somebody else."""
    assigned = group.current_of(member_id).assigned
    return any(
        partition not in assigned.get(topic_id, {}) and group.owners.get((topic_id, partition)) not in (None, member_id)
        for topic_id, partitions in group.target_of(member_id).items()
        for partition in partitions
    )


def _expect_join(groups: ConsumerGroups, group: ConsumerGroup, member_id: str) -> None:
    member = group.metadata.get(member_id)
    assert member is not None
    deadlines.expect_join(groups, group.group_id, member_id, member.rebalance_timeout_ms)
