"""Answers about features, reassignments, quotas and ACLs: truthful where there is nothing to tell yet.

Command-line tools and user interfaces ask these of every cluster; server handlers call these.
"""

from __future__ import annotations

from tapelog.metadata import features
from tapelog.metadata.image import MetadataImage
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from tapelog.wire.messages.describe_acls_response import DescribeAclsResponse
from tapelog.wire.messages.describe_client_quotas_response import DescribeClientQuotasResponse
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


def describe_client_quotas_response() -> DescribeClientQuotasResponse:
    """No quotas have been set."""
    return DescribeClientQuotasResponse(error_message=None, entries=[])


def describe_acls_response() -> DescribeAclsResponse:
    """There is no authorizer, as Kafka says without one."""
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="This cluster has no authorizer.", resources=[]
    )
