"""Produce: to the leaders, in order. `start` sends, `finish` gathers: so that a client's produces may overlap.

A part that certainly did not reach its leader is refused with NOT_LEADER_OR_FOLLOWER, one that may have with
REQUEST_TIMED_OUT: clients retry both, and know that after the second there may be a duplicate if not idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from tapelog.router import split
from tapelog.router.frames import Call, framed
from tapelog.router.split import NOBODY, Parts, Shape
from tapelog.router.upstream import NodeLostError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.produce_response import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from tapelog.router.session import Session

SHAPE = Shape(
    "topic_data", "name", "partition_data", "index", "responses", "partition_responses", "index", topic_id="topic_id"
)
LATE_MS = 1_000
"""A node that has not answered so long after the request's own time limit will not."""


async def start(session: Session, call: Call) -> Coroutine[Any, Any, bytes | None]:
    """Send every part to its leader, in the order of calls; what remains is to wait for answers."""
    request = call.decode()
    parts = await split.by_leader(session, SHAPE, request)
    whole = len(parts) == 1 and NOBODY not in parts
    waiting: dict[int, asyncio.Future[bytes]] = {}
    for node in [node for node in parts if node != NOBODY]:
        frame = framed(call.payload) if whole else call.encode(split.sub_request(SHAPE, request, parts[node]))
        try:
            lane = await session.lane(node)
        except NodeLostError as lost:
            waiting[node] = asyncio.get_running_loop().create_future()
            waiting[node].set_exception(lost)
            waiting[node].exception()  # perhaps the client has gone before anybody looks
            continue
        if request.acks == 0:
            lane.send_unanswered(frame)
        else:
            waiting[node] = lane.send(frame)
        await lane.drain()
    return _finish(session, call, parts, waiting, request)


async def _finish(
    session: Session, call: Call, parts: Parts, waiting: dict[int, asyncio.Future[bytes]], request: Any
) -> bytes | None:
    limit_s = (max(0, request.timeout_ms) + LATE_MS) / 1000
    answers: list[TopicProduceResponse] = []
    throttle_ms = 0
    for node, future in waiting.items():
        try:
            payload = await asyncio.wait_for(future, limit_s)
        except (NodeLostError, TimeoutError) as lost:
            sent = not isinstance(lost, NodeLostError) or lost.sent
            code = ErrorCode.REQUEST_TIMED_OUT if sent else ErrorCode.NOT_LEADER_OR_FOLLOWER
            session.catalogue.doubt_node(node)
            if isinstance(lost, TimeoutError):
                session.drop(node)
            answers += _refused(parts[node], code)
            continue
        answer: ProduceResponse = call.answer(payload)
        clean = _looked_through(session, answer)
        if clean and len(parts) == 1:
            return framed(payload)
        throttle_ms = max(throttle_ms, answer.throttle_time_ms)
        answers += answer.responses
    if request.acks == 0:
        return None
    for topic, found in parts.get(NOBODY, []):
        answers += _refused([(topic, found)], split.missing(session, SHAPE.key(topic)))
    response = ProduceResponse(responses=split.merged(SHAPE, answers), throttle_time_ms=throttle_ms)
    if call.version >= 10 and any(part.current_leader for topic in answers for part in topic.partition_responses):
        response.node_endpoints = [NodeEndpoint(session.me.node_id, session.me.host, session.me.port, None)]
    return call.reply(response)


def _refused(topics: list[tuple[Any, list[Any]]], code: ErrorCode) -> list[TopicProduceResponse]:
    return [
        TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[
                PartitionProduceResponse(index=part.index, error_code=int(code), base_offset=-1) for part in found
            ],
        )
        for topic, found in topics
    ]


def _looked_through(session: Session, answer: ProduceResponse) -> bool:
    """Whether no part was refused. Refusals are learned from, and name no other node to the client."""
    clean = True
    for topic in answer.responses:
        for part in topic.partition_responses:
            if part.error_code:
                clean = False
                if part.error_code in split.MOVED:
                    session.catalogue.doubt(SHAPE.key(topic), part.index)
            leader = part.current_leader
            if leader is not None and leader.leader_id >= 0:
                session.catalogue.learn_leader(SHAPE.key(topic), part.index, leader.leader_epoch, leader.leader_id)
                part.current_leader = LeaderIdAndEpoch(session.me.node_id, leader.leader_epoch)
    return clean
