"""Taking over and ending transactions: versions, coordinators that move, and what is told about those that failed."""

from __future__ import annotations

import pytest

from tapelog.client.errors import DeadlineError, FencedError, RefusedError, TransactionStateError
from tapelog.client.groups import commit, committed
from tapelog.client.metadata import TopicPartition
from tapelog.client.producer_settings import OpenTransaction
from tapelog.client.transactions import Transaction, end_transactions, init_transactional
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.end_txn_response import EndTxnResponse
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest
from tapelog.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest
from tapelog.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tapelog.wire.messages.produce_request import ProduceRequest
from tapelog.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tapelog.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.unit.client.fake_broker import Answer, versions
from tests.unit.client.fake_cluster import TOPIC, FakeCluster

ZERO = TopicPartition(TOPIC, 0)


class Coordinator:
    """Answers what coordinators answer; errors come from fake.errors."""

    def __init__(self, fake: FakeCluster) -> None:
        self.fake = fake
        self.ended: list[tuple[str, bool]] = []
        fake.extra = self

    def __call__(self, node: int, request: Message, version: int) -> Answer | NotImplementedError:
        code = 0
        if not isinstance(request, ProduceRequest):
            code = self.fake.error_for(request) if type(request).__name__ in EXPECTED else 0
            if type(request).__name__ in EXPECTED and node != self.fake.coordinator:
                code = ErrorCode.NOT_COORDINATOR
        if isinstance(request, InitProducerIdRequest):
            return InitProducerIdResponse(error_code=code, producer_id=7, producer_epoch=3)
        if isinstance(request, EndTxnRequest):
            if not code:
                self.ended.append((request.transactional_id, request.committed))
            return EndTxnResponse(error_code=code)
        if isinstance(request, AddOffsetsToTxnRequest):
            return AddOffsetsToTxnResponse(error_code=code)
        if isinstance(request, AddPartitionsToTxnRequest):
            return AddPartitionsToTxnResponse(
                results_by_topic_v3_and_below=[
                    AddPartitionsToTxnTopicResult(
                        one.name, [AddPartitionsToTxnPartitionResult(p, code) for p in one.partitions]
                    )
                    for one in request.v3_and_below_topics
                ]
            )
        if isinstance(request, TxnOffsetCommitRequest):
            rows = [TxnOffsetCommitResponsePartition(0, code)]
            return TxnOffsetCommitResponse(topics=[TxnOffsetCommitResponseTopic(TOPIC, rows)])
        if isinstance(request, OffsetCommitRequest):
            return OffsetCommitResponse(
                topics=[OffsetCommitResponseTopic(TOPIC, partitions=[OffsetCommitResponsePartition(0, code)])]
            )
        if isinstance(request, OffsetFetchRequest):
            if version < 8:
                told = [OffsetFetchResponseTopic(TOPIC, [OffsetFetchResponsePartition(0, 42, error_code=code)])]
                return OffsetFetchResponse(topics=told)
            row = OffsetFetchResponsePartitions(0, 42, error_code=code)
            topics = [OffsetFetchResponseTopics(TOPIC, partitions=[row, OffsetFetchResponsePartitions(1, -1)])]
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics)])
        if isinstance(request, ProduceRequest):
            topic = request.topic_data[0]
            rows2 = [PartitionProduceResponse(one.index) for one in topic.partition_data]
            return ProduceResponse(responses=[TopicProduceResponse(topic.name, topic.topic_id, rows2)])
        return NotImplementedError()


EXPECTED = {
    "InitProducerIdRequest",
    "EndTxnRequest",
    "AddOffsetsToTxnRequest",
    "AddPartitionsToTxnRequest",
    "TxnOffsetCommitRequest",
    "OffsetCommitRequest",
    "OffsetFetchRequest",
}


def sent(fake: FakeCluster) -> list[tuple[str, int]]:
    """Requests of a transaction with their versions, in order."""
    names = EXPECTED | {"ProduceRequest"}
    return [(type(one).__name__, v) for one, v in fake.brokers[1].asked if type(one).__name__ in names]


def write(fake: FakeCluster) -> Transaction:
    transaction = Transaction(fake.connect(), "query-0", timeout_ms=1234)
    producer = transaction.producer()
    assert transaction.producer() is producer
    producer.send(TOPIC, b"k", b"v", 1, partition=0)
    producer.flush()
    transaction.commit_offsets("g", {ZERO: 5})
    return transaction


def test_where_brokers_add_partitions_by_themselves_nothing_is_asked_beforehand() -> None:
    with FakeCluster() as fake:
        coordinator = Coordinator(fake)
        fake.brokers[1].about = versions(transaction_version=2)
        transaction = write(fake)
        assert sent(fake) == [("InitProducerIdRequest", 5), ("ProduceRequest", 13), ("TxnOffsetCommitRequest", 5)]
        assert transaction.handle == OpenTransaction("query-0", 7, 3, 5)
        assert fake.asked(InitProducerIdRequest)[0].transaction_timeout_ms == 1234  # type: ignore[attr-defined]
        assert end_transactions(fake.connect(), [transaction.handle], commit=True) == {}
        assert coordinator.ended == [("query-0", True)]


