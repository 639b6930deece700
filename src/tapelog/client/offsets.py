"""Where partitions begin and end, and where a moment lies in them: ListOffsets, sent to all leaders at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError, Retriable, refusal
from tapelog.client.link import Link, Ticket
from tapelog.client.metadata import TopicPartition
from tapelog.client.pace import Deadline
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import ListOffsetsResponse

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
"""Where what the broker has on its own disk begins: before that, history is tiered."""
LATEST_TIERED: Final = -5
"""The last offset that is in the tier; NONE_FOUND where nothing is."""
NONE_FOUND: Final = -1

_VERSION_NEEDED: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}


class Found(NamedTuple):
    """An offset, the timestamp of the record there (-1 where none was asked for), and the leader epoch of then."""

    offset: int
    timestamp: int
    leader_epoch: int


def earliest(
    cluster: Cluster, where: Iterable[TopicPartition], deadline: Deadline | None = None
) -> dict[TopicPartition, int]:
    """Where each partition begins."""
    found = list_offsets(cluster, dict.fromkeys(where, EARLIEST), deadline=deadline)
    return {at: one.offset for at, one in found.items()}


def latest(
    cluster: Cluster,
    where: Iterable[TopicPartition],
    isolation: int = READ_UNCOMMITTED,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, int]:
    """Where each partition ends; for READ_COMMITTED, up to where all transactions are decided."""
    found = list_offsets(cluster, dict.fromkeys(where, LATEST), isolation, deadline)
    return {at: one.offset for at, one in found.items()}


def for_times(
    cluster: Cluster,
    times: Mapping[TopicPartition, int],
    isolation: int = READ_UNCOMMITTED,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, int | None]:
    """The first offset whose timestamp (milliseconds) is not before the time given; None where there is none."""
    found = list_offsets(cluster, times, isolation, deadline)
    return {at: None if one.offset == NONE_FOUND else one.offset for at, one in found.items()}


def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    isolation: int = READ_UNCOMMITTED,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, Found]:
    """For each partition, what was asked about it: a timestamp, or LATEST, EARLIEST, …"""
    limit = deadline or cluster.deadline()
    found: dict[TopicPartition, Found] = {}
    left = {TopicPartition(*at): time for at, time in wanted.items()}

    def attempt() -> None:
        cluster.topics([at.topic for at in left], limit)
        tickets = [(link, _send(link, asked, isolation, limit)) for link, asked in _by_leader(cluster, left, limit)]
        problems: list[ClientError] = []
        for link, ticket in tickets:
            try:
                problems += _collect(link.receive(ticket, limit), left, found)
            except Retriable as error:
                problems.append(error)
        for problem in problems:
            if not isinstance(problem, Retriable):
                raise problem
        if left:
            raise problems[0] if problems else Retriable("a broker did not answer for every partition")

    if left:
        cluster.retry("ask where partitions begin and end", attempt, limit)
    return found


class _Asked(NamedTuple):
    time: int
    leader_epoch: int


def _by_leader(
    cluster: Cluster, left: Mapping[TopicPartition, int], deadline: Deadline
) -> list[tuple[Link, dict[TopicPartition, _Asked]]]:
    groups: dict[int, tuple[Link, dict[TopicPartition, _Asked]]] = {}
    for at, time in left.items():
        link, _, info = cluster.leader(at, deadline)
        groups.setdefault(info.leader, (link, {}))[1][at] = _Asked(time, info.leader_epoch)
    return list(groups.values())


def _send(
    link: Link, asked: Mapping[TopicPartition, _Asked], isolation: int, deadline: Deadline
) -> Ticket[ListOffsetsResponse]:
    version = link.versions.choose(ListOffsetsRequest)
    needed = max(_VERSION_NEEDED.get(one.time, 0) for one in asked.values())
    if version < needed:
        raise refusal(35, "list offsets of this kind", f"broker {link.address}")
    topics: dict[str, ListOffsetsTopic] = {}
    for at, one in asked.items():
        topic = topics.setdefault(at.topic, ListOffsetsTopic(at.topic))
        topic.partitions.append(ListOffsetsPartition(at.partition, one.leader_epoch, one.time))
    request = ListOffsetsRequest(-1, isolation, list(topics.values()), link.settings.request_timeout_ms)
    return link.send(request, ListOffsetsResponse, version, deadline)


def _collect(
    answer: ListOffsetsResponse, left: dict[TopicPartition, int], found: dict[TopicPartition, Found]
) -> list[ClientError]:
    problems: list[ClientError] = []
    for topic in answer.topics:
        for one in topic.partitions:
            at = TopicPartition(topic.name, one.partition_index)
            if at not in left:
                continue
            if one.error_code:
                problems.append(
                    refusal(one.error_code, f"tell the offsets of {at}", f"topic {at.topic}, partition {at.partition}")
                )
            else:
                found[at] = Found(one.offset, one.timestamp, one.leader_epoch)
                del left[at]
    return problems
