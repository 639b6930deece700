"""DescribeQuorum: what the leader knows of its voters and observers."""

from __future__ import annotations

from tapelog.raft.quorum import Quorum
from tapelog.raft.requests import TOPIC
from tapelog.raft.roles import Leader
from tapelog.raft.values import ReplicaKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest
from tapelog.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)


def describe(quorum: Quorum, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The answer; only the leader knows more than an error."""
    response = DescribeQuorumResponse()
    for topic in request.topics:
        partitions = [_partition(quorum, topic.topic_name, item.partition_index) for item in topic.partitions]
        response.topics.append(TopicData(topic_name=topic.topic_name, partitions=partitions))
    response.nodes = [
        Node(
            node_id=voter.key.id,
            listeners=[Listener(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
        )
        for voter in quorum.voters.voters.values()
    ]
    return response


def _partition(quorum: Quorum, topic: str, index: int) -> PartitionData:
    leader = quorum.leading
    if topic != TOPIC or index != 0:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        text = f"Only {TOPIC}-0 is kept by a quorum"
        return PartitionData(partition_index=index, error_code=int(code), error_message=text)
    if leader is None:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return PartitionData(partition_index=index, error_code=int(code), error_message=None)
    return PartitionData(
        partition_index=index,
        error_message=None,
        leader_id=quorum.me.id,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[_replica(quorum, leader, voter.key) for voter in quorum.voters.voters.values()],
        observers=[_replica(quorum, leader, key) for key in leader.progress.observers() if _seen(quorum, leader, key)],
    )


def _seen(quorum: Quorum, leader: Leader, key: ReplicaKey) -> bool:
    """Whether it fetched from this leader: a voter that was removed with its disk never will."""
    return key != quorum.me and leader.progress.replicas[key].end_offset >= 0


def _replica(quorum: Quorum, leader: Leader, key: ReplicaKey) -> ReplicaState:
    if key == quorum.me:
        now_ms = quorum.clock.wall_ms()
        end, fetched_ms, caught_up_ms = quorum.log.end_offset, now_ms, now_ms
    else:
        replica = leader.progress.replicas[key]
        end, fetched_ms = replica.end_offset, replica.fetched_wall_ms
        caught_up_ms = replica.caught_up_wall_ms
    return ReplicaState(
        replica_id=key.id,
        replica_directory_id=key.directory_id,
        log_end_offset=end,
        last_fetch_timestamp=fetched_ms,
        last_caught_up_timestamp=caught_up_ms,
    )