def test_older_clusters_are_told_partitions_and_groups_first() -> None:
    with FakeCluster() as fake:
        Coordinator(fake)
        fake.brokers[1].about = versions(transaction_version=1)
        assert write(fake).handle.end_version == 4
        assert sent(fake) == [
            ("InitProducerIdRequest", 5),
            ("AddPartitionsToTxnRequest", 3),
            ("ProduceRequest", 11),
            ("AddOffsetsToTxnRequest", 4),
            ("TxnOffsetCommitRequest", 4),
        ]


def test_the_end_is_repeated_in_the_version_of_the_handle() -> None:
    with FakeCluster() as fake:
        coordinator = Coordinator(fake)
        fake.errors = [(EndTxnRequest, ErrorCode.CONCURRENT_TRANSACTIONS), (EndTxnRequest, ErrorCode.NOT_COORDINATOR)]
        assert end_transactions(fake.connect(), [OpenTransaction("a", 1, 2, 4)], commit=False) == {}
        assert sent(fake) == [("EndTxnRequest", 4)] * 3
        assert coordinator.ended == [("a", False)]


def test_a_coordinator_that_moved_is_found_and_only_what_is_left_is_sent_again() -> None:
    with FakeCluster(brokers=2) as fake:
        coordinator = Coordinator(fake)
        cluster = fake.connect()
        handles = [OpenTransaction(f"q-{n}", n, 0, 5) for n in range(250)]
        assert end_transactions(cluster, handles[:1], commit=True) == {}
        fake.coordinator = 2
        assert end_transactions(cluster, handles, commit=True) == {}
        assert sorted(coordinator.ended[1:]) == sorted((one.transactional_id, True) for one in handles)
        assert len(fake.asked(EndTxnRequest)) == 252


def test_what_failed_is_told_for_each_and_the_others_are_ended() -> None:
    with FakeCluster() as fake:
        coordinator = Coordinator(fake)
        fake.errors = [
            (EndTxnRequest, ErrorCode.PRODUCER_FENCED),
            (EndTxnRequest, ErrorCode.INVALID_TXN_STATE),
            (EndTxnRequest, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ]
        handles = [OpenTransaction(f"q-{n}", n, 0, 5) for n in range(4)]
        failed = end_transactions(fake.connect(), handles, commit=True)
        assert [type(failed[one]) for one in handles[:3]] == [FencedError, TransactionStateError, RefusedError]
        assert coordinator.ended == [("q-3", True)]
        fake.errors = [(EndTxnRequest, ErrorCode.CONCURRENT_TRANSACTIONS)] * 1000
        (late,) = end_transactions(fake.connect(), handles[3:], commit=True).values()
        assert isinstance(late, DeadlineError) and "q-3 within 60 s" in late.what


def test_taking_over_waits_for_the_last_transaction_to_end_and_fails_as_a_whole() -> None:
    with FakeCluster() as fake:
        Coordinator(fake)
        fake.errors = [(InitProducerIdRequest, ErrorCode.CONCURRENT_TRANSACTIONS)] * 3
        assert sorted(init_transactional(fake.connect(), ["a", "b", "a"])) == ["a", "b"]
        assert len(fake.pace.slept) >= 2
        fake.errors = [(InitProducerIdRequest, ErrorCode.INVALID_TRANSACTION_TIMEOUT)]
        with pytest.raises(RefusedError, match="INVALID_TRANSACTION_TIMEOUT"):
            init_transactional(fake.connect(), ["a"])
        with pytest.raises(RefusedError, match="two phases"):
            init_transactional(fake.connect(), ["a"], two_phase=True)


@pytest.mark.parametrize("newest", [10, 7, 5])
def test_offsets_of_groups_are_read_and_written_in_any_version(newest: int) -> None:
    with FakeCluster() as fake:
        Coordinator(fake)
        fake.brokers[1].about = versions({3: (0, 12), 8: (2, newest), 9: (1, newest), 10: (0, 4)})
        cluster = fake.connect()
        fake.errors = [(OffsetFetchRequest, ErrorCode.UNSTABLE_OFFSET_COMMIT)]
        assert {at: one.offset for at, one in committed(cluster, "g", [ZERO, TopicPartition(TOPIC, 1)]).items()} == {
            ZERO: 42
        }
        assert {v for name, v in sent(fake) if name == "OffsetFetchRequest"} == {min(newest, 9)}
        fake.errors = [(OffsetCommitRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
        commit(cluster, "g", {ZERO: 9})
        fake.errors = [(OffsetCommitRequest, ErrorCode.UNKNOWN_MEMBER_ID)]
        with pytest.raises(RefusedError, match="members of its own"):
            commit(cluster, "g", {ZERO: 9})
