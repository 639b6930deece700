"""File formats, byte for byte as Kafka has them."""

from __future__ import annotations

import struct

import pytest

from tapelog.log import checkpoints as text
from tapelog.log import names
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.producer_state import ProducerState
from tapelog.log.snapshots import SnapshotError, parse_snapshot, render_snapshot
from tapelog.wire.crc import crc32c
from tests.unit.log.bench import DIRECTORY, Bench

UUID = bytes(range(16))


def test_offset_checkpoints() -> None:
    offsets = {("b", 0): 5, ("a", 10): 7, ("a", 9): 0}
    data = text.render_offsets(offsets)
    assert data == b"0\n3\na 9 0\na 10 7\nb 0 5\n"
    assert text.parse_offsets(data, "test") == offsets
    assert text.parse_offsets(b"0\n0\n", "test") == {}


@pytest.mark.parametrize(
    "damaged", [b"", b"0", b"x\ny\n", b"1\n0\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na b c\n", b"\xff"]
)
def test_damaged_checkpoints_are_noticed(damaged: bytes) -> None:
    with pytest.raises(text.CheckpointError):
        text.parse_offsets(damaged, "test")
    with pytest.raises(text.CheckpointError):
        text.parse_epochs(damaged, "test")


def test_lines_kept_from_the_last_time_say_what_is_true_now() -> None:
    kept, offsets = text.OffsetLines(), {("b", 1): 5, ("a", 10): 1, ("a", 2): 3}
    assert kept.render(offsets) == text.render_offsets(offsets)
    for key, offset in ((("a", 2), 4), (("c", 0), 9), (("a", 10), 0)):
        offsets[key] = offset
        assert kept.render(offsets) == text.render_offsets(offsets)
    del offsets["a", 2]  # of the very dict that was rendered last
    assert kept.render(offsets) == text.render_offsets(offsets)
    assert kept.render({}) == text.render_offsets({})


def test_leader_epoch_checkpoint() -> None:
    assert text.render_epochs([(0, 0), (3, 17)]) == b"0\n2\n0 0\n3 17\n"
    assert text.parse_epochs(b"0\n2\n0 0\n3 17\n", "test") == [(0, 0), (3, 17)]


def test_partition_metadata() -> None:
    data = text.render_partition_metadata(UUID)
    assert data == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert text.parse_partition_metadata(data) == UUID
    assert text.parse_partition_metadata(data + b"\n") == UUID
    for damaged in (b"", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"version: 0\ntopic_id: abc", b"\xff\xfe"):
        with pytest.raises(text.CheckpointError):
            text.parse_partition_metadata(damaged)


def test_meta_properties() -> None:
    data = text.render_meta_properties(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=3, directory_id=UUID)
    assert text.parse_meta_properties(data) == {
        "cluster.id": "MkU3OEVBNTcwNTJENDM2Qg",
        "directory.id": "AAECAwQFBgcICQoLDA0ODw",
        "node.id": "3",
        "version": "1",
    }


def test_clean_shutdown_marker() -> None:
    assert text.render_clean_shutdown(42) == b'{"version":0,"brokerEpoch":42}'
    assert text.parse_clean_shutdown(b'{"version":0,"brokerEpoch":42}') == 42
    assert text.parse_clean_shutdown(b"") == -1


def test_names() -> None:
    assert names.offset_name(42, names.LOG) == "00000000000000000042.log"
    assert names.offset_of("00000000000000000042.log", names.LOG) == 42
    assert names.offset_of("00000000000000000042.log.deleted", names.LOG) is None
    assert names.offset_of("42.log", names.LOG) is None
    assert names.parse_partition_dir("my-topic-12") == ("my-topic", 12)
    for other in ("orders", "orders-", "-1", "orders-01", "orders-x", "orders-0.abc-delete"):
        assert names.parse_partition_dir(other) is None
    aside = names.delete_dir("t" * 249, 7, UUID)
    assert len(aside) == 255
    assert aside.endswith("-7.000102030405060708090a0b0c0d0e0f-delete")


