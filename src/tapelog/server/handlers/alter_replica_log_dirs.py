"""AlterReplicaLogDirs, versions 1 and 2: replicas of this broker move to other log directories of it.

The answer says that a move has begun; DescribeLogDirs shows it as a future replica until it is over. Naming the
directory where a replica is ends its move. A replica that is not here yet will be created in the directory named, and
is answered with REPLICA_NOT_AVAILABLE.
"""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from tapelog.wire.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(node: NodeApi, call: Call, request: AlterReplicaLogDirsRequest) -> None:
    """Every replica stands for itself."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name))
            for index in topic.partitions:
                result.partitions.append(
                    AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=_move(node, topic.name, index, directory.path)
                    )
                )
    call.reply(AlterReplicaLogDirsResponse(results=list(results.values())))


def _move(node: NodeApi, topic: str, index: int, path: str) -> int:
    try:
        node.move_replica(topic, index, path)
    except KafkaError as error:
        return int(error.code)
    return 0
