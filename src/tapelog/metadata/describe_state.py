"""Answers about the quorum, reassignments, quotas and ACLs: truthful where there is nothing to tell yet.

Command-line tools and user interfaces ask these of every cluster; server handlers call these.
"""

from __future__ import annotations

from tapelog.metadata import features, topic_names
from tapelog.metadata.image import MetadataImage
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from tapelog.wire.messages.describe_acls_response import DescribeAclsResponse
from tapelog.wire.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest
from tapelog.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from tapelog.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tapelog.wire.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def add_features(image: MetadataImage, response: ApiVersionsResponse) -> None:
    """Fill in the feature fields of ApiVersions: what this broker supports and what the cluster has settled on."""
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=least, max_version=most)
        for name, (least, most) in sorted(features.SUPPORTED.items())
    ]
    response.finalized_features_epoch = image.offset - 1
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in sorted(image.features.items())
    ]


def list_partition_reassignments_response(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Partitions that are moving between brokers; topics=None asks for all, what is not moving is left out."""
    response = ListPartitionReassignmentsResponse(error_message=None)
    if request.topics is None:
        asked = [(name, list(range(len(image.topics[name].partitions)))) for name in sorted(image.topics)]
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    for name, indexes in asked:
        moving = []
        for index in indexes:
            partition = image.partition(name, index)
            if partition is not None and (partition.adding_replicas or partition.removing_replicas):
                moving.append(
                    OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(partition.replicas),
                        adding_replicas=list(partition.adding_replicas),
                        removing_replicas=list(partition.removing_replicas),
                    )
                )
        if moving:
            response.topics.append(OngoingTopicReassignment(name=name, partitions=moving))
    return response


def describe_quorum_response(
    image: MetadataImage, request: DescribeQuorumRequest, high_watermark: int, end_offset: int, now_ms: int
) -> DescribeQuorumResponse:
    """DescribeQuorum of a quorum of one: its only voter leads and is always caught up."""
    response = DescribeQuorumResponse(error_message=None)
    for topic in request.topics:
        partitions = [
            _quorum_partition(image, topic.topic_name, item.partition_index, high_watermark, end_offset, now_ms)
            for item in topic.partitions
        ]
        response.topics.append(TopicData(topic_name=topic.topic_name, partitions=partitions))
    response.nodes = [
        Node(
            node_id=id,
            listeners=[
                Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port)
                for endpoint in image.controllers[id].endpoints
            ],
        )
        for id in sorted(image.controllers)
    ]
    return response


def _quorum_partition(
    image: MetadataImage, topic: str, index: int, high_watermark: int, end_offset: int, now_ms: int
) -> PartitionData:
    if topic != topic_names.CLUSTER_METADATA or index != 0:
        return PartitionData(
            partition_index=index,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=f"Only {topic_names.CLUSTER_METADATA}-0 is kept by a quorum",
        )
    voter = ReplicaState(
        replica_id=image.controller_id,
        log_end_offset=end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return PartitionData(
        partition_index=0,
        error_message=None,
        leader_id=image.controller_id,
        leader_epoch=image.epoch,
        high_watermark=high_watermark,
        current_voters=[voter],
        observers=[],
    )


def describe_client_quotas_response() -> DescribeClientQuotasResponse:
    """No quotas have been set."""
    return DescribeClientQuotasResponse(error_message=None, entries=[])


def describe_acls_response() -> DescribeAclsResponse:
    """There is no authorizer, as Kafka says without one."""
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="This cluster has no authorizer.", resources=[]
    )
