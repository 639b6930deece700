"""What several handlers need: the partition a request means, and answers to changes that could not be committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tapelog.replication.partition import Partition
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message

M = TypeVar("M", bound=Message)


def answering(call: Call, refused: Callable[[KafkaError], M]) -> Callable[[M | KafkaError], None]:
    """For `change_metadata`: the response, or what `refused` makes of an error that stopped all of the request."""
    return lambda outcome: call.reply(refused(outcome) if isinstance(outcome, KafkaError) else outcome)


def leader_of(node: NodeApi, topic: str, index: int, leader_epoch: int = -1) -> Partition:
    """The partition, led here and in the epoch the client believes in; KafkaError otherwise."""
    state = node.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"this broker has no {topic}-{index}")
    partition = state.partitions[index]
    if partition is None:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is on other brokers")
    if partition.offline:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {topic}-{index} is offline")
    if partition.closed:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this broker no longer has {topic}-{index}")
    if leader_epoch >= 0 and leader_epoch != partition.leader_epoch:
        newer = leader_epoch > partition.leader_epoch
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH if newer else ErrorCode.FENCED_LEADER_EPOCH, "")
    if not partition.leading:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this broker only follows {topic}-{index}")
    return partition
