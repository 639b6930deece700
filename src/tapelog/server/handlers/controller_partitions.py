"""Who holds and who leads partitions: AlterPartition and AssignReplicasToDirs (between nodes), ElectLeaders,
AlterPartitionReassignments and UpdateFeatures (for tools). The active controller decides; answered when committed."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest
from tapelog.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest
from tapelog.wire.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from tapelog.wire.messages.update_features_request import UpdateFeaturesRequest


def alter_partition(node: NodeApi, call: Call, request: AlterPartitionRequest) -> None:
    """Versions 2 and 3; the replicas' broker epochs since 3 (KIP-903)."""
    node.change_metadata(lambda image: node.controller.alter_partition(image, request, call.version), call.outcome)


def assign_replicas_to_dirs(node: NodeApi, call: Call, request: AssignReplicasToDirsRequest) -> None:
    """Version 0."""
    node.change_metadata(lambda image: node.controller.assign_replicas_to_dirs(image, request), call.outcome)


def elect_leaders(node: NodeApi, call: Call, request: ElectLeadersRequest) -> None:
    """Versions 0 to 2; unclean elections since 1. Version 0 tells errors by partition only."""

    def elected(outcome: ElectLeadersResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError) and call.version == 0:
            call.reply(_refused(request, outcome))
        else:
            call.outcome(outcome)

    node.change_metadata(lambda image: node.controller.elect_leaders(image, request), elected)


def _refused(request: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=item.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=int(error.code), error_message=error.message)
                    for index in item.partitions
                ],
            )
            for item in request.topic_partitions or []
        ]
    )


def alter_partition_reassignments(node: NodeApi, call: Call, request: AlterPartitionReassignmentsRequest) -> None:
    """Versions 0 and 1; since 1 the replication factor may be held fixed."""
    node.change_metadata(lambda image: node.controller.alter_partition_reassignments(image, request), call.outcome)


def update_features(node: NodeApi, call: Call, request: UpdateFeaturesRequest) -> None:
    """Versions 0 to 2."""
    node.change_metadata(lambda image: node.controller.update_features(image, request, call.version), call.outcome)