def test_offset_index_entries_are_relative_offset_and_position() -> None:
    bench = Bench({"index.interval.bytes": "100", "segment.bytes": "100000"})
    bench.fill(4, b"v" * 60)
    bench.log.close()
    size = bench.disk.file_size(f"{DIRECTORY}/00000000000000000000.log") // 4
    data = bench.disk.read_file(f"{DIRECTORY}/00000000000000000000.index")
    assert [struct.unpack_from(">ii", data, at) for at in range(0, len(data), 8)] == [
        (1, size),
        (2, 2 * size),
        (3, 3 * size),
    ]


def test_time_index_entries_are_timestamp_and_relative_offset() -> None:
    bench = Bench({"index.interval.bytes": "100"})
    begin = bench.clock.wall_ms()
    for delta in (5, 9, 2, 2, 11):
        bench.append(bench.batch(b"v" * 60, at_ms=begin + delta))
    bench.log.close()
    data = bench.disk.read_file(f"{DIRECTORY}/00000000000000000000.timeindex")
    entries = [struct.unpack_from(">qi", data, at) for at in range(0, len(data), 12)]
    assert entries == [(begin + 9, 1), (begin + 11, 4)]


def test_transaction_index_entries() -> None:
    bench = Bench()
    bench.append(bench.idempotent(0, transactional=True))
    bench.marker(abort=True)
    bench.log.close()
    data = bench.disk.read_file(f"{DIRECTORY}/00000000000000000000.txnindex")
    assert data == struct.pack(">hqqqq", 0, 7, 0, 1, 2)


def test_producer_snapshot_begins_as_kafka_writes_it() -> None:
    state = ProducerState()
    state.add(7, 2, 14, 100, 4, 1234, True)
    data = render_snapshot(state)
    body = struct.pack(">iqhiqiqiq", 1, 7, 2, 14, 100, 4, 1234, -1, 96)
    assert data == struct.pack(">hI", 1, crc32c(body)) + body
    (entry,) = parse_snapshot(data)
    assert (entry.epoch, entry.last_sequence(), entry.last_offset(), entry.txn_first_offset) == (2, 14, 100, 96)


def test_older_batches_follow_behind_and_are_checked_too() -> None:
    state = ProducerState()
    for number in range(9):
        state.add(7, 2, number, 100 + number, 0, 1234 + number, False)
    state.add(8, 0, 3, 200, 3, 5, False)
    data = render_snapshot(state)
    first, second = parse_snapshot(data)
    assert [seen.last_offset for seen in first.batches] == [104, 105, 106, 107, 108]
    assert [seen.timestamp for seen in first.batches] == [1238, 1239, 1240, 1241, 1242]
    assert [seen.last_offset for seen in second.batches] == [200]
    for at in (0, 3, 20, len(data) - 1):
        with pytest.raises(SnapshotError):
            parse_snapshot(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
    for size in (0, 5, 9, 40, len(data) - 1):
        with pytest.raises(SnapshotError):
            parse_snapshot(data[:size])


def test_leader_epochs_answer_as_kafka_does() -> None:
    epochs = LeaderEpochs([(2, 10), (5, 20), (6, 30)])
    assert epochs.end_offset_for(6, 40) == (6, 40)
    assert epochs.end_offset_for(5, 40) == (5, 30)
    assert epochs.end_offset_for(4, 40) == (2, 20)
    assert epochs.end_offset_for(1, 40) == (1, 10)
    assert epochs.end_offset_for(7, 40) == (-1, -1)
    assert epochs.end_offset_for(-1, 40) == (-1, -1)
    assert [epochs.epoch_for(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 2, 2, 5, 6]
    epochs.assign(9, 30)  # epoch 6 wrote nothing
    assert epochs.entries() == [(2, 10), (5, 20), (9, 30)]
    epochs.truncate_from_end(25)
    assert epochs.entries() == [(2, 10), (5, 20)]
    epochs.truncate_from_start(15)
    assert epochs.entries() == [(2, 15), (5, 20)]
