"""The group coordinator's records: their exact bytes, and what Apache Kafka's own dumper reads in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.records import (
    decode_record,
    encode_record,
    group_metadata,
    group_tombstone,
    offset_commit,
    offset_tombstone,
)
from tapelog.wire.primitives import WireError
from tapelog.wire.records.group_metadata_value import GroupMetadataValue, MemberMetadata
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.records.share_group_metadata_key import ShareGroupMetadataKey
from tapelog.wire.records.share_group_metadata_value import ShareGroupMetadataValue
from tests.unit.coordinators.story import Story

LIB = Path(os.environ.get("TAPELOG_KAFKA_LIB") or Path(__file__).resolve().parents[3] / ".tools" / "kafka" / "lib")

GROUP_KEY = b"\x00\x02\x00\x01g"
OFFSET_KEY = b"\x00\x01\x00\x01g\x00\x06orders\x00\x00\x00\x05"


def image() -> GroupMetadataValue:
    member = MemberMetadata(
        member_id="m", client_id="c", client_host="/h", rebalance_timeout=2, session_timeout=1, assignment=b"a"
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="m",
        current_state_timestamp=4,
        members=[member],
    )


def test_a_group_is_written_in_version_3() -> None:
    key, value = encode_record(group_metadata("g", image()))
    assert key == GROUP_KEY
    assert value is not None
    assert value[:2] == b"\x00\x03"
    assert value[2:12] == b"\x00\x08consumer"
    assert value[12:16] == b"\x00\x00\x00\x03"


def test_an_offset_is_written_in_version_4_with_its_topic_id() -> None:
    committed = OffsetCommitValue(
        offset=7, leader_epoch=2, metadata="hi", commit_timestamp=9, topic_id=b"0123456789abcdef"
    )
    key, value = encode_record(offset_commit("g", "orders", 5, committed))
    assert key == OFFSET_KEY
    tagged = b"\x01\x00\x10" + b"0123456789abcdef"
    assert value == b"\x00\x04" + bytes(7) + b"\x07\x00\x00\x00\x02\x03hi" + bytes(7) + b"\x09" + tagged


def test_an_offset_with_its_own_expiry_is_written_in_version_1() -> None:
    committed = OffsetCommitValue(offset=7, commit_timestamp=9, expire_timestamp=10)
    _, value = encode_record(offset_commit("g", "orders", 5, committed))
    assert value == b"\x00\x01" + bytes(7) + b"\x07\x00\x00" + bytes(7) + b"\x09" + bytes(7) + b"\x0a"


def test_tombstones_have_a_key_and_no_value() -> None:
    assert encode_record(group_tombstone("g")) == (GROUP_KEY, None)
    assert encode_record(offset_tombstone("g", "orders", 5)) == (OFFSET_KEY, None)


def test_records_come_back_as_they_were_written() -> None:
    records = [
        group_metadata("g", image()),
        group_tombstone("g"),
        offset_commit("g", "orders", 5, OffsetCommitValue(offset=7, topic_id=b"0123456789abcdef")),
        offset_tombstone("g", "orders", 5),
    ]
    for record in records:
        again = decode_record(*encode_record(record))
        assert again is not None
        assert (again.key, again.value) == (record.key, record.value)


def test_kinds_that_are_not_ours_are_skipped_and_damage_is_not() -> None:
    foreign = CoordinatorRecord(ShareGroupMetadataKey(group_id="g"), ShareGroupMetadataValue(epoch=1), 0)
    assert decode_record(*encode_record(foreign)) is None
    with pytest.raises(WireError):
        decode_record(GROUP_KEY, b"\x00\x63")
    with pytest.raises(WireError):
        decode_record(OFFSET_KEY[:-1], None)


@pytest.mark.needs("java")
@pytest.mark.slow
@pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)")
def test_kafkas_dumper_decodes_the_log(tmp_path: Path) -> None:
    story = Story()
    for line in [
        "enter a instance=one",
        "sync a assign=a:all",
        "commit a orders/0=5 metadata=hey",
        "commit admin events/1=9 group=h retention=1000 version=4",
        "leave a",
        "delete g",
    ]:
        story.run(line)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch for _, _, batch in story.bench.log.batches[0]))
    command = ["java", "-Xmx256m", "-cp", f"{LIB}/*", "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder"]
    done = subprocess.run([*command, "--files", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for piece in (
        'key: {"type":"2","data":{"group":"g"}} payload: {"version":"3","data":{"protocolType":"consumer"',
        '"groupInstanceId":"one","clientId":"a","clientHost":"/127.0.0.1","rebalanceTimeout":60000',
        '"subscription":{"topics":["orders"],"userData":null}',
        '{"group":"g","topic":"orders","partition":0}} payload: {"version":"4","data":{"offset":5',
        '{"version":"1","data":{"offset":9',
        'key: {"type":"1","data":{"group":"g","topic":"orders","partition":0}} payload: <DELETE>',
        'key: {"type":"2","data":{"group":"g"}} payload: <DELETE>',
    ):
        assert piece in done.stdout
