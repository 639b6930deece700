"""The records of a consumer group, made from our values and read back into them. Kafka's schema, all in version 0.

Whatever has no order of its own is sorted, so that equal states are written as equal bytes.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.consumer.assignors.spec import Assignment
from tapelog.coordinators.consumer.member import (
    STATES,
    UNKNOWN,
    ClassicMetadata,
    CurrentAssignment,
    MemberMetadata,
    Owned,
    ResolvedRegex,
)
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.wire.records.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from tapelog.wire.records.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from tapelog.wire.records.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tapelog.wire.records.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from tapelog.wire.records.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tapelog.wire.records.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tapelog.wire.records.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tapelog.wire.records.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tapelog.wire.records.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tapelog.wire.records.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tapelog.wire.records.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from tapelog.wire.records.consumer_group_target_assignment_metadata_key import ConsumerGroupTargetAssignmentMetadataKey
from tapelog.wire.records.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

# -- the group


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group's epoch, and a hash of all that is known of the topics it reads."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """The group is gone."""
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """What Kafka before 4.1 wrote of the topics of a group is not needed any more."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


# -- what a member wants


def member_record(group_id: str, member_id: str, member: MemberMetadata) -> CoordinatorRecord:
    """Who a member is and what it wants to read."""
    classic = None
    if member.classic is not None:
        protocols = [ClassicProtocol(name=name, metadata=data) for name, data in member.classic.protocols]
        classic = ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms, supported_protocols=protocols
        )
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.names),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=classic,
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), value)


def member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """The member is gone."""
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def member_of(value: ConsumerGroupMemberMetadataValue) -> MemberMetadata:
    """The member that the record tells of."""
    classic = value.classic_member_metadata
    return MemberMetadata(
        instance_id=value.instance_id,
        rack=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        names=frozenset(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMetadata(
            classic.session_timeout_ms, tuple((p.name, p.metadata) for p in classic.supported_protocols)
        ),
    )


# -- what it should own


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    """What a member should own."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic_id, partitions=list(target[topic_id])) for topic_id in sorted(target)
        ]
    )
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """The member should own nothing: it is about to go."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def target_of(value: ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    """The target that the record tells of."""
    return {topic.topic_id: tuple(sorted(topic.partitions)) for topic in value.topic_partitions}


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """All targets are as of that epoch, and were computed then."""
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """The group has no targets any more."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


# -- what it owns


def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> CoordinatorRecord:
    """What a member owns."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        assigned_partitions=_owned_list(current.assigned),
        partitions_pending_revocation=_owned_list(current.revoking),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), value)


def current_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """The member owns nothing any more: it is about to go."""
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def current_of(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    """The assignment that the record tells of. Records of older versions have no epoch per partition."""
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        value.state if value.state in STATES else UNKNOWN,
        _owned_map(value.assigned_partitions, value.member_epoch),
        _owned_map(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned_list(owned: Owned) -> list[TopicPartitions]:
    listed: list[TopicPartitions] = []
    for topic_id in sorted(owned):
        partitions = sorted(owned[topic_id])
        epochs = [owned[topic_id][partition] for partition in partitions]
        listed.append(TopicPartitions(topic_id=topic_id, partitions=partitions, assignment_epochs=epochs))
    return listed


def _owned_map(listed: list[TopicPartitions], epoch: int) -> Owned:
    owned: dict[bytes, dict[int, int]] = {}
    for topic in listed:
        epochs = topic.assignment_epochs
        if not epochs or len(epochs) != len(topic.partitions):
            epochs = [epoch] * len(topic.partitions)
        if topic.partitions:
            owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned


# -- regular expressions


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    """What a regular expression matches."""
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Nobody in the group uses that regular expression any more."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None)


def regex_of(value: ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    """The resolution that the record tells of."""
    return ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)


# -- how large they are

RECORD_BYTES: Final = 150
TOPIC_BYTES: Final = 24
"""About what a record takes beside its topics, and a topic beside its partitions."""


def bytes_of(records: list[CoordinatorRecord]) -> int:
    """About how much these records take."""
    size = RECORD_BYTES * len(records)
    for record in records:
        if isinstance(record.value, ConsumerGroupTargetAssignmentMemberValue):
            size += sum(TOPIC_BYTES + 4 * len(topic.partitions) for topic in record.value.topic_partitions)
        elif isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue):
            owned = [*record.value.assigned_partitions, *record.value.partitions_pending_revocation]
            size += sum(TOPIC_BYTES + 8 * len(topic.partitions) for topic in owned)
    return size
