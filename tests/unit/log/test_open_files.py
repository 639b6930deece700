"""Logs on a disk that allows few open files: they keep few open, and whoever still needs one keeps it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapelog.base.handles import Handles
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.stored import OPEN_SEGMENTS_MAX
from tapelog.node.system import SystemClock, SystemDisk
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch

CONFIG = LogConfig({})
PAGE_CACHE = LogConfig({"tapelog.flush": "page-cache"})

pytestmark = pytest.mark.both_ways


def append(log: Log, value: bytes) -> None:
    batch = build_batch([Record(0, 1, None, value)])
    log.append(batch, 0, len(batch), 0)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SystemDisk]:
    made = SystemDisk(str(tmp_path), lambda action: action(), Handles(8))
    yield made
    made.close()


def descriptors(below: Path) -> int:
    links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum(1 for link in links if os.path.exists(link) and os.readlink(link).startswith(str(below) + "/"))


def opened_logs(disk: SystemDisk, tmp_path: Path, count: int) -> list[Log]:
    clock = SystemClock()
    return [
        Log.open(disk, str(tmp_path / f"t-{number}"), topic="t", partition=number, config=CONFIG, clock=clock)
        for number in range(count)
    ]


def test_many_logs_keep_few_files_open_and_lose_nothing(disk: SystemDisk, tmp_path: Path) -> None:
    logs = opened_logs(disk, tmp_path, 40)
    for turn in range(3):
        for log in logs:
            append(log, b"value-%d" % turn)
            log.write()
            log.flush()
        assert descriptors(tmp_path) <= 8 + 1  # the disk's own
    for log in logs:
        region = log.read(0, 1 << 20, log.end_offset, True)
        assert region is not None and region.read().count(b"value-") == 3


def test_a_deleted_log_keeps_no_file_open_that_nobody_reads(disk: SystemDisk, tmp_path: Path) -> None:
    (log,) = opened_logs(disk, tmp_path, 1)
    before = descriptors(tmp_path)
    append(log, b"sent")
    log.write()
    log.flush()
    region = log.read(0, 1 << 20, log.end_offset, True)
    assert region is not None
    log.delete(bytes(16))
    assert descriptors(tmp_path) == before + 1 and b"sent" in region.read()
    del region
    assert descriptors(tmp_path) == before, "or the space is not free although the files have gone"


def test_a_region_that_is_being_sent_outlives_the_file_that_was_given_back(disk: SystemDisk, tmp_path: Path) -> None:
    logs = opened_logs(disk, tmp_path, 30)
    for log in logs:
        append(log, b"sent")
        log.write()
        log.flush()
    first = logs[0].read(0, 1 << 20, logs[0].end_offset, True)
    assert first is not None
    fd = first.file.fileno()
    for log in logs[1:]:
        log.read(0, 1 << 20, log.end_offset, True)
    assert not logs[0].active.holds()
    assert b"sent" in os.pread(fd, first.size, first.position)
    del first
    assert descriptors(tmp_path) <= 8 + 1


def test_a_file_stays_open_from_its_write_to_its_sync(disk: SystemDisk, tmp_path: Path) -> None:
    logs = opened_logs(disk, tmp_path, 20)
    for log in logs:
        append(log, b"unsynced")
        log.write()
    held = [log.active.file().fileno() for log in logs]
    tickets = [log.begin_flush() for log in logs]
    assert [ticket.files[0].fileno() for ticket in tickets] == held
    opened_logs(disk, tmp_path / "others", 40)
    for log, ticket in zip(logs, tickets, strict=True):
        ticket.files[0].sync()
        log.end_flush(ticket)


def test_reading_old_segments_gives_no_file_back_that_waits_for_its_sync(tmp_path: Path) -> None:
    disk = SystemDisk(str(tmp_path), lambda action: action(), Handles(64))
    log = Log.open(disk, str(tmp_path / "t-0"), topic="t", partition=0, config=CONFIG, clock=SystemClock())
    for _ in range(OPEN_SEGMENTS_MAX + 2):
        append(log, b"synced")
        log.write()
        log.flush()
        log.roll()
    append(log, b"unsynced")
    log.write()
    log.roll()
    waiting = log.segments.items[-2]
    written = waiting.file().fileno()
    for offset in (log.end_offset - 1, *range(OPEN_SEGMENTS_MAX + 2)):
        assert log.read(offset, 1 << 20, log.end_offset, True) is not None
    assert waiting.pinned and waiting.holds()
    assert written in [file.fileno() for file in log.begin_flush().files], "the sync goes to the file of the write"
    disk.close()


def test_a_log_whose_first_batch_cannot_be_read_takes_appends_by_the_clock() -> None:
    disk = SimDisk(SimEntropy(1))
    log = Log.open(disk, "t-0", topic="t", partition=0, config=CONFIG, clock=SimClock())
    append(log, b"first")
    log.close()
    again = Log.open(disk, "t-0", topic="t", partition=0, config=CONFIG, clock=SimClock(), clean=True)
    disk.broken = True  # when the age of its segment is asked for
    append(again, b"second")
    disk.broken = False
    again.write()
    assert again.written_end == 2 and len(again.segments.items) == 1


def test_page_cache_topics_do_not_keep_files_open_until_a_sync(disk: SystemDisk, tmp_path: Path) -> None:
    clock = SystemClock()
    for number in range(40):
        log = Log.open(disk, str(tmp_path / f"c-{number}"), topic="c", partition=number, config=PAGE_CACHE, clock=clock)
        append(log, b"cached")
        log.write()
    assert disk.handles.held() <= 8


def test_when_the_process_has_no_descriptors_left_some_are_given_back(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = opened_logs(disk, tmp_path, 8)
    for log in logs:
        log.active.file()
    plain, refusals = os.open, [OSError(errno.EMFILE, "Too many open files")]

    def scarce(path: str, flags: int, mode: int = 0o777) -> int:
        if refusals:
            raise refusals.pop()
        return plain(path, flags, mode)

    monkeypatch.setattr(os, "open", scarce)
    assert disk.open(str(tmp_path / "another"), create=True).size() == 0


def test_a_simulated_disk_has_few_handles_too() -> None:
    assert SimDisk(SimEntropy(1)).handles.files_max < 20
