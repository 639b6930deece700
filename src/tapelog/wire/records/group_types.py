"""The records of __consumer_offsets. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.records.consumer_group_current_member_assignment_key import ConsumerGroupCurrentMemberAssignmentKey
from tapelog.wire.records.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from tapelog.wire.records.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tapelog.wire.records.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from tapelog.wire.records.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tapelog.wire.records.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tapelog.wire.records.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tapelog.wire.records.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from tapelog.wire.records.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tapelog.wire.records.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tapelog.wire.records.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tapelog.wire.records.consumer_group_target_assignment_member_value import ConsumerGroupTargetAssignmentMemberValue
from tapelog.wire.records.consumer_group_target_assignment_metadata_key import ConsumerGroupTargetAssignmentMetadataKey
from tapelog.wire.records.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tapelog.wire.records.group_metadata_value import GroupMetadataValue
from tapelog.wire.records.legacy_offset_commit_key import LegacyOffsetCommitKey
from tapelog.wire.records.legacy_offset_commit_value import LegacyOffsetCommitValue
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.records.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from tapelog.wire.records.share_group_current_member_assignment_value import ShareGroupCurrentMemberAssignmentValue
from tapelog.wire.records.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from tapelog.wire.records.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from tapelog.wire.records.share_group_metadata_key import ShareGroupMetadataKey
from tapelog.wire.records.share_group_metadata_value import ShareGroupMetadataValue
from tapelog.wire.records.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from tapelog.wire.records.share_group_state_partition_metadata_value import ShareGroupStatePartitionMetadataValue
from tapelog.wire.records.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from tapelog.wire.records.share_group_target_assignment_member_value import ShareGroupTargetAssignmentMemberValue
from tapelog.wire.records.share_group_target_assignment_metadata_key import ShareGroupTargetAssignmentMetadataKey
from tapelog.wire.records.share_group_target_assignment_metadata_value import ShareGroupTargetAssignmentMetadataValue
from tapelog.wire.records.streams_group_current_member_assignment_key import StreamsGroupCurrentMemberAssignmentKey
from tapelog.wire.records.streams_group_current_member_assignment_value import StreamsGroupCurrentMemberAssignmentValue
from tapelog.wire.records.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from tapelog.wire.records.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from tapelog.wire.records.streams_group_metadata_key import StreamsGroupMetadataKey
from tapelog.wire.records.streams_group_metadata_value import StreamsGroupMetadataValue
from tapelog.wire.records.streams_group_target_assignment_member_key import StreamsGroupTargetAssignmentMemberKey
from tapelog.wire.records.streams_group_target_assignment_member_value import StreamsGroupTargetAssignmentMemberValue
from tapelog.wire.records.streams_group_target_assignment_metadata_key import StreamsGroupTargetAssignmentMetadataKey
from tapelog.wire.records.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from tapelog.wire.records.streams_group_topology_key import StreamsGroupTopologyKey
from tapelog.wire.records.streams_group_topology_value import StreamsGroupTopologyValue

GROUP_TYPES: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    0: (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    10: (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: (ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    13: (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    15: (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    17: (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    19: (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    20: (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    21: (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    22: (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    23: (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
}
"""Record type (the number before the key) to the classes of key and value."""
