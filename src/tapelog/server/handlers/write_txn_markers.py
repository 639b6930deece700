"""WriteTxnMarkers, versions 1 and 2: a transaction coordinator ends transactions in partitions led here.

Also what an administrator's abort of a hanging transaction sends. From version 2 each marker says by which transaction
version it is to be judged; before, its epoch may be that of the transaction it ends. One answer, when all markers are
committed or have failed.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from tapelog.wire.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)


def handle(node: NodeApi, call: Call, request: WriteTxnMarkersRequest) -> None:
    """Write every marker; answer when the last one is decided."""
    answers = [WritableTxnMarkerResult(producer_id=wanted.producer_id) for wanted in request.markers]
    missing = len(answers)

    def writing(number: int) -> Callable[[dict[tuple[str, int], ErrorCode]], None]:
        def done(codes: dict[tuple[str, int], ErrorCode]) -> None:
            nonlocal missing
            answers[number].topics = _topics(codes)
            missing -= 1
            if missing == 0:
                call.reply(WriteTxnMarkersResponse(markers=answers))

        return done

    if not answers:
        call.reply(WriteTxnMarkersResponse())
    for number, wanted in enumerate(request.markers):
        node.markers.write(_marker(wanted), _partitions(wanted), writing(number))


def _marker(wanted: WritableTxnMarker) -> TxnMarker:
    return TxnMarker(
        producer_id=wanted.producer_id,
        producer_epoch=wanted.producer_epoch,
        commit=wanted.transaction_result,
        coordinator_epoch=wanted.coordinator_epoch,
        transaction_version=wanted.transaction_version,
    )


def _partitions(wanted: WritableTxnMarker) -> list[tuple[str, int]]:
    return [(topic.name, index) for topic in wanted.topics for index in topic.partition_indexes]


def _topics(codes: dict[tuple[str, int], ErrorCode]) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for (name, index), code in codes.items():
        topic = topics.setdefault(name, WritableTxnMarkerTopicResult(name=name))
        topic.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=int(code)))
    return list(topics.values())
