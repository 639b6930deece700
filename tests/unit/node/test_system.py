"""The real disk: vectored writes, short writes, full file systems, flush rounds and jobs on threads."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue

import pytest

from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.node import limits, system
from tapelog.node.system import IOVECS_MAX, SYNCFS_FROM, SystemClock, SystemDisk, SystemEntropy


class Loop:
    """Stands in for the reactor: runs what threads post, on this thread."""

    def __init__(self) -> None:
        self.posted: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run_one(self) -> None:
        self.posted.get(timeout=30)()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def disk(tmp_path: Path, loop: Loop) -> SystemDisk:
    return SystemDisk(str(tmp_path), loop.posted.put)


def test_it_is_a_disk(disk: SystemDisk, tmp_path: Path) -> None:
    port: Disk = disk
    path = str(tmp_path / "a")
    file = port.open(path, create=True)
    file.write([b"one", memoryview(b"two")])
    file.write_at(1, b"NE")
    assert file.read(0, 100) == b"oNEtwo"
    assert (file.size(), port.file_size(path), port.read_file(path)) == (6, 6, b"oNEtwo")
    file.truncate(3)
    file.write([b"!"])
    assert file.read(1, 100) == b"NE!"
    file.sync()
    port.rename(path, path + "2")
    assert file.path == path + "2"
    assert port.listdir(str(tmp_path)) == ["a2"]
    with pytest.raises(FileNotFoundError):
        port.open(path)
    with pytest.raises(FileNotFoundError):
        port.file_size(path)
    with pytest.raises(FileNotFoundError):
        port.read_file(path)
    port.remove(path + "2")
    port.remove(path + "2")
    port.mkdir(path + "/b/c")
    port.write_file(path + "/b/c/d", b"1")
    port.replace_file(path + "/b/c/d", b"2")
    assert port.read_file(path + "/b/c/d") == b"2"
    assert port.listdir(path + "/b/c") == ["d"]
    port.sync_dir(path)
    port.sync_all()
    port.remove_tree(path)
    assert not port.exists(path)
    assert port.listdir(path) == []
    assert 0 < port.free_bytes() <= port.total_bytes()
    room = os.statvfs(tmp_path)
    assert port.free_files()[1] == room.f_files and port.free_files()[0] <= room.f_files


def test_it_tells_when_a_file_was_written_last(disk: SystemDisk, tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    assert disk.changed_ms(path) == -1
    disk.write_file(path, b"x")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    assert disk.changed_ms(path) == 1_700_000_000_123
    disk.keep_changed_ms(path, 1_600_000_000_321)
    assert disk.changed_ms(path) == 1_600_000_000_321


def test_renaming_a_directory_moves_the_files_open_in_it(disk: SystemDisk, tmp_path: Path) -> None:
    disk.mkdir(str(tmp_path / "x"))
    file = disk.open(str(tmp_path / "x" / "a"), create=True)
    disk.rename(str(tmp_path / "x"), str(tmp_path / "y"))
    assert file.path == str(tmp_path / "y" / "a")


def test_more_pieces_than_one_call_takes(disk: SystemDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"), create=True)
    pieces: list[bytes | memoryview] = [b"%d," % number for number in range(IOVECS_MAX * 2 + 50)]
    file.write([b"head", *pieces, b""])
    expected = b"head" + b"".join(pieces)
    assert file.read(0, 1 << 20) == expected
    assert file.size() == len(expected)


def test_short_writes_are_carried_on(disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(fd: int, chunks: Sequence[bytes | memoryview], position: int) -> int:
        return os.pwrite(fd, b"".join(chunks)[:7], position)

    monkeypatch.setattr(system, "_write_vector", short)
    file = disk.open(str(tmp_path / "a"), create=True)
    file.write([b"0123456789", b"", b"abc", memoryview(b"defghijklm")])
    assert file.read(0, 100) == b"0123456789abcdefghijklm"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_takes_the_write_back(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    calls = []

    def fills_up(fd: int, chunks: Sequence[bytes | memoryview], position: int) -> int:
        calls.append(position)
        if len(calls) > 1:
            raise OSError(number, os.strerror(number))
        return os.pwrite(fd, b"".join(chunks)[:3], position)

    file = disk.open(str(tmp_path / "a"), create=True)
    file.write([b"kept"])
    monkeypatch.setattr(system, "_write_vector", fills_up)
    with pytest.raises(DiskFullError):
        file.write([b"too much"])
    assert len(calls) == 2
    assert file.size() == os.path.getsize(tmp_path / "a") == 4


def test_other_failures_are_disk_errors(disk: SystemDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"), create=True)
    file.close()
    file.close()
    assert file.fileno() == -1
    for action in (lambda: file.write([b"1"]), lambda: file.read(0, 1), file.sync, lambda: file.truncate(0)):
        with pytest.raises(DiskError):
            action()


def test_a_dropped_file_gives_its_descriptor_back(disk: SystemDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"), create=True)
    fd = file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


@pytest.mark.parametrize("count", [0, 1, 3, SYNCFS_FROM - 1, SYNCFS_FROM, 40])
def test_flush_rounds_report_on_the_loop(disk: SystemDisk, tmp_path: Path, loop: Loop, count: int) -> None:
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(count)]
    for file in files:
        file.write([b"data"])
    results: list[tuple[DiskError | None, int]] = []
    disk.start_flush(files, lambda error: results.append((error, threading.get_ident())))
    loop.run_one()
    assert results == [(None, threading.get_ident())]
    assert loop.posted.empty()


def test_a_directory_can_be_flushed_too(disk: SystemDisk, tmp_path: Path, loop: Loop) -> None:
    results: list[DiskError | None] = []
    disk.start_flush([disk.open(str(tmp_path))], results.append)
    loop.run_one()
    assert results == [None]


def test_a_flush_round_reports_the_first_failure_once(disk: SystemDisk, tmp_path: Path, loop: Loop) -> None:
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(4)]
    files[2].close()
    results: list[DiskError | None] = []
    disk.start_flush(files, results.append)
    loop.run_one()
    assert len(results) == 1
    assert isinstance(results[0], DiskError)


def test_jobs_run_elsewhere_and_report_here(disk: SystemDisk, loop: Loop) -> None:
    ran: list[int] = []
    results: list[Exception | None] = []

    def fails() -> None:
        raise ValueError("no")

    disk.start_job(lambda: ran.append(threading.get_ident()), results.append)
    loop.run_one()
    disk.start_job(fails, results.append)
    loop.run_one()
    assert ran != [threading.get_ident()]
    assert results[0] is None
    assert str(results[1]) == "no"
    disk.close()


def test_many_jobs_at_once(disk: SystemDisk, loop: Loop) -> None:
    results: list[Exception | None] = []
    for _ in range(100):
        disk.start_job(lambda: None, results.append)
    for _ in range(100):
        loop.run_one()
    assert results == [None] * 100


def test_syncfs_is_used_only_where_it_reports_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(name: str, release: str) -> bool:
        monkeypatch.setattr(os, "uname", lambda: os.uname_result((name, "host", release, "#1", "x86_64")))
        return system.reports_syncfs_errors()

    assert kernel("Linux", "6.1.0-13-amd64")
    assert kernel("Linux", "5.8.0")
    assert not kernel("Linux", "5.4.0-42-generic")
    assert not kernel("Darwin", "23.1.0")


def test_a_syncfs_slowed_by_others_is_left_out_for_a_while(
    disk: SystemDisk, tmp_path: Path, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(disk, "sync_all", lambda: calls.append("syncfs"))
    monkeypatch.setattr(system, "_sync_data", lambda fd: calls.append("fdatasync"))
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(SYNCFS_FROM)]
    results: list[DiskError | None] = []

    def flush() -> None:
        disk.start_flush(files, results.append)
        loop.run_one()

    flush()
    assert calls == ["syncfs"]
    monkeypatch.setattr(system, "SYNCFS_GRACE_MS", -1e9)
    flush()
    flush()
    assert calls == ["syncfs", "syncfs"] + ["fdatasync"] * SYNCFS_FROM
    for _ in range(system.ROUNDS_WITHOUT_SYNCFS):
        flush()
    assert calls[-1] == "syncfs"
    assert results == [None] * len(results)


def test_without_syncfs_everything_still_works(
    disk: SystemDisk, tmp_path: Path, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "reports_syncfs_errors", lambda: False)
    disk.sync_all()
    files = [disk.open(str(tmp_path / str(number)), create=True) for number in range(20)]
    results: list[DiskError | None] = []
    disk.start_flush(files, results.append)
    loop.run_one()
    assert results == [None]


def test_the_process_may_open_as_many_files_as_the_system_allows(disk: SystemDisk) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard or soft >= 10240
    assert limits.raise_open_files_limit() == soft


def test_clock_and_entropy() -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    assert clock.monotonic_ms() <= clock.monotonic_ms()
    assert clock.wall_ms() > 1_600_000_000_000
    assert all(0 <= entropy.below(7) < 7 for _ in range(50))
    assert len(entropy.token(16)) == 16
    assert entropy.token(16) != entropy.token(16)


def test_a_file_for_which_there_is_no_room_is_replaced_not_at_all(disk: SystemDisk, tmp_path: Path) -> None:
    """One write(2) writes what fits and calls it a success."""
    path = str(tmp_path / "snapshot")
    disk.replace_file(path, b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(DiskError):
            disk.replace_file(path, bytes(3 << 20))
        with pytest.raises(DiskError):
            disk.write_file(path, bytes(3 << 20))
        with pytest.raises(DiskError):
            disk.replace_file(path + "2", bytes(3 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert disk.listdir(str(tmp_path)) == ["snapshot"], "nothing is left behind"
    disk.replace_file(path, bytes(3 << 20))
    assert disk.file_size(path) == 3 << 20


def test_what_is_not_the_disks_has_threads_of_its_own(disk: SystemDisk, loop: Loop) -> None:
    go = threading.Event()
    told: list[str] = []
    aside = system.Aside(loop.posted.put)

    def wait() -> None:
        go.wait(30)

    for _ in range(system.THREADS_MAX):
        aside.start_job(wait, lambda error: told.append("aside"))
    disk.start_job(lambda: None, lambda error: told.append("disk"))
    loop.run_one()
    assert told == ["disk"]
    go.set()
    for _ in range(system.THREADS_MAX):
        loop.run_one()
    assert len(told) == 1 + system.THREADS_MAX
