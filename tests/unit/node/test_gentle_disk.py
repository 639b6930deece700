"""Whoever works beside a node asks its disk for little at a time."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapelog.base.ports import DiskError
from tapelog.node import gentle_disk
from tapelog.node.flush_signal import FlushSignal
from tapelog.node.gentle_disk import (
    READ_PIECE_BYTES,
    SPACE_BYTES,
    SYNC_BYTES,
    WRITE_PIECE_BYTES,
    GentleDisk,
    in_pieces,
)
from tapelog.node.manners import Manners
from tapelog.node.system import SystemFile


def gentle(folder: Path, signal: FlushSignal | None = None) -> GentleDisk:
    return GentleDisk(str(folder), lambda action: action(), Manners(), signal)


def test_what_is_written_gently_is_written_whole_and_pushed_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[tuple[int, int]] = []

    def told(fd: int, position: int, size: int, flags: int) -> int:
        pushed.append((position, size))
        return 0

    monkeypatch.setattr(gentle_disk, "_loaded", [told, None])
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"), create=True)
    file.write([b"a" * 10])
    file.write([b"b" * WRITE_PIECE_BYTES, b"c" * 5])
    assert pushed == [(0, 10), (10, WRITE_PIECE_BYTES), (10 + WRITE_PIECE_BYTES, 5)]
    assert file.read(0, 1 << 20) == b"a" * 10 + b"b" * WRITE_PIECE_BYTES + b"c" * 5
    file.close()
    disk.close()


@pytest.mark.parametrize(("number", "raised"), [(errno.EIO, True), (errno.ENOSYS, False)])
def test_a_write_that_fails_on_its_way_is_an_error_and_a_kernel_without_such_a_call_is_none(
    number: int, raised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: int) -> int:
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(gentle_disk, "_loaded", [fails, None])
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"), create=True)
    if raised:
        with pytest.raises(DiskError, match="cannot write"):
            file.write([b"a"])
    else:
        file.write([b"a"])
    file.close()
    disk.close()


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="Linux")
def test_what_is_read_gently_comes_in_small_pieces_with_one_of_them_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int, int]] = []
    read = SystemFile.read

    def told(fd: int, position: int, size: int, advice: int) -> None:
        asked.append(("random" if advice == os.POSIX_FADV_RANDOM else "ahead", position, size))

    def reads(self: SystemFile, position: int, size: int) -> bytes:
        asked.append(("read", position, size))
        return read(self, position, size)

    monkeypatch.setattr(os, "posix_fadvise", told)
    monkeypatch.setattr(SystemFile, "read", reads)
    data, piece = os.urandom(2 * READ_PIECE_BYTES + 7), READ_PIECE_BYTES
    (tmp_path / "f").write_bytes(data)
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"))
    assert file.read(3, piece + 1) == data[3 : piece + 4]
    assert asked == [
        ("random", 0, 0),
        ("read", 3, piece),
        ("ahead", piece + 3, piece),
        ("read", piece + 3, 1),
        ("ahead", piece + 4, piece),
    ]
    del asked[:]
    assert file.read(2 * piece, 100) == data[2 * piece :]
    assert asked == [("read", 2 * piece, 7)]
    assert file.read(len(data), 5) == b""
    file.close()
    disk.close()


def test_where_pieces_cannot_be_pushed_a_file_is_synced_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(gentle_disk, "_loaded", [None, None])
    monkeypatch.setattr(SystemFile, "sync", lambda self: syncs.append(self.size()))
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"), create=True)
    file.write([bytes(SYNC_BYTES - 1)])
    assert syncs == []
    file.write([b"ab"])
    assert syncs == [SYNC_BYTES + 1]
    file.write([b"ab"])
    assert len(syncs) == 1
    file.close()
    disk.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has fallocate")
def test_space_is_taken_ahead_and_what_is_left_of_it_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[tuple[int, int]] = []
    take = gentle_disk.take_space

    def told(fd: int, start: int, size: int) -> None:
        taken.append((start, size))
        take(fd, start, size)

    monkeypatch.setattr(gentle_disk, "take_space", told)
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"), create=True)
    file.write([b"a" * 100])
    assert taken == []  # it may stay small
    file.write([b"b" * SPACE_BYTES])
    assert taken == [(100, SPACE_BYTES)]
    file.write([b"c"])
    assert taken == [(100, SPACE_BYTES), (100 + SPACE_BYTES, SPACE_BYTES)]
    file.sync()
    status = os.stat(tmp_path / "f")
    assert status.st_size == SPACE_BYTES + 101
    assert status.st_blocks * 512 <= SPACE_BYTES + WRITE_PIECE_BYTES
    assert file.read(0, 2 * SPACE_BYTES) == b"a" * 100 + b"b" * SPACE_BYTES + b"c"
    file.close()
    disk.close()


def test_nothing_is_begun_while_a_flush_round_is_under_way(tmp_path: Path) -> None:
    asked: list[str] = []

    class Watched(FlushSignal):
        def wait(
            self, pause: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
        ) -> bool:
            asked.append("wait")
            return True

    disk = gentle(tmp_path, Watched())

    def waits(action: Callable[[], object]) -> int:
        del asked[:]
        action()
        return len(asked)

    file = disk.open(str(tmp_path / "f"), create=True)
    assert asked == ["wait"]
    assert waits(lambda: file.write([bytes(2 * WRITE_PIECE_BYTES)])) == 2
    assert waits(lambda: file.read(0, READ_PIECE_BYTES)) == 1
    assert waits(file.sync) == 1
    file.close()
    assert waits(lambda: disk.rename(str(tmp_path / "f"), str(tmp_path / "g"))) == 1
    assert waits(lambda: disk.remove(str(tmp_path / "g"))) == 1
    assert waits(lambda: disk.sync_dir(str(tmp_path))) == 1
    disk.close()


def test_space_that_was_taken_and_not_needed_is_given_back_by_closing(tmp_path: Path) -> None:
    disk = gentle(tmp_path)
    file = disk.open(str(tmp_path / "f"), create=True)
    file.write([bytes(WRITE_PIECE_BYTES + 1)])
    file.close()
    found = (tmp_path / "f").stat()
    assert found.st_size == WRITE_PIECE_BYTES + 1
    assert found.st_blocks * 512 < 2 * WRITE_PIECE_BYTES
    disk.close()


def test_pieces_are_the_same_bytes_and_never_too_large() -> None:
    chunks = [b"abc", b"", memoryview(b"defgh"), b"i"]
    pieces = [[bytes(one) for one in piece] for piece in in_pieces(chunks, 4)]
    assert pieces == [[b"abc", b"d"], [b"efgh"], [b"i"]]
    assert list(in_pieces([], 4)) == []
