"""How heavy partitions are: bytes per offset, from the brokers' log directories. An estimate that only decides sizes.

Used to cut fat partitions into pieces and for maxBytesPerTrigger. Who may not describe the cluster, or asks a broker
that cannot tell, gets no weights: then nothing is cut, and an offset counts as WEIGHT_UNKNOWN bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError, RefusedError
from tapelog.client.link import Link
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, list_offsets
from tapelog.client.pace import Deadline
from tapelog.spark.plan import values
from tapelog.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse


def weights_of(cluster: Cluster, partitions: Iterable[values.TopicPartition]) -> dict[values.TopicPartition, float]:
    """Bytes per offset of those partitions whose leaders tell."""
    asked = [TopicPartition(*of) for of in partitions]
    try:
        sizes = _sizes(cluster, asked)
        known = [of for of in asked if sizes.get(of)]
        first = _first(cluster, known)
        last = list_offsets(cluster, dict.fromkeys(known, LATEST))
    except ClientError:
        return {}
    spans = {of: last[of].offset - first[of] for of in known if of in first and of in last}
    return {values.TopicPartition(*of): sizes[of] / span for of, span in spans.items() if span > 0}


def _first(cluster: Cluster, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Where what lies on the leaders' own disks begins."""
    try:
        found = list_offsets(cluster, dict.fromkeys(partitions, EARLIEST_LOCAL))
    except RefusedError:  # by brokers from before tiered storage
        found = list_offsets(cluster, dict.fromkeys(partitions, EARLIEST))
    return {of: one.offset for of, one in found.items()}


def _sizes(cluster: Cluster, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    deadline = cluster.deadline()
    by_leader: dict[str, tuple[Link, dict[str, list[int]]]] = {}
    for of in partitions:
        link, _, _ = cluster.leader(of, deadline)
        topics = by_leader.setdefault(str(link.address), (link, {}))[1]
        topics.setdefault(of.topic, []).append(of.partition)
    found: dict[TopicPartition, int] = {}
    for link, topics in by_leader.values():
        found |= _ask(link, topics, deadline)
    return found


def _ask(link: Link, topics: dict[str, list[int]], deadline: Deadline) -> dict[TopicPartition, int]:
    request = DescribeLogDirsRequest([DescribableLogDirTopic(name, parts) for name, parts in topics.items()])
    answer = link.call(request, DescribeLogDirsResponse, link.versions.choose(DescribeLogDirsRequest), deadline)
    return {
        TopicPartition(topic.name, part.partition_index): part.partition_size
        for directory in answer.results
        for topic in directory.topics
        for part in topic.partitions
        if not part.is_future_key
    }
