"""DescribeLogDirs, versions 1 to 5: the log directory, what lies in it and how much room there is."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def handle(node: NodeApi, call: Call, request: DescribeLogDirsRequest) -> None:
    """Describe the one directory of this node; null topics mean all."""
    result = DescribeLogDirsResult(log_dir=node.log_dir)
    result.total_bytes, result.usable_bytes = node.disk_space()
    if node.storage_failed:
        result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
    wanted: dict[str, list[int]] | None = None
    if request.topics is not None:
        wanted = {topic.topic: topic.partitions for topic in request.topics}
    for name in sorted(node.topics if wanted is None else wanted):
        state = node.topics.get(name)
        if state is None:
            continue
        topic = DescribeLogDirsTopic(name=name)
        for partition in state.partitions:
            if partition is not None and (wanted is None or partition.index in wanted[name]):
                size = partition.log.size_bytes
                topic.partitions.append(
                    DescribeLogDirsPartition(partition_index=partition.index, partition_size=size, offset_lag=0)
                )
        if topic.partitions:
            result.topics.append(topic)
    call.reply(DescribeLogDirsResponse(results=[result]))
