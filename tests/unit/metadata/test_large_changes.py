"""A change of many records: several batches in the log, and yet all of it or nothing."""

from __future__ import annotations

import pytest

from tapelog.metadata import records
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.quorum import BATCH_RECORDS_MAX
from tapelog.metadata.record_types import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
)
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tapelog.wire.record_batch import last_offset
from tests.unit.metadata.harness import Cluster, MemoryLog
from tests.unit.metadata.test_topics import create, topic


def grown(at_most: int = 4) -> tuple[Cluster, MetadataImage, int]:
    """A cluster with a topic of ten partitions, created in batches of at most so many records; the image and the end of
    the log before that."""
    cluster = Cluster()
    create(cluster, topic("before"))
    cluster.log.batch_records_max = at_most
    before, end = cluster.image, cluster.port.end_offset
    create(cluster, topic("t", 10))
    return cluster, before, end


def sizes_and_records(cluster: Cluster, offset: int) -> tuple[list[int], list[MetadataRecord]]:
    """How many records each batch has from offset on, and all of them."""
    batches = list(records.decode_batches(cluster.port.read(offset, 1 << 30)))
    return [len(batch.records) for batch in batches], [record for batch in batches for record in batch.records]


def test_a_large_change_is_a_transaction_of_several_batches() -> None:
    cluster, _, end = grown()
    sizes, found = sizes_and_records(cluster, end)
    assert sizes == [1, 4, 4, 3, 1]
    assert isinstance(found[0], BeginTransactionRecord)
    assert isinstance(found[-1], EndTransactionRecord)
    assert cluster.reopened().image.same_state(cluster.image)
    assert len(cluster.image.topics["t"].partitions) == 10


def test_a_small_change_is_one_batch() -> None:
    cluster, _, end = grown(11)
    assert sizes_and_records(cluster, end)[0] == [11]


def test_a_controller_that_ends_between_the_batches_leaves_nothing_of_the_change() -> None:
    whole, before, end = grown()
    after = whole.image
    for kept in range(len(whole.port.batches) + 1):
        port = MemoryLog()
        port.batches = whole.port.batches[:kept]
        port.end_offset = last_offset(port.batches[-1], 0) + 1 if port.batches else 0
        if port.end_offset < end:
            continue
        next_one = Cluster(port=port, lead=False)
        next_one.lead(next_one.last_epoch + 1)
        next_one.commit()
        complete = kept == len(whole.port.batches)
        assert next_one.image.same_state(after if complete else before)
        create(next_one, topic("more"))
        again = Cluster(port=port, lead=False)
        assert again.image.same_state(next_one.image), "what follows an unfinished change counts"
        assert "more" in again.image.topics


def test_a_large_change_that_cannot_be_appended_as_a_whole_is_taken_back() -> None:
    cluster = Cluster()
    cluster.log.batch_records_max = 4
    before, end = cluster.image, cluster.port.end_offset
    append, appended = cluster.port.append, []

    def third_fails(batch: bytes, leader_epoch: int) -> int:
        appended.append(batch)
        if len(appended) == 3:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no")
        return append(batch, leader_epoch)

    cluster.port.append = third_fails  # type: ignore[method-assign]
    errors: list[Exception] = []
    request = CreateTopicsRequest(topics=[topic("t", 10)])
    cluster.log.propose(
        lambda image: cluster.controller.create_topics(image, request),
        lambda _: pytest.fail("it failed"),
        errors.append,
    )
    cluster.commit()
    assert isinstance(errors[0], KafkaError)
    assert isinstance(sizes_and_records(cluster, end)[1][-1], AbortTransactionRecord)
    create(cluster, topic("more"))
    assert "more" in cluster.image.topics
    again = cluster.reopened().image
    assert again.same_state(cluster.image)
    assert set(again.topics) == {*before.topics, "more"}


def test_a_broker_with_very_many_partitions_is_fenced() -> None:
    cluster = Cluster(2)
    cluster.checked = False
    for number in range(3):
        create(cluster, topic(f"t{number}", 9_000))
    end = cluster.port.end_offset
    known = cluster.image.brokers[1]
    told: list[object] = []
    cluster.log.propose(lambda image: cluster.controller.fence_broker(image, 1, known.epoch), told.append, told.append)
    cluster.commit()
    assert told == [None]
    assert max(sizes_and_records(cluster, end)[0]) <= BATCH_RECORDS_MAX
    assert cluster.image.brokers[1].fenced
    assert all(part.leader != 1 for part in cluster.image.topics["t2"].partitions)
    assert cluster.reopened().image.same_state(cluster.image)
