"""APIs that only describe: DescribeCluster, DescribeTopicPartitions, DescribeAcls,
DescribeClientQuotas, ListPartitionReassignments. User interfaces call them; the answers are true for a cluster
without authorizer and quotas."""

from __future__ import annotations

from tapelog.metadata import describe, describe_state
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.server.routes import ON_CONTROLLER
from tapelog.wire.messages.describe_acls_request import DescribeAclsRequest
from tapelog.wire.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from tapelog.wire.messages.describe_cluster_request import DescribeClusterRequest
from tapelog.wire.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from tapelog.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest


def describe_cluster(node: NodeApi, call: Call, request: DescribeClusterRequest) -> None:
    """Versions 0 to 2: the brokers, or on a controller's listener the controllers."""
    if call.connection.side == ON_CONTROLLER:
        leader = node.raft.leader
        active_id = leader.id if leader is not None else -1
        call.reply(describe.describe_controllers_response(node.image, request, call.connection.listener, active_id))
        return
    call.reply(describe.describe_cluster_response(node.image, request, call.version, call.connection.listener))


def describe_topic_partitions(node: NodeApi, call: Call, request: DescribeTopicPartitionsRequest) -> None:
    """Version 0: topics a page at a time."""
    most = node.setting_int("max.request.partition.size.limit")
    call.reply(describe.describe_topic_partitions_response(node.image, request, call.connection.listener, most))


def describe_acls(node: NodeApi, call: Call, request: DescribeAclsRequest) -> None:
    """Versions 1 to 3: there is no authorizer."""
    call.reply(describe_state.describe_acls_response())


def describe_client_quotas(node: NodeApi, call: Call, request: DescribeClientQuotasRequest) -> None:
    """Versions 0 and 1: none are set."""
    call.reply(describe_state.describe_client_quotas_response())


def list_partition_reassignments(node: NodeApi, call: Call, request: ListPartitionReassignmentsRequest) -> None:
    """Version 0: what is moving between brokers."""
    call.reply(describe_state.list_partition_reassignments_response(node.image, request))
