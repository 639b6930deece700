"""Keys and values of internal topics, and control records: Kafka's framing, byte by byte."""

from __future__ import annotations

import pytest

from tapelog.wire import control_records as control
from tapelog.wire import record_batch as rb
from tapelog.wire.primitives import WireError
from tapelog.wire.records import framing
from tapelog.wire.records.consumer_protocol_subscription import ConsumerProtocolSubscription
from tapelog.wire.records.end_txn_marker import EndTxnMarker
from tapelog.wire.records.feature_level_record import FeatureLevelRecord
from tapelog.wire.records.group_types import GROUP_TYPES
from tapelog.wire.records.leader_change_message import LeaderChangeMessage, Voter
from tapelog.wire.records.metadata_types import METADATA_TYPES
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.records.remote_log_types import REMOTE_LOG_TYPES
from tapelog.wire.records.share_types import SHARE_TYPES
from tapelog.wire.records.topic_record import TopicRecord
from tapelog.wire.records.transaction_types import TRANSACTION_TYPES


def test_an_offset_commit_has_kafkas_bytes() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    value = OffsetCommitValue(offset=5, leader_epoch=-1, metadata="m", commit_timestamp=9)
    assert framing.encode_key(key) == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    assert framing.encode_versioned(value, 3) == (
        b"\x00\x03" + bytes(7) + b"\x05\xff\xff\xff\xff\x00\x01m" + bytes(7) + b"\x09"
    )


@pytest.mark.parametrize("version", range(5))
def test_coordinator_records_survive_a_round_trip(version: int) -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9)
    data = framing.encode_versioned(value, version)
    assert framing.record_type(framing.encode_key(key)) == 1
    assert framing.decode_record(GROUP_TYPES, framing.encode_key(key), data) == (key, value)
    assert framing.decode_record(GROUP_TYPES, framing.encode_key(key), None) == (key, None)


def test_unknown_coordinator_types_are_told_apart_from_damage() -> None:
    key = framing.encode_key(OffsetCommitKey(group="g"))
    assert framing.decode_record(GROUP_TYPES, b"\x7f\xff?", b"") is None
    for wrong_key, wrong_value in (
        (b"", None),
        (key[:-1], None),
        (key + b"?", None),
        (key, b"\x00"),
        (key, b"\x00\x63"),
    ):
        with pytest.raises(WireError):
            framing.decode_record(GROUP_TYPES, wrong_key, wrong_value)


def test_the_tables_are_complete() -> None:
    assert sorted(GROUP_TYPES) == [*range(9), *range(10, 18), *range(19, 24)]
    assert list(TRANSACTION_TYPES) == [0]
    assert list(SHARE_TYPES) == [0, 1]
    assert len(METADATA_TYPES) == 26
    assert list(REMOTE_LOG_TYPES) == [0, 1, 2, 3]
    for types in (METADATA_TYPES, REMOTE_LOG_TYPES):
        for number, found in types.items():
            assert number == found.API_KEY
    for pairs in (GROUP_TYPES, TRANSACTION_TYPES, SHARE_TYPES):
        for number, (key, value) in pairs.items():
            assert (number, number) == (key.API_KEY, value.API_KEY)
            assert key.__name__.removesuffix("Key") == value.__name__.removesuffix("Value")


def test_a_metadata_record_has_kafkas_bytes() -> None:
    record = FeatureLevelRecord(name="metadata.version", feature_level=29)
    assert framing.encode_metadata(record, 0) == b"\x01\x0c\x00\x11metadata.version\x00\x1d\x00"


def test_metadata_records_survive_a_round_trip() -> None:
    record = TopicRecord(name="orders", topic_id=bytes(range(16)))
    assert framing.decode_metadata(METADATA_TYPES, framing.encode_metadata(record, 0)) == (record, 0)


@pytest.mark.parametrize(
    "data", [b"", b"\x02\x02\x00", b"\x01\x7f\x00", b"\x01\x02\x09", b"\x01\x02\x00\x01", b"\x01\x14\x00\x00?"]
)
def test_metadata_that_is_not_understood_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        framing.decode_metadata(METADATA_TYPES, data)


def test_a_subscription_stands_behind_its_version() -> None:
    assert framing.encode_versioned(ConsumerProtocolSubscription(topics=["a"]), 0) == (
        b"\x00\x00\x00\x00\x00\x01\x00\x01a\xff\xff\xff\xff"
    )


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_marker_is_a_control_batch(commit: bool) -> None:
    batch = control.marker_batch(
        commit=commit, producer_id=9, producer_epoch=2, coordinator_epoch=4, timestamp=77, base_offset=5
    )
    header = rb.BatchHeader(batch, 0, len(batch))
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, -1)
    (record,) = rb.iterate(batch, 0, len(batch))
    assert control.control_kind(record.key) == (control.COMMIT if commit else control.ABORT)
    assert control.decode_marker(record.value) == EndTxnMarker(coordinator_epoch=4)
    assert (record.key, record.value) == (bytes([0, 0, 0, 1 if commit else 0]), b"\x00\x00\x00\x00\x00\x04")


def test_quorum_records_hold_their_own_version() -> None:
    message = LeaderChangeMessage(version=0, leader_id=1, voters=[Voter(voter_id=1)], granting_voters=[])
    record = control.quorum_record(control.LEADER_CHANGE, message, 0, 5)
    assert record.key == b"\x00\x00\x00\x02"
    assert record.value == b"\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x01\x00\x01\x00"


def test_bad_control_records_are_refused() -> None:
    for key in (None, b"", b"\x00\x00\x00"):
        with pytest.raises(WireError):
            control.control_kind(key)
    for value in (None, b"", b"\x00\x00\x00"):
        with pytest.raises(WireError):
            control.decode_marker(value)
