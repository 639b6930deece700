"""Apache Kafka's own dumper reads segments that were compacted here, with their indexes, and finds nothing wrong."""

from __future__ import annotations

import re
from pathlib import Path

from tapelog.log.compaction.cleaning import Cleaning, job_of
from tapelog.log.compaction.keymap import KeyMap
from tapelog.log.compaction.plan import Bounds, plan, sources
from tapelog.log.compaction.swap import install
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR, Log
from tapelog.node.system import SystemClock, SystemDisk
from tapelog.wire.control_records import ABORT, COMMIT, control_key
from tapelog.wire.record_batch import Record, build_batch
from tests.support.kafka_dumper import NEEDS_DUMPER, dump

pytestmark = NEEDS_DUMPER

BATCHES = 400
CONFIG = LogConfig(
    {"cleanup.policy": "compact", "segment.bytes": "20000", "index.interval.bytes": "300", "delete.retention.ms": "0"}
)


def append(log: Log, batch: bytes, origin: int = CLIENT) -> None:
    log.append(batch, 0, len(batch), 4, origin)
    log.write()


def fill(log: Log, first: int) -> None:
    """Keys, tombstones and transactions, some of them aborted, in every codec."""
    now = SystemClock().wall_ms()
    for number in range(first, first + BATCHES):
        records = [
            Record(0, now, b"key-%d" % (number * (index + 3) % 170), None if number % 7 == 0 else b"value-%d" % number)
            for index in range(3)
        ]
        producer = 12 if number % 3 == 0 else -1
        batch = build_batch(
            records,
            compression=number % 5,
            producer_id=producer,
            producer_epoch=0 if producer > 0 else -1,
            base_sequence=number // 3 * 3 if producer > 0 else -1,
            transactional=producer > 0,
        )
        append(log, batch)
        if number % 9 == 0:
            key = control_key(ABORT if number % 2 else COMMIT)
            end = Record(0, now, key, b"\x00\x00\x00\x00\x00\x05")
            append(
                log, build_batch([end], producer_id=12, producer_epoch=0, transactional=True, control=True), COORDINATOR
            )


def clean(log: Log, disk: SystemDisk, checkpoint: int | None) -> int:
    """One cleaning of all that may be cleaned."""
    log.roll()
    log.flush()
    end = log.end_offset
    stable = log.last_stable_offset(end)
    found = plan(sources(log), CONFIG, Bounds(log.start_offset, end, stable, end), checkpoint, SystemClock().wall_ms())
    assert found is not None
    cleaning = Cleaning(disk, job_of(log, found), CONFIG, KeyMap(1 << 20), SystemClock().wall_ms())
    while not cleaning.finished:
        for group in cleaning.step():
            install(log, group)
    assert cleaning.statistics.records_kept < cleaning.statistics.records_read
    return cleaning.end_offset


def test_kafka_reads_compacted_segments_and_their_indexes(tmp_path: Path) -> None:
    disk, path = SystemDisk(str(tmp_path), lambda action: action()), f"{tmp_path}/tables-0"
    log = Log.open(disk, path, topic="tables", partition=0, config=CONFIG, clock=SystemClock(), topic_id=bytes(16))
    fill(log, 0)
    cleaned_to = clean(log, disk, None)
    fill(log, BATCHES + 2)
    clean(log, disk, cleaned_to)
    segments = log.segments.items[:-1]
    text = dump("--deep-iteration", "--files", ",".join(segment.path for segment in segments))
    assert "isvalid: false" not in text
    assert "deleteHorizonMs: OptionalLong[" in text
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)]
    assert offsets == sorted(set(offsets))
    indexes = [name for segment in segments for name in segment.paths()[1:3]]
    report = dump("--index-sanity-check", "--files", ",".join(indexes))
    assert report.count("passed sanity check") == len(indexes), report
    full = dump("--verify-index-only", "--files", ",".join(indexes))
    assert "mismatches" not in full.lower(), full
    aborted = dump("--files", ",".join(segment.paths()[3] for segment in segments))
    assert "producerId: 12" in aborted
