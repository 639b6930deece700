"""How heavy partitions are: bytes per offset, from the brokers' log directories. An estimate that only decides sizes.

Used to cut fat partitions into pieces and for maxBytesPerTrigger. Who may not describe the cluster gets no weights, and
a broker that cannot be asked costs the weights of what it leads: this is told once, such partitions count as average
ones, and where nothing is known an offset counts as WEIGHT_UNKNOWN bytes and nothing is cut.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError, RefusedError, refusal
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, list_offsets
from tapelog.client.pace import Deadline
from tapelog.spark.plan import values
from tapelog.wire.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse

LOG = logging.getLogger("tapelog.spark")

PATIENCE_SECONDS: Final = 10.0
"""How long a broker is asked for an estimate."""
TOLD_MAX: Final = 100
_TOLD: Final[set[str]] = set()
"""Reasons that this process has told."""


def weights_of(cluster: Cluster, partitions: Iterable[values.TopicPartition]) -> dict[values.TopicPartition, float]:
    """Bytes per offset of those partitions whose leaders tell. A leader that does not costs only its own partitions."""
    asked = [TopicPartition(*of) for of in partitions]
    found: dict[values.TopicPartition, float] = {}
    try:
        leaders = _by_leader(cluster, asked)
    except ClientError as error:
        _tell(error)
        return found
    for led in leaders:
        try:
            weights = _of_broker(cluster, led, cluster.deadline(PATIENCE_SECONDS))
        except ClientError as error:
            _tell(error)
        else:
            found |= {values.TopicPartition(*of): weight for of, weight in weights.items()}
    return found


def _by_leader(cluster: Cluster, partitions: Sequence[TopicPartition]) -> list[list[TopicPartition]]:
    """The partitions, those of one leader together; those without a leader are left out."""
    topics = cluster.topics(list(dict.fromkeys(of.topic for of in partitions)))
    groups: dict[int, list[TopicPartition]] = {}
    for of in partitions:
        info = topics[of.topic].find(of.partition)
        if info is not None and info.leader in cluster.brokers:
            groups.setdefault(info.leader, []).append(of)
    return list(groups.values())


def _of_broker(cluster: Cluster, led: list[TopicPartition], deadline: Deadline) -> dict[TopicPartition, float]:
    """Bytes per offset of partitions that one broker leads."""
    sizes = _sizes(cluster, led, deadline)
    known = [of for of in led if sizes.get(of)]
    first = _first(cluster, known, deadline)
    last = list_offsets(cluster, dict.fromkeys(known, LATEST), deadline=deadline)
    spans = {of: last[of].offset - first[of] for of in known}
    return {of: sizes[of] / span for of, span in spans.items() if span > 0}


def _tell(error: ClientError) -> None:
    """Once for each reason: a stream asks with every batch."""
    why = "; ".join(filter(None, (error.what, error.which)))
    if why not in _TOLD and len(_TOLD) < TOLD_MAX:
        _TOLD.add(why)
        LOG.warning(f"The sizes of some partitions are not known ({why}): each counts as one of average size.")


def _first(cluster: Cluster, partitions: list[TopicPartition], deadline: Deadline) -> dict[TopicPartition, int]:
    """Where what lies on the leaders' own disks begins."""
    try:
        found = list_offsets(cluster, dict.fromkeys(partitions, EARLIEST_LOCAL), deadline=deadline)
    except RefusedError:  # by brokers from before tiered storage
        found = list_offsets(cluster, dict.fromkeys(partitions, EARLIEST), deadline=deadline)
    return {of: one.offset for of, one in found.items()}


def _sizes(cluster: Cluster, led: list[TopicPartition], deadline: Deadline) -> dict[TopicPartition, int]:
    """How many bytes the broker that leads these has of each, in its log directories."""
    link, _, _ = cluster.leader(led[0], deadline)
    topics: dict[str, list[int]] = {}
    for of in led:
        topics.setdefault(of.topic, []).append(of.partition)
    request = DescribeLogDirsRequest([DescribableLogDirTopic(name, parts) for name, parts in topics.items()])
    answer = link.call(request, DescribeLogDirsResponse, link.versions.choose(DescribeLogDirsRequest), deadline)
    if answer.error_code:
        raise refusal(answer.error_code, "tell the sizes of its partitions", f"broker {link.address}")
    return {
        TopicPartition(topic.name, part.partition_index): part.partition_size
        for directory in answer.results
        for topic in directory.topics
        for part in topic.partitions
        if not part.is_future_key
    }
