"""Which ranges of a plan may be read from the tier: asks the cluster for what only it knows, then the manifests.

The brokers tell up to where history is tiered at all, so that a stream at its tail reads no manifest, and whether the
leader shares the history that a manifest names: after an unclean election it may not, until it has cut it off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapelog.client.cluster import Cluster
from tapelog.client.errors import RefusedError, refusal
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import EARLIEST_LOCAL, LATEST_TIERED, list_offsets
from tapelog.spark.history.shelves import Asked, Found, look_up
from tapelog.spark.plan import values
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.stored import History
from tapelog.spark.plan.values import Range
from tapelog.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tapelog.wire.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse


def shelves_of(
    cluster: Cluster, options: ReadOptions, ranges: Sequence[Range]
) -> Mapping[values.TopicPartition, History]:
    """What may be read from the options' tier, by partition; nothing where it is not set. StoreError, ClientError."""
    if options.tier is None or not ranges:
        return {}
    spans: dict[values.TopicPartition, tuple[int, int]] = {}
    for piece in ranges:
        low, high = spans.get(piece.of, (piece.start, piece.until))
        spans[piece.of] = min(low, piece.start), max(high, piece.until)
    asked: list[Asked] = []
    for of in _tiered(cluster, spans):
        info = cluster.topic(of.topic)
        if info.has_id:
            asked.append(Asked(of, info.topic_id, *spans[of]))
    found = look_up(options.tier, asked, options.isolation)
    agreed = {of: _agreed(cluster, TopicPartition(*of), one) for of, one in found.items()}
    return {of: History(one.objects, until, one.marks) for of, (one, until) in agreed.items() if until > spans[of][0]}


def _tiered(
    cluster: Cluster, spans: Mapping[values.TopicPartition, tuple[int, int]]
) -> Sequence[values.TopicPartition]:
    """Those of which the tier has something wanted: by what brokers tell, or because they have it no more themselves.

    A leader that has just begun does not know yet what is up there, but where its own log begins.
    """
    wanted = {TopicPartition(*of): start for of, (start, _) in spans.items()}
    try:
        tiered = list_offsets(cluster, dict.fromkeys(wanted, LATEST_TIERED))
        local = list_offsets(cluster, dict.fromkeys(wanted, EARLIEST_LOCAL))
    except RefusedError:
        return list(spans)  # brokers that do not tell
    return [
        values.TopicPartition(*of)
        for of, start in wanted.items()
        if tiered[of].offset >= start or local[of].offset > start
    ]


def _agreed(cluster: Cluster, of: TopicPartition, found: Found) -> tuple[History, int]:
    """What was found, and up to where the partition's leader has the same."""
    deadline = cluster.deadline()

    def shared() -> int:
        link, _, leader = cluster.leader(of, deadline)
        if leader.leader_epoch == found.leader_epoch:
            return found.history.until  # it has taken the manifest over, and cut off what it does not share
        newest = found.epochs[-1][0] if found.epochs else 0
        part = OffsetForLeaderPartition(of.partition, leader.leader_epoch, newest)
        request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(of.topic, [part])])
        version = link.versions.choose(OffsetForLeaderEpochRequest)
        answer = link.call(request, OffsetForLeaderEpochResponse, version, deadline)
        for topic in answer.topics:
            for one in topic.partitions:
                if one.error_code:
                    raise refusal(one.error_code, f"compare the history of {of}", f"topic {of.topic}")
                return shared_until(found, one.leader_epoch, one.end_offset)
        return 0

    return found.history, cluster.retry(f"compare the tier's history of {of} with its leader's", shared, deadline)


def shared_until(found: Found, epoch: int, end_offset: int) -> int:
    """Where the leader's history leaves the tier's: it ends `epoch`, the newest that it knows of the tier's, there."""
    if epoch < 0 or end_offset < 0:
        return 0
    others = [start for other, start in found.epochs if other > epoch]
    return min([found.history.until, end_offset, *others])
