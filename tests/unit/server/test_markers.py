"""WriteTxnMarkers and DescribeProducers: markers reach the partitions they name, once, and are judged by their epochs;
what a partition remembers of its producers can be asked for."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tapelog.wire.messages.describe_producers_response import PartitionResponse
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tapelog.wire.record_batch import batches
from tests.support.rig import TOPIC, Rig, raw_records

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
FENCED = ErrorCode.TRANSACTION_COORDINATOR_FENCED
INVALID_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.create(partitions=3)
    return rig


def begin(rig: Rig, index: int = 0, *, producer_id: int = 7, epoch: int = 0, sequence: int = 0) -> None:
    """Records of a transaction, put into the log behind the coordinator's back."""
    batch = rig.batch(b"part of it", producer=(producer_id, epoch, sequence), transactional=True)
    partition = rig.partition(index=index)
    partition.append(batch, 0, len(batch), 0)
    rig.node.settle()
    rig.node.pass_time(20)


def marker(
    *partitions: tuple[str, int], producer_id: int = 7, epoch: int = 0, commit: bool = True, **fields: int
) -> WritableTxnMarker:
    """One marker for these partitions."""
    topics: dict[str, WritableTxnMarkerTopic] = {}
    for name, index in partitions:
        topics.setdefault(name, WritableTxnMarkerTopic(name=name)).partition_indexes.append(index)
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=list(topics.values()),
        **fields,  # type: ignore[arg-type]
    )


def write(rig: Rig, *markers: WritableTxnMarker, version: int = 2) -> dict[tuple[int, str, int], int]:
    """Send markers; the error code by producer and partition."""
    response = rig.client.call(WriteTxnMarkersRequest(markers=list(markers)), version)
    return {
        (result.producer_id, topic.name, part.partition_index): part.error_code
        for result in response.markers
        for topic in result.topics
        for part in topic.partitions
    }


def describe(rig: Rig, index: int = 0, topic: str = TOPIC) -> PartitionResponse:
    """DescribeProducers for one partition."""
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[index])])
    answer: PartitionResponse = rig.client.call(request, 0).topics[0].partitions[0]
    return answer


# -- markers


@pytest.mark.parametrize("version", [1, 2])
def test_a_marker_is_a_control_batch_of_its_producer(rig: Rig, version: int) -> None:
    begin(rig)
    assert write(rig, marker((TOPIC, 0), coordinator_epoch=4), version=version) == {(7, TOPIC, 0): 0}
    raw = raw_records(rig.fetch(1))
    (header,) = batches(raw, 0, len(raw))
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, -1)
    assert rig.fetch(0).last_stable_offset == 2


def test_markers_end_transactions_in_many_partitions_and_of_many_producers(rig: Rig) -> None:
    for index in range(3):
        begin(rig, index)
        begin(rig, index, producer_id=8)
    codes = write(
        rig,
        marker((TOPIC, 0), (TOPIC, 1), (TOPIC, 2)),
        marker((TOPIC, 0), ("nothing", 0), (TOPIC, 9), (TOPIC, -1), producer_id=8, commit=False),
    )
    assert codes == {
        **{(7, TOPIC, index): 0 for index in range(3)},
        (8, TOPIC, 0): 0,
        (8, "nothing", 0): UNKNOWN,
        (8, TOPIC, 9): UNKNOWN,
        (8, TOPIC, -1): UNKNOWN,
    }
    assert [rig.fetch(0, index=index).last_stable_offset for index in range(3)] == [4, 1, 1]


def test_the_answer_waits_until_the_marker_is_on_disk(rig: Rig) -> None:
    begin(rig)
    flushes = rig.hold_flushes()
    answers = rig.later(WriteTxnMarkersRequest(markers=[marker((TOPIC, 0))]), 1, rig.connect())
    rig.node.pass_time(1000)
    assert not answers
    assert rig.fetch(0).last_stable_offset == 0
    flushes.release()
    assert answers[0].markers[0].topics[0].partitions[0].error_code == 0
    assert rig.fetch(0).last_stable_offset == 2


def test_a_request_without_markers_is_answered(rig: Rig) -> None:
    assert write(rig) == {}
    assert write(rig, marker()) == {}


def test_a_marker_named_twice_is_written_once(rig: Rig) -> None:
    begin(rig)
    assert write(rig, marker((TOPIC, 0), (TOPIC, 0))) == {(7, TOPIC, 0): 0}
    assert rig.partition().log.end_offset == 2


def test_older_producers_and_coordinators_are_refused(rig: Rig) -> None:
    begin(rig, epoch=5)
    assert write(rig, marker((TOPIC, 0), epoch=4)) == {(7, TOPIC, 0): INVALID_EPOCH}
    assert write(rig, marker((TOPIC, 0), epoch=5, coordinator_epoch=2)) == {(7, TOPIC, 0): 0}
    assert write(rig, marker((TOPIC, 0), epoch=5, coordinator_epoch=1)) == {(7, TOPIC, 0): FENCED}


def test_version_2_of_transactions_asks_for_a_newer_epoch_and_knows_a_retry(rig: Rig) -> None:
    begin(rig, epoch=5)
    assert write(rig, marker((TOPIC, 0), epoch=5, transaction_version=2)) == {(7, TOPIC, 0): INVALID_EPOCH}
    for _ in range(2):
        assert write(rig, marker((TOPIC, 0), epoch=6, transaction_version=2)) == {(7, TOPIC, 0): 0}
    begin(rig, epoch=6)
    assert write(rig, marker((TOPIC, 0), epoch=6, transaction_version=2)) == {(7, TOPIC, 0): INVALID_EPOCH}
    assert rig.fetch(0).last_stable_offset == 3


def test_a_marker_that_the_disk_has_no_room_for_is_taken_back(rig: Rig) -> None:
    begin(rig)
    rig.node.disk.capacity_bytes = rig.node.disk.total_bytes() - rig.node.disk.free_bytes()
    assert write(rig, marker((TOPIC, 0))) == {(7, TOPIC, 0): ErrorCode.KAFKA_STORAGE_ERROR}
    assert rig.fetch(0).last_stable_offset == 0
    rig.node.disk.capacity_bytes = None
    assert write(rig, marker((TOPIC, 0))) == {(7, TOPIC, 0): 0}


def test_only_the_group_coordinators_internal_topic_takes_markers(rig: Rig) -> None:
    rig.client.call(FindCoordinatorRequest(key="group"), 2)
    rig.create("__transaction_state")
    codes = write(rig, marker(("__transaction_state", 0), ("__consumer_offsets", 99)))
    assert set(codes.values()) == {UNKNOWN}


# -- producers


def test_producers_are_described_with_their_open_transactions(rig: Rig) -> None:
    rig.produce(rig.batch(b"a", b"b", producer=(3, 1, 0)))
    begin(rig, epoch=2, sequence=4)
    begin(rig, producer_id=9)
    write(rig, marker((TOPIC, 0), producer_id=9, epoch=1, coordinator_epoch=6))
    found = {
        one.producer_id: (
            one.producer_epoch,
            one.last_sequence,
            one.current_txn_start_offset,
            one.coordinator_epoch,
        )
        for one in describe(rig).active_producers
    }
    assert found == {3: (1, 1, -1, -1), 7: (2, 4, 2, -1), 9: (1, -1, -1, 6)}
    now = rig.clock.wall_ms()
    assert all(now - 1000 < one.last_timestamp <= now for one in describe(rig).active_producers)
    assert describe(rig, 1).active_producers == []
    assert describe(rig, 7).error_code == UNKNOWN
    assert describe(rig, 0, "nothing").error_code == UNKNOWN
