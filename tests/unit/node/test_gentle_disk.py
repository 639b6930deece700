"""Whoever works beside a node asks its disk for little at a time."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import pytest

from tapelog.base.ports import DiskError
from tapelog.node import gentle_disk
from tapelog.node.gentle_disk import READ_PIECE_BYTES, SYNC_BYTES, WRITE_PIECE_BYTES, GentleDisk, in_pieces
from tapelog.node.manners import Manners
from tapelog.node.system import SystemFile


def gentle(folder: Path) -> GentleDisk:
    return GentleDisk(str(folder), lambda action: action(), Manners())


def test_what_is_written_gently_is_written_whole_and_pushed_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[tuple[int, int]] = []

    def told(fd: int, position: int, size: int, flags: int) -> int:
        pushed.append((position, size))
        return 0

    monkeypatch.setattr(gentle_disk, "_loaded", [told])
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

    monkeypatch.setattr(gentle_disk, "_loaded", [fails])
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
    monkeypatch.setattr(gentle_disk, "_loaded", [None])
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


def test_pieces_are_the_same_bytes_and_never_too_large() -> None:
    chunks = [b"abc", b"", memoryview(b"defgh"), b"i"]
    pieces = [[bytes(one) for one in piece] for piece in in_pieces(chunks, 4)]
    assert pieces == [[b"abc", b"d"], [b"efgh"], [b"i"]]
    assert list(in_pieces([], 4)) == []
