"""The gate and the markers of a cluster: whom they ask, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tapelog.node.cluster_markers import ClusterMarkers
from tapelog.node.core import NodeCore
from tapelog.node.gate import ClusterGate
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tapelog.wire.messages.write_txn_markers_request import WriteTxnMarkersRequest
from tapelog.wire.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

HERE, THERE = 1, 2
Codes = dict[tuple[str, int], ErrorCode]
MARKER = TxnMarker(producer_id=7, producer_epoch=3, commit=True, coordinator_epoch=5, transaction_version=2)


def _topic(name: str, *leaders: int) -> TopicImage:
    partitions = tuple(PartitionImage((HERE, THERE), (HERE, THERE), leader) for leader in leaders)
    return TopicImage(name, name.encode().ljust(16), partitions)


class Stage:
    """A node among two, as far as gate and markers look."""

    node_id = HERE

    def __init__(self, coordinator: int) -> None:
        topics = [_topic("__transaction_state", coordinator), _topic("orders", HERE, THERE, -1)]
        self.image = MetadataImage(topics={topic.name: topic for topic in topics})
        self.transactions = self.markers = self
        self.local: list[Any] = []
        self.sent: list[tuple[int, str, Any, Callable[[Any], None]]] = []

    def setting_int(self, name: str) -> int:
        return 30_000

    def partition_for(self, transactional_id: str) -> int:
        return 0

    def admit(self, *asked: Any) -> None:
        self.local.append(asked[:-1])
        asked[-1](dict.fromkeys(asked[3], ErrorCode.NONE))

    def write(self, marker: TxnMarker, places: list[tuple[str, int]], done: Callable[[Codes], None]) -> None:
        self.local.append(places)
        done(dict.fromkeys(places, ErrorCode.NONE))

    def to_broker(self, node: int, lane: str, request: Any, version: int, ms: int, done: Callable[[Any], None]) -> None:
        self.sent.append((node, lane, request, done))

    @property
    def core(self) -> NodeCore:
        return cast(NodeCore, self)


def _ask(stage: Stage, *, add: bool = True, id: str = "pay") -> list[Codes]:
    answers: list[Codes] = []
    ClusterGate(stage.core).admit(id, 7, 3, [("orders", 0), ("orders", 1)], add, answers.append)
    return answers


def _told(code: ErrorCode) -> AddPartitionsToTxnResponse:
    results = [AddPartitionsToTxnPartitionResult(partition_index=i, partition_error_code=int(code)) for i in (0, 1)]
    topic = AddPartitionsToTxnTopicResult(name="orders", results_by_partition=results)
    return AddPartitionsToTxnResponse(
        results_by_transaction=[AddPartitionsToTxnResult(transactional_id="pay", topic_results=[topic])]
    )


def test_a_coordinator_here_is_asked_by_a_call() -> None:
    stage = Stage(HERE)
    assert _ask(stage) == [{("orders", 0): ErrorCode.NONE, ("orders", 1): ErrorCode.NONE}]
    assert stage.sent == []


@pytest.mark.parametrize("add", [True, False])
def test_a_coordinator_elsewhere_is_asked_over_the_wire(add: bool) -> None:
    stage = Stage(THERE)
    answers = _ask(stage, add=add)
    node, _, request, done = stage.sent[0]
    assert isinstance(request, AddPartitionsToTxnRequest)
    asked = request.transactions[0]
    assert (node, asked.transactional_id, asked.verify_only) == (THERE, "pay", not add)
    assert [(topic.name, topic.partitions) for topic in asked.topics] == [("orders", [0, 1])]
    assert answers == []
    done(_told(ErrorCode.NONE))
    assert answers == [{("orders", 0): ErrorCode.NONE, ("orders", 1): ErrorCode.NONE}]


@pytest.mark.parametrize(
    ("told", "heard"),
    [
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_the_coordinators_words_are_told_as_its_clients_clients_know_them(told: ErrorCode, heard: ErrorCode) -> None:
    stage = Stage(THERE)
    answers = _ask(stage)
    stage.sent[0][3](_told(told))
    assert set(answers[0].values()) == {heard}


@pytest.mark.parametrize("response", [None, AddPartitionsToTxnResponse(error_code=31), AddPartitionsToTxnResponse()])
def test_a_lost_or_useless_answer_may_be_asked_for_again(response: AddPartitionsToTxnResponse | None) -> None:
    stage = Stage(THERE)
    answers = _ask(stage)
    stage.sent[0][3](response)
    assert set(answers[0].values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


def test_without_a_coordinator_nobody_is_asked() -> None:
    stage = Stage(-1)
    assert set(_ask(stage)[0].values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert stage.sent == []


def _write(stage: Stage, *places: tuple[str, int]) -> list[Codes]:
    answers: list[Codes] = []
    ClusterMarkers(stage.core).write(MARKER, list(places), answers.append)
    return answers


def _written(code: ErrorCode) -> WriteTxnMarkersResponse:
    partition = WritableTxnMarkerPartitionResult(partition_index=1, error_code=int(code))
    topic = WritableTxnMarkerTopicResult(name="orders", partitions=[partition])
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=7, topics=[topic])])


def test_each_leader_gets_its_share_of_the_markers_and_one_answer_tells_of_all() -> None:
    stage = Stage(HERE)
    answers = _write(stage, ("orders", 0), ("orders", 1), ("orders", 2), ("gone", 0))
    assert stage.local == [[("orders", 0)]]
    node, _, request, done = stage.sent[0]
    assert isinstance(request, WriteTxnMarkersRequest)
    marker = request.markers[0]
    assert (node, marker.producer_id, marker.producer_epoch, marker.transaction_result) == (THERE, 7, 3, True)
    assert (marker.coordinator_epoch, marker.transaction_version) == (5, 2)
    assert [(topic.name, topic.partition_indexes) for topic in marker.topics] == [("orders", [1])]
    assert answers == []
    done(_written(ErrorCode.NONE))
    assert answers == [
        {
            ("orders", 0): ErrorCode.NONE,
            ("orders", 1): ErrorCode.NONE,
            ("orders", 2): ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ("gone", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
    ]


def test_another_node_that_does_not_know_a_partition_yet_does_not_end_its_transaction() -> None:
    stage = Stage(HERE)
    answers = _write(stage, ("orders", 1))
    stage.sent[0][3](_written(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert answers == [{("orders", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER}]


@pytest.mark.parametrize("response", [None, WriteTxnMarkersResponse()])
def test_a_marker_whose_answer_is_lost_is_to_be_sent_again(response: WriteTxnMarkersResponse | None) -> None:
    stage = Stage(HERE)
    answers = _write(stage, ("orders", 1))
    stage.sent[0][3](response)
    assert answers == [{("orders", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER}]


def test_a_fenced_coordinator_hears_so() -> None:
    stage = Stage(HERE)
    answers = _write(stage, ("orders", 1))
    stage.sent[0][3](_written(ErrorCode.TRANSACTION_COORDINATOR_FENCED))
    assert answers == [{("orders", 1): ErrorCode.TRANSACTION_COORDINATOR_FENCED}]
