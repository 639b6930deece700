"""`tape dump` on files made with the broker's own formats."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tapelog.cli.app import run
from tapelog.log import checkpoints
from tapelog.wire.control_records import marker_batch
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.records.framing import encode_key, encode_metadata, encode_versioned
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.records.topic_record import TopicRecord

NAME = "00000000000000000000.log"


def dumped(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = run(["dump", *words, "--json"])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def segment(directory: Path, *batches: bytes) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / NAME
    path.write_bytes(b"".join(batches))
    return path


def two_batches() -> list[bytes]:
    first = build_batch([Record(0, 1000, b"k", b'{"a":1}', [("h", b"x")]), Record(1, 1001, None, None)], leader_epoch=3)
    second = build_batch(
        [Record(0, 2000, b"z", b"\xff")], base_offset=2, compression=4, producer_id=7, producer_epoch=1, base_sequence=5
    )
    return [first, second]


def test_batches_of_a_segment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment(tmp_path / "orders-0", *two_batches())
    code, entries = dumped(capsys, str(path))
    assert code == 0
    assert [(e["base_offset"], e["last_offset"], e["records"], e["crc_ok"]) for e in entries] == [
        (0, 1, 2, True),
        (2, 2, 1, True),
    ]
    assert entries[1]["compression"] == "zstd"
    assert entries[1]["position"] == entries[0]["size"]
    assert (entries[1]["producer_id"], entries[1]["base_sequence"]) == (7, 5)


def test_records_in_compressed_and_plain_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment(tmp_path / "orders-0", *two_batches())
    _, entries = dumped(capsys, str(path), "--records")
    records = [e for e in entries if e["kind"] == "record"]
    assert [(r["offset"], r["key"], r["value"]) for r in records] == [
        (0, "k", {"a": 1}),
        (1, None, None),
        (2, "z", {"base64": "/w=="}),
    ]
    assert records[0]["headers"] == [["h", "x"]]


def test_beginning_with_an_offset_and_stopping_after_a_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment(tmp_path / "orders-0", *two_batches())
    _, entries = dumped(capsys, str(path), "--offset", "2")
    assert [e["base_offset"] for e in entries] == [2]
    _, entries = dumped(capsys, str(path), "--count", "1")
    assert [e["base_offset"] for e in entries] == [0]


def test_a_flipped_bit_shows_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = two_batches()
    path = segment(tmp_path / "orders-0", first[:-1] + bytes([first[-1] ^ 1]), second)
    code, entries = dumped(capsys, str(path), "--records")
    assert code == 1
    assert [e["crc_ok"] for e in entries if e["kind"] == "batch"] == [False, True]


@pytest.mark.parametrize("cut", [1, 30, 61])
def test_a_torn_end_shows_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int) -> None:
    first, second = two_batches()
    path = segment(tmp_path / "orders-0", first, second[:cut])
    code, entries = dumped(capsys, str(path))
    assert code == 1
    assert entries[-1]["kind"] == "error" and "torn" in entries[-1]["error"]


def test_transaction_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = marker_batch(commit=False, producer_id=7, producer_epoch=1, coordinator_epoch=4, timestamp=5)
    path = segment(tmp_path / "orders-0", marker)
    _, entries = dumped(capsys, str(path), "-r")
    assert entries[1]["control"] == "abort"
    assert entries[1]["value"]["coordinator_epoch"] == 4


def test_committed_offsets_are_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = encode_key(OffsetCommitKey(group="billing", topic="orders", partition=1))
    value = encode_versioned(OffsetCommitValue(offset=42, metadata="", commit_timestamp=9), 3)
    path = segment(tmp_path / "__consumer_offsets-3", build_batch([Record(0, 1, key, value), Record(1, 1, key, None)]))
    _, entries = dumped(capsys, str(path), "-r")
    assert (entries[1]["type"], entries[1]["key"]["group"], entries[1]["value"]["offset"]) == (
        "OffsetCommit",
        "billing",
        42,
    )
    assert entries[2]["value"] is None
    _, raw = dumped(capsys, str(path), "-r", "--raw")
    assert "type" not in raw[1]


def test_cluster_metadata_is_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = encode_metadata(TopicRecord(name="orders", topic_id=bytes(range(16))), 0)
    path = segment(tmp_path / "__cluster_metadata-0", build_batch([Record(0, 1, None, value)]))
    _, entries = dumped(capsys, str(path), "-r")
    assert entries[1]["type"] == "TopicRecord"
    assert entries[1]["value"] == {"name": "orders", "topic_id": checkpoints.uuid_text(bytes(range(16)))}


def test_indexes_end_where_their_padding_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offsets = tmp_path / "00000000000000000100.index"
    offsets.write_bytes(struct.pack(">iiii", 5, 4096, 9, 8200) + bytes(800))
    times = tmp_path / "00000000000000000100.timeindex"
    times.write_bytes(struct.pack(">qi", 1000, 5) + bytes(120))
    assert [(e["offset"], e["position"]) for e in dumped(capsys, str(offsets))[1]] == [(105, 4096), (109, 8200)]
    assert [(e["timestamp"], e["offset"]) for e in dumped(capsys, str(times))[1]] == [(1000, 105)]


def test_checkpoints_and_properties_of_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(checkpoints.render_offsets({("orders", 0): 7}))
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "leader-epoch-checkpoint").write_bytes(checkpoints.render_epochs([(0, 0), (2, 5)]))
    (tmp_path / "meta.properties").write_bytes(
        checkpoints.render_meta_properties(cluster_id="c", node_id=1, directory_id=bytes(16))
    )
    code, entries = dumped(capsys, str(tmp_path))
    assert code == 0
    assert {e["kind"] for e in entries} == {"checkpoint", "leader epoch", "properties"}
    assert [e["start_offset"] for e in entries if e["kind"] == "leader epoch"] == [0, 5]


def test_a_damaged_checkpoint_shows_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n2\n0 0\n")
    code, entries = dumped(capsys, str(path))
    assert code == 1 and entries[0]["kind"] == "error"


def test_people_see_lines_without_what_is_as_usual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment(tmp_path / "orders-0", two_batches()[0])
    assert run(["dump", str(path), "-r"]) == 0
    batch, record, _ = capsys.readouterr().out.splitlines()
    assert batch.startswith("batch: position=0 base_offset=0 last_offset=1")
    assert "producer_id" not in batch
    assert record.startswith("  record: offset=0 timestamp=1970-01-01T00:00:01.000Z key=k")


def test_a_path_that_is_not_there_and_a_file_of_another_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dump", str(tmp_path / "nothing")]) == 4
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    assert run(["dump", str(other)]) == 2
    assert ".timeindex" in capsys.readouterr().err
