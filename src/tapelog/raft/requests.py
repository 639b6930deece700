"""The quorum's requests and responses, made and taken apart. Each is about one partition: `__cluster_metadata-0`."""

from __future__ import annotations

from typing import Final

from tapelog.base import ids
from tapelog.raft.values import Endpoint, OffsetEpoch, ReplicaKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages import (
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    fetch_request,
    fetch_response,
    fetch_snapshot_request,
    fetch_snapshot_response,
    vote_request,
    vote_response,
)
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse
from tapelog.wire.values import RecordBytes, Slice

TOPIC: Final = "__cluster_metadata"

VOTE_VERSION: Final = 2
BEGIN_VERSION: Final = 1
END_VERSION: Final = 1
FETCH_VERSION: Final = 18
FETCH_SNAPSHOT_VERSION: Final = 1


def vote(
    cluster_id: str, voter: ReplicaKey, me: ReplicaKey, epoch: int, end: OffsetEpoch, pre_vote: bool
) -> VoteRequest:
    """Would you, or will you, vote for me?"""
    partition = vote_request.PartitionData(
        replica_epoch=epoch,
        replica_id=me.id,
        replica_directory_id=me.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=pre_vote,
    )
    topic = vote_request.TopicData(topic_name=TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=voter.id, topics=[topic])


def begin(
    cluster_id: str, voter: ReplicaKey, leader_id: int, epoch: int, endpoints: tuple[Endpoint, ...]
) -> BeginQuorumEpochRequest:
    """I lead this epoch."""
    partition = begin_quorum_epoch_request.PartitionData(
        voter_directory_id=voter.directory_id, leader_id=leader_id, leader_epoch=epoch
    )
    return BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter.id,
        topics=[begin_quorum_epoch_request.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            begin_quorum_epoch_request.LeaderEndpoint(name=e.name, host=e.host, port=e.port) for e in endpoints
        ],
    )


def end(
    cluster_id: str, leader_id: int, epoch: int, successors: list[ReplicaKey], endpoints: tuple[Endpoint, ...]
) -> EndQuorumEpochRequest:
    """I stop leading; these have most of the log, in this order."""
    partition = end_quorum_epoch_request.PartitionData(
        leader_id=leader_id,
        leader_epoch=epoch,
        preferred_candidates=[
            end_quorum_epoch_request.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id)
            for key in successors
        ],
    )
    return EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[end_quorum_epoch_request.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            end_quorum_epoch_request.LeaderEndpoint(name=e.name, host=e.host, port=e.port) for e in endpoints
        ],
    )


def fetch(
    cluster_id: str,
    me: ReplicaKey,
    epoch: int,
    end: OffsetEpoch,
    log_start: int,
    high_watermark: int,
    wait_ms: int,
    max_bytes: int,
) -> FetchRequest:
    """What follows the end of my log?"""
    partition = fetch_request.FetchPartition(
        current_leader_epoch=epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        log_start_offset=log_start,
        partition_max_bytes=max_bytes,
        replica_directory_id=me.directory_id,
        high_watermark=high_watermark,
    )
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch_request.ReplicaState(replica_id=me.id),
        max_wait_ms=wait_ms,
        max_bytes=max_bytes,
        topics=[fetch_request.FetchTopic(topic=TOPIC, topic_id=ids.METADATA_TOPIC, partitions=[partition])],
    )


def fetch_snapshot(
    cluster_id: str, me: ReplicaKey, epoch: int, id: OffsetEpoch, position: int, max_bytes: int
) -> FetchSnapshotRequest:
    """The snapshot's bytes from that position on, please."""
    partition = fetch_snapshot_request.PartitionSnapshot(
        current_leader_epoch=epoch,
        snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=id.offset, epoch=id.epoch),
        position=position,
        replica_directory_id=me.directory_id,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=me.id,
        max_bytes=max_bytes,
        topics=[fetch_snapshot_request.TopicSnapshot(name=TOPIC, partitions=[partition])],
    )


# -- responses


def vote_answer(code: ErrorCode, leader_id: int, epoch: int, granted: bool, endpoint: Endpoint | None) -> VoteResponse:
    """The answer to a vote request."""
    partition = vote_response.PartitionData(
        error_code=int(code), leader_id=leader_id, leader_epoch=epoch, vote_granted=granted
    )
    response = VoteResponse(topics=[vote_response.TopicData(topic_name=TOPIC, partitions=[partition])])
    if endpoint is not None and leader_id >= 0:
        response.node_endpoints = [
            vote_response.NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)
        ]
    return response


def begin_answer(code: ErrorCode, leader_id: int, epoch: int, endpoint: Endpoint | None) -> BeginQuorumEpochResponse:
    """The answer to a leader that begins."""
    partition = begin_quorum_epoch_response.PartitionData(error_code=int(code), leader_id=leader_id, leader_epoch=epoch)
    response = BeginQuorumEpochResponse(
        topics=[begin_quorum_epoch_response.TopicData(topic_name=TOPIC, partitions=[partition])]
    )
    if endpoint is not None and leader_id >= 0:
        response.node_endpoints = [
            begin_quorum_epoch_response.NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)
        ]
    return response


def end_answer(code: ErrorCode, leader_id: int, epoch: int, endpoint: Endpoint | None) -> EndQuorumEpochResponse:
    """The answer to a leader that ends."""
    partition = end_quorum_epoch_response.PartitionData(error_code=int(code), leader_id=leader_id, leader_epoch=epoch)
    response = EndQuorumEpochResponse(
        topics=[end_quorum_epoch_response.TopicData(topic_name=TOPIC, partitions=[partition])]
    )
    if endpoint is not None and leader_id >= 0:
        response.node_endpoints = [
            end_quorum_epoch_response.NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)
        ]
    return response


def fetch_answer(
    data: fetch_response.PartitionData, leader_id: int, epoch: int, endpoint: Endpoint | None
) -> FetchResponse:
    """The answer to a fetch: the partition's data, and who leads."""
    data.current_leader = fetch_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch)
    topic = fetch_response.FetchableTopicResponse(topic=TOPIC, topic_id=ids.METADATA_TOPIC, partitions=[data])
    response = FetchResponse(responses=[topic])
    if endpoint is not None and leader_id >= 0:
        response.node_endpoints = [
            fetch_response.NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)
        ]
    return response


def snapshot_answer(
    data: fetch_snapshot_response.PartitionSnapshot, leader_id: int, epoch: int, endpoint: Endpoint | None
) -> FetchSnapshotResponse:
    """The answer to somebody who fetches a snapshot."""
    data.current_leader = fetch_snapshot_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch)
    response = FetchSnapshotResponse(topics=[fetch_snapshot_response.TopicSnapshot(name=TOPIC, partitions=[data])])
    if endpoint is not None and leader_id >= 0:
        response.node_endpoints = [
            fetch_snapshot_response.NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)
        ]
    return response


def told_endpoint(
    response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse,
    leader_id: int,
) -> Endpoint | None:
    """Where the response says that node listens."""
    for node in response.node_endpoints:
        if node.node_id == leader_id:
            return Endpoint("CONTROLLER", node.host, node.port)
    return None


def plain(records: RecordBytes) -> bytes:
    """The bytes of a records field."""
    if isinstance(records, Slice):
        return records.tobytes()
    return records if isinstance(records, bytes) else records.read()
