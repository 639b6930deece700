"""DescribeLogDirs, versions 1 to 5: the log directories, what lies in each, how much room there is, and what is busy.

Since version 2 a partition that is written or read here has a tagged field of our own (codegen/additions), `traffic`:
counters since its role began, and rates per second over one and five minutes. `counted_ms` says when they were read, by
this node's monotonic clock, and that this broker counts at all. A compacted partition has another, `cleaning`: how much
of it is clean, up to where, and since when, or why it cannot be cleaned. Clients that do not know the tags
pass over them. A replica that moves between directories (AlterReplicaLogDirs) is there twice: where it goes as a future
one, with the offsets that it lacks as its lag.
"""

from __future__ import annotations

from tapelog.replication.partition import Partition
from tapelog.replication.traffic import SPANS_S, look
from tapelog.server.call import Call
from tapelog.server.node_api import LogDir, NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    PartitionCleaning,
    PartitionTraffic,
    TrafficRate,
)


def handle(node: NodeApi, call: Call, request: DescribeLogDirsRequest) -> None:
    """Describe every directory of this node; null topics mean all."""
    wanted: dict[str, list[int]] | None = None
    if request.topics is not None:
        wanted = {topic.topic: topic.partitions for topic in request.topics}
    now_ms = node.clock.monotonic_ms()
    look(node.hub, now_ms)
    results = [_directory(node, directory, wanted) for directory in node.log_dirs]
    error, since_ms = node.tier_failure()
    call.reply(
        DescribeLogDirsResponse(results=results, counted_ms=now_ms, tier_error=error, tier_failing_since_ms=since_ms)
    )


def _directory(node: NodeApi, directory: LogDir, wanted: dict[str, list[int]] | None) -> DescribeLogDirsResult:
    result = DescribeLogDirsResult(log_dir=directory.path)
    result.total_bytes, result.usable_bytes = directory.total_bytes, directory.usable_bytes
    result.is_cordoned = directory.cordoned
    if directory.offline:
        result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
        return result
    futures = node.future_replicas(directory.path)
    for name in sorted(node.topics if wanted is None else wanted):
        state = node.topics.get(name)
        if state is None:
            continue
        topic = DescribeLogDirsTopic(name=name)
        for partition in state.partitions:
            if partition is None or partition.log.disk is not directory.disk:
                continue
            if wanted is None or partition.index in wanted[name]:
                topic.partitions.append(
                    DescribeLogDirsPartition(
                        partition_index=partition.index,
                        partition_size=partition.log.size_bytes,
                        offset_lag=0,
                        traffic=_traffic(partition),
                        tier=node.tier_status(partition),
                        cleaning=_cleaning(node, partition),
                    )
                )
        topic.partitions += [
            DescribeLogDirsPartition(future.index, future.size_bytes, future.lag, is_future_key=True)
            for future in futures
            if future.topic == name and (wanted is None or future.index in wanted[name])
        ]
        if topic.partitions:
            result.topics.append(topic)
    return result


def _cleaning(node: NodeApi, partition: Partition) -> PartitionCleaning | None:
    state = node.cleaning_of(partition)
    if state is None:
        return None
    return PartitionCleaning(
        state.cleaned_offset,
        state.clean_bytes,
        state.dirty_bytes,
        state.cleaned_ms,
        state.under_way,
        state.uncleanable,
    )


def _traffic(partition: Partition) -> PartitionTraffic | None:
    counted = partition.traffic
    if counted is None:
        return None
    return PartitionTraffic(
        counted.bytes_in,
        counted.records_in,
        counted.bytes_out,
        counted.replica_bytes_out,
        counted.requests,
        [TrafficRate(seconds, *counted.rates(span)) for span, seconds in enumerate(SPANS_S)],
    )
