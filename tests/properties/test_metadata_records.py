"""Metadata records survive their bytes; damaged bytes give an error, never nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.metadata import records
from tapelog.metadata.record_types import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tapelog.wire.primitives import WireError

uuids = st.binary(min_size=16, max_size=16)
small = st.text(max_size=12)
ints = st.integers(-(2**31), 2**31 - 1)
lists = st.lists(ints, max_size=4)
maybe_lists = st.none() | lists

any_record: st.SearchStrategy[MetadataRecord] = st.one_of(
    st.builds(TopicRecord, name=small, topic_id=uuids),
    st.builds(RemoveTopicRecord, topic_id=uuids),
    st.builds(
        ConfigRecord, resource_type=st.integers(-128, 127), resource_name=small, name=small, value=st.none() | small
    ),
    st.builds(FeatureLevelRecord, name=small, feature_level=st.integers(-(2**15), 2**15 - 1)),
    st.builds(ProducerIdsRecord, broker_id=ints, next_producer_id=st.integers(0, 2**63 - 1)),
    st.builds(
        PartitionRecord,
        partition_id=ints,
        topic_id=uuids,
        replicas=lists,
        isr=lists,
        leader=ints,
        directories=st.lists(uuids, max_size=3),
        eligible_leader_replicas=maybe_lists,
    ),
    st.builds(
        PartitionChangeRecord,
        partition_id=ints,
        topic_id=uuids,
        isr=maybe_lists,
        leader=ints,
        replicas=maybe_lists,
        directories=st.none() | st.lists(uuids, max_size=3),
    ),
)


@given(any_record)
def test_a_record_reads_back(record: MetadataRecord) -> None:
    assert records.decode_record(records.encode_record(record)) == record


@given(st.lists(any_record, min_size=1, max_size=5), st.integers(0, 2**40), st.integers(0, 100), st.integers(0, 2**40))
def test_a_batch_reads_back(contents: list[MetadataRecord], timestamp: int, epoch: int, offset: int) -> None:
    data = records.data_batch(contents, timestamp, epoch, offset)
    (batch,) = records.decode_batches(data)
    assert list(batch.records) == contents
    assert (batch.base_offset, batch.last_offset) == (offset, offset + len(contents) - 1)
    assert (batch.leader_epoch, batch.timestamp_ms, batch.control_type) == (epoch, timestamp, -1)


@given(st.lists(any_record, min_size=1, max_size=3), st.data())
def test_damage_is_noticed(contents: list[MetadataRecord], data: st.DataObject) -> None:
    whole = records.data_batch(contents, 5, 1)
    position = data.draw(st.integers(16, len(whole) - 1))
    flipped = whole[:position] + bytes([whole[position] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[position + 1 :]
    with pytest.raises((WireError, records.UnsupportedMetadataError)):
        list(records.decode_batches(flipped))


@given(st.binary(max_size=40))
def test_random_bytes_are_an_error_or_a_record(value: bytes) -> None:
    try:
        records.decode_record(value)
    except (WireError, records.UnsupportedMetadataError):
        pass


@pytest.mark.parametrize("value", [b"", b"\x02\x02\x00", b"\x01\x63\x00", b"\x01\x02\x63"])
def test_unknown_frames_types_and_versions_are_refused(value: bytes) -> None:
    with pytest.raises((WireError, records.UnsupportedMetadataError)):
        records.decode_record(value)


def test_a_leader_change_names_the_leader() -> None:
    (batch,) = records.decode_batches(records.leader_change_batch(3, 5, 7))
    assert (batch.control_type, batch.leader_epoch) == (records.CONTROL_LEADER_CHANGE, 7)
    assert records.leader_of(batch) == 3
