"""WriteTxnMarkers, with which administrators end transactions that hang: each to the leaders of its partitions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tapelog.router import split
from tapelog.router.frames import Call, changed
from tapelog.router.split import NOBODY, Shape
from tapelog.router.upstream import NodeLostError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from tapelog.router.session import Session

SHAPE = Shape("topics", "name", "partition_indexes", "", "topics", "partitions", "partition_index", bare=True)


async def write(session: Session, call: Call) -> bytes:
    """One answer per marker, in the order of the request."""
    request = call.decode()
    results = [WritableTxnMarkerResult(producer_id=marker.producer_id) for marker in request.markers]
    asks: list[tuple[int, int, Any]] = []
    for at, marker in enumerate(request.markers):
        parts = await split.by_leader(session, SHAPE, marker)
        for node, topics in parts.items():
            if node == NOBODY:
                results[at].topics += _refused(topics, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            else:
                asks.append((at, node, topics))

    async def ask(at: int, node: int, topics: Any) -> None:
        marker = split.sub_request(SHAPE, request.markers[at], topics)
        try:
            answer = call.answer(await session.ask(node, call.encode(changed(request, markers=[marker]))))
            results[at].topics += answer.markers[0].topics
        except NodeLostError:
            results[at].topics += _refused(topics, ErrorCode.REQUEST_TIMED_OUT)

    await asyncio.gather(*(ask(*one) for one in asks))
    return call.reply(WriteTxnMarkersResponse(markers=results))


def _refused(topics: Any, code: ErrorCode) -> list[WritableTxnMarkerTopicResult]:
    return [
        WritableTxnMarkerTopicResult(
            topic.name, [WritableTxnMarkerPartitionResult(part, int(code)) for part in partitions]
        )
        for topic, partitions in topics
    ]
