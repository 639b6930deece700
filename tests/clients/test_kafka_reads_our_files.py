"""Apache Kafka's own dumper reads our segments, indexes and snapshots, and finds nothing wrong with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR, Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.node.system import SystemClock, SystemDisk, SystemEntropy
from tapelog.wire.record_batch import Record, build_batch
from tests.support.kafka_dumper import NEEDS_DUMPER, dump

pytestmark = NEEDS_DUMPER

BATCHES = 120
SETTINGS = {"segment.bytes": "8000", "index.interval.bytes": "1000"}


def append(log: Log, batch: bytes, origin: int = CLIENT) -> None:
    log.append(batch, 0, len(batch), 4, origin)
    log.write()


def fill(log: Log) -> None:
    """Batches of every codec, plain, idempotent and transactional, with one aborted transaction."""
    now = SystemClock().wall_ms()
    for number in range(BATCHES):
        records = [
            Record(0, now + number, b"key-%d" % number, b"value" * (10 + number % 7), [("name", b"header")])
            for _ in range(number % 3 + 1)
        ]
        producer_id = (-1, 11, 12)[number % 3]
        batch = build_batch(
            records,
            compression=number % 5,
            producer_id=producer_id,
            producer_epoch=0 if producer_id > 0 else -1,
            base_sequence=number // 3 * len(records) if producer_id > 0 else -1,
            transactional=producer_id == 12,
        )
        append(log, batch)
        if number == 59:
            marker = Record(0, now + number, b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x05")
            ended = build_batch([marker], producer_id=12, producer_epoch=0, transactional=True, control=True)
            append(log, ended, COORDINATOR)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A data directory after a checkpoint and a clean shutdown; and where its log ends."""
    root = tmp_path_factory.mktemp("data")
    disk = SystemDisk(str(root), lambda action: action())
    directory = LogDirectory.open(
        disk, str(root), clock=SystemClock(), entropy=SystemEntropy(), cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=1
    )
    (log,) = directory.create_many([NewLog("orders", 0, bytes(range(16)), LogConfig(SETTINGS))])
    fill(log)
    end = log.end_offset
    directory.write_checkpoints({})
    directory.close({("orders", 0): end}, 3)
    disk.close()
    return root / "orders-0", end


def test_segments_iterate_deeply_and_every_checksum_fits(written: tuple[Path, int]) -> None:
    path, end = written
    logs = sorted(path.glob("*.log"))
    assert len(logs) >= 2
    told = dump("--deep-iteration", "--print-data-log", "--files", ",".join(map(str, logs)))
    assert "isvalid: false" not in told
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+) ", told, re.MULTILINE)]
    assert offsets == list(range(end))
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        assert f"compresscodec: {codec}" in told
    assert "partitionLeaderEpoch: 4" in told
    assert "endTxnMarker: ABORT coordinatorEpoch: 5" in told
    assert "payload: valuevalue" in told


def test_indexes_agree_with_their_segments(written: tuple[Path, int]) -> None:
    path, _ = written
    indexes = [*sorted(path.glob("*.index")), *sorted(path.glob("*.timeindex"))]
    assert len(indexes) >= 4
    told = dump("--verify-index-only", "--files", ",".join(map(str, indexes)))
    assert "mismatch" not in told.lower()
    assert "out of order" not in told.lower()
    told = dump("--index-sanity-check", "--files", ",".join(map(str, indexes)))
    assert told.count("passed sanity check") == len(indexes)


def test_transaction_index_and_producer_snapshots_are_read(written: tuple[Path, int]) -> None:
    path, end = written
    transactions = [file for file in path.glob("*.txnindex") if file.stat().st_size]
    assert transactions
    assert f"{path}/{end:020d}.snapshot" in map(str, path.glob("*.snapshot"))
    told = dump("--files", ",".join(map(str, [*transactions, *sorted(path.glob("*.snapshot"))])))
    assert re.search(r"producerId: 12 firstOffset: \d+ lastOffset: \d+ lastStableOffset: \d+", told)
    assert told.count("producerId: 11 producerEpoch: 0") >= 2
    newest = told.rpartition("Dumping")[2]
    assert "producerId: 12 producerEpoch: 0 coordinatorEpoch: 5" in newest
