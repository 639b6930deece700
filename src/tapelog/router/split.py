"""Requests about partitions: one part for each leader, and one answer of all of them.

ListOffsets, OffsetForLeaderEpoch, DeleteRecords and DescribeProducers differ only in what their fields are called. A
request whose partitions all have one leader goes on as it came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapelog.router.catalogue import Key
from tapelog.router.frames import Call, changed, framed, greatest
from tapelog.router.upstream import NodeLostError
from tapelog.wire.errors import ErrorCode

if TYPE_CHECKING:
    from tapelog.router.session import Session

NOBODY = -1
MOVED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
"""Errors after which the leader is asked for again."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the fields of a request and its answer are called. `item`: a partition of the request is a bare number."""

    topics: str
    topic: str
    partitions: str
    partition: str
    answer_topics: str
    answer_partitions: str
    answer_partition: str
    topic_id: str = ""
    bare: bool = False

    def key(self, topic: Any) -> Key:
        """The topic's id where the version has it, else its name."""
        by_id = getattr(topic, self.topic_id) if self.topic_id else b""
        return by_id if any(by_id) else getattr(topic, self.topic)

    def index(self, partition: Any) -> int:
        """The partition's number in a request."""
        return int(partition if self.bare else getattr(partition, self.partition))


LIST_OFFSETS = Shape("topics", "name", "partitions", "partition_index", "topics", "partitions", "partition_index")
LEADER_EPOCHS = Shape("topics", "topic", "partitions", "partition", "topics", "partitions", "partition")
DELETE_RECORDS = LIST_OFFSETS
PRODUCERS = Shape("topics", "name", "partition_indexes", "", "topics", "partitions", "partition_index", bare=True)

Parts = dict[int, list[tuple[Any, list[Any]]]]
"""Leader → topics, each with the partitions it leads."""


async def by_leader(session: Session, shape: Shape, request: Any) -> Parts:
    """The request's partitions under their leaders; those without one under NOBODY."""
    topics = getattr(request, shape.topics)
    catalogue = session.catalogue
    await catalogue.locate(
        (shape.key(topic), shape.index(part)) for topic in topics for part in getattr(topic, shape.partitions)
    )
    parts: Parts = {}
    for topic in topics:
        key = shape.key(topic)
        mine: dict[int, list[Any]] = {}
        for part in getattr(topic, shape.partitions):
            leader = catalogue.leader(key, shape.index(part))
            mine.setdefault(leader if leader in catalogue.nodes else NOBODY, []).append(part)
        for leader, found in mine.items():
            parts.setdefault(leader, []).append((topic, found))
    return parts


def sub_request(shape: Shape, request: Any, topics: Iterable[tuple[Any, list[Any]]]) -> Any:
    """The same request about these partitions only."""
    chosen = [changed(topic, **{shape.partitions: found}) for topic, found in topics]
    return changed(request, **{shape.topics: chosen})


def missing(session: Session, key: Key) -> ErrorCode:
    """Why a partition has no leader here."""
    if session.catalogue.knows(key):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.UNKNOWN_TOPIC_ID if isinstance(key, bytes) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def splitting(
    shape: Shape, refused: Callable[[int, ErrorCode], Any], topic_answer: Callable[[Any, list[Any]], Any], made: Any
) -> Callable[[Session, Call], Any]:
    """A handler for an API of this shape. refused: a partition's answer that is an error; topic_answer: a topic's of
    its partitions' answers; made: the class of the whole answer."""

    async def handle(session: Session, call: Call) -> bytes:
        request = call.decode()
        parts = await by_leader(session, shape, request)
        nodes = [node for node in parts if node != NOBODY]
        whole = len(parts) == 1 and nodes
        frames = [
            framed(call.payload) if whole else call.encode(sub_request(shape, request, parts[node])) for node in nodes
        ]
        told = await asyncio.gather(
            *(session.ask(node, frame) for node, frame in zip(nodes, frames, strict=True)), return_exceptions=True
        )
        answers: list[Any] = []
        for node, payload in zip(nodes, told, strict=True):
            if isinstance(payload, NodeLostError):
                answers += _refusals(shape, parts[node], refused, topic_answer, _moved)
            elif isinstance(payload, BaseException):
                raise payload
            else:
                answer = call.answer(payload)
                _doubt(session, shape, answer)
                if whole:
                    return framed(payload)
                answers += getattr(answer, shape.answer_topics)
        answers += _refusals(shape, parts.get(NOBODY, []), refused, topic_answer, lambda key: missing(session, key))
        return call.reply(made(**{shape.answer_topics: merged(shape, answers)}))

    return handle


def _moved(key: Key) -> ErrorCode:
    return ErrorCode.NOT_LEADER_OR_FOLLOWER


def _refusals(
    shape: Shape,
    topics: Iterable[tuple[Any, list[Any]]],
    refused: Callable[[int, ErrorCode], Any],
    topic_answer: Callable[[Any, list[Any]], Any],
    why: Callable[[Key], ErrorCode],
) -> list[Any]:
    return [
        topic_answer(topic, [refused(shape.index(part), why(shape.key(topic))) for part in found])
        for topic, found in topics
    ]


def _doubt(session: Session, shape: Shape, answer: Any) -> None:
    for topic in getattr(answer, shape.answer_topics):
        for part in getattr(topic, shape.answer_partitions):
            if part.error_code in MOVED:
                session.catalogue.doubt(shape.key(topic), getattr(part, shape.answer_partition))


def merged(shape: Shape, topics: Iterable[Any]) -> list[Any]:
    """Each topic once, with all its partitions' answers."""
    found: dict[Key, Any] = {}
    for topic in topics:
        known = found.setdefault(shape.key(topic), topic)
        if known is not topic:
            getattr(known, shape.answer_partitions).extend(getattr(topic, shape.answer_partitions))
    return list(found.values())


def throttle(answers: Iterable[Any]) -> int:
    """The longest any node asks the client to wait."""
    return greatest(answer.throttle_time_ms for answer in answers)
