"""The transaction coordinator's markers on their way to wherever the partitions are led.

Implements `coordinators.transactions.marker.MarkerWriter` over a cluster: partitions led here get theirs by a call
(`node.markers`), those led elsewhere by WriteTxnMarkers, many markers in one request. A partition without a leader, a
lost answer and another node that knows less than we do are all told as NOT_LEADER_OR_FOLLOWER: the coordinator tries
again. Only the image here says that a partition is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.node.gathering import Gathering
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tapelog.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

Place = tuple[str, int]
Codes = dict[Place, ErrorCode]

VERSION: Final = 2


class Parcel:
    """One marker for the partitions that one other node leads."""

    __slots__ = ("done", "marker", "partitions")

    def __init__(self, marker: TxnMarker, partitions: list[Place], done: Callable[[Codes], None]) -> None:
        self.marker = marker
        self.partitions = partitions
        self.done = done

    @property
    def key(self) -> int:
        """Answers are told apart by it."""
        return self.marker.producer_id


class Collected:
    """The answers of several nodes, given as one."""

    def __init__(self, missing: int, done: Callable[[Codes], None]) -> None:
        self._missing = missing
        self._codes: Codes = {}
        self._done = done

    def put(self, codes: Codes) -> None:
        """One more has answered; the last one ends the wait."""
        self._codes.update(codes)
        self._missing -= 1
        if self._missing == 0:
            self._done(self._codes)


class ClusterMarkers:
    """Writes markers to partitions, wherever their leaders are."""

    def __init__(self, node: NodeCore) -> None:
        self._node = node
        self._gathering: Gathering[Parcel] = Gathering("markers", self._send)

    def write(self, marker: TxnMarker, partitions: list[Place], done: Callable[[Codes], None]) -> None:
        """See `MarkerWriter`."""
        node = self._node
        settled: Codes = {}
        by_leader: dict[int, list[Place]] = {}
        for place in dict.fromkeys(partitions):
            led = node.image.partition(*place)
            if led is None:
                settled[place] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif led.leader < 0:
                settled[place] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            else:
                by_leader.setdefault(led.leader, []).append(place)
        collected = Collected(1 + len(by_leader), done)
        for leader, places in by_leader.items():
            if leader == node.node_id:
                node.markers.write(marker, places, collected.put)
            else:
                self._gathering.add(leader, Parcel(marker, places, collected.put))
        collected.put(settled)

    def _send(self, node_id: int, lane: str, parcels: list[Parcel], back: Callable[[], None]) -> None:
        request = WriteTxnMarkersRequest(markers=[_marker(parcel) for parcel in parcels])

        def answered(response: Message | None) -> None:
            back()
            codes = _answers(response) if isinstance(response, WriteTxnMarkersResponse) else {}
            for parcel in parcels:
                told = codes.get(parcel.marker.producer_id, {})
                parcel.done({place: _known_here(told.get(place)) for place in parcel.partitions})

        timeout_ms = self._node.setting_int("request.timeout.ms")
        self._node.to_broker(node_id, lane, request, VERSION, timeout_ms, answered)


def _known_here(code: ErrorCode | None) -> ErrorCode:
    if code is None or code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code


def _marker(parcel: Parcel) -> WritableTxnMarker:
    marker = parcel.marker
    topics: dict[str, WritableTxnMarkerTopic] = {}
    for name, index in parcel.partitions:
        topics.setdefault(name, WritableTxnMarkerTopic(name=name)).partition_indexes.append(index)
    return WritableTxnMarker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transaction_result=marker.commit,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
        topics=list(topics.values()),
    )


def _answers(response: WriteTxnMarkersResponse) -> dict[int, Codes]:
    return {
        one.producer_id: {
            (topic.name, partition.partition_index): ErrorCode(partition.error_code)
            for topic in one.topics
            for partition in topic.partitions
        }
        for one in response.markers
    }
