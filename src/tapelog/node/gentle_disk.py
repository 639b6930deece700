"""A disk for whoever works beside a node: it is asked for little at a time, so that the node's syncs find it free.

- What is read comes in pieces of 128 KiB, one of them ahead, instead of as much as the kernel would read ahead: that is
  up to several mebibytes in requests of the greatest size, and a sync waits behind each of them.
- What is written goes to the disk at once, in pieces of 64 KiB, and is waited for: a sync of some other file never
  finds more of it ahead in the queue than one piece, nor much of it in the journal's transaction. Syncs of 16 MiB made
  others wait for 10 to 25 ms; pieces of 512 KiB for 3, of 64 KiB for less than the noise (ADR 0014).
- Files are changed by the thread that has not stepped back (`Manners.errand`).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from tapelog.base.ports import DiskError, File
from tapelog.node.manners import Manners
from tapelog.node.system import SystemDisk, SystemFile
from tapelog.node.workers import Post

WRITE_PIECE_BYTES: Final = 64 * 1024
READ_PIECE_BYTES: Final = 128 * 1024
SYNC_BYTES: Final = 16 * 1024 * 1024
"""Where pieces cannot be pushed: what is written before it is synced."""
_PUSH_AND_WAIT: Final = 7  # sync_file_range: wait for what is on its way, write, wait
_NOT_THERE: Final = (errno.ENOSYS, errno.EINVAL, errno.ESPIPE, errno.EOPNOTSUPP)


class GentleFile(SystemFile):
    """A file whose writes have reached the disk when they return (though a sync has yet to say so)."""

    __slots__ = ("_manners", "_unpushed")

    def __init__(self, path: str, fd: int, size: int, manners: Manners) -> None:
        super().__init__(path, fd, size)
        self._manners = manners
        self._unpushed = 0
        _advise(fd, 0, 0, "POSIX_FADV_RANDOM")

    def read(self, position: int, size: int) -> bytes:
        end = min(position + size, self.size())
        pieces: list[bytes] = []
        while position < end:
            piece = SystemFile.read(self, position, min(READ_PIECE_BYTES, end - position))
            if not piece:
                break
            pieces.append(piece)
            position += len(piece)
            ahead = min(READ_PIECE_BYTES, self.size() - position)
            if ahead > 0:
                _advise(self.fileno(), position, ahead, "POSIX_FADV_WILLNEED")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def write(self, chunks: Sequence[bytes | memoryview]) -> None:
        self._manners.errand(lambda: self._write(chunks))

    def _write(self, chunks: Sequence[bytes | memoryview]) -> None:
        for piece in in_pieces(chunks, WRITE_PIECE_BYTES):
            at = self.size()
            SystemFile.write(self, piece)
            if not push(self, at, self.size()):
                self._unpushed += self.size() - at
                if self._unpushed >= SYNC_BYTES:
                    SystemFile.sync(self)
                    self._unpushed = 0

    def sync(self) -> None:
        self._manners.errand(lambda: SystemFile.sync(self))


class GentleDisk(SystemDisk):
    """A disk that is not asked for much at once, nor by anybody who might keep others waiting."""

    def __init__(self, root: str, post: Post, manners: Manners) -> None:
        super().__init__(root, post)
        self._manners = manners

    def opened(self, path: str, fd: int, size: int) -> SystemFile:
        return GentleFile(path, fd, size, self._manners)

    def open(self, path: str, *, create: bool = False) -> File:
        return self._manners.errand(lambda: SystemDisk.open(self, path, create=create))

    def rename(self, old: str, new: str) -> None:
        self._manners.errand(lambda: SystemDisk.rename(self, old, new))

    def remove(self, path: str) -> None:
        self._manners.errand(lambda: SystemDisk.remove(self, path))

    def sync_dir(self, path: str) -> None:
        self._manners.errand(lambda: SystemDisk.sync_dir(self, path))


def in_pieces(chunks: Sequence[bytes | memoryview], most: int) -> Iterator[list[memoryview]]:
    """The same bytes in the same order, in vectors of so many bytes at most."""
    piece: list[memoryview] = []
    room = most
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            piece.append(rest[:room])
            rest = rest[room:]
            room -= len(piece[-1])
            if not room:
                yield piece
                piece, room = [], most
    if piece:
        yield piece


def push(file: File, start: int, end: int) -> bool:
    """Have a part of a file written, and wait for it; False where there is no such call. DiskError as a sync would
    raise it: the kernel tells of a failed write once, to whoever asks first."""
    function = _function()
    if function is None:
        return False
    if function(file.fileno(), start, end - start, _PUSH_AND_WAIT) != 0:
        number = ctypes.get_errno()
        if number in _NOT_THERE:
            return False
        raise DiskError(f"cannot write {file.path}: {os.strerror(number)}")
    return True


def _advise(fd: int, position: int, size: int, advice: str) -> None:
    """A hint, where the system takes any."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(fd, position, size, getattr(os, advice))


_loaded: list[Any] = []


def _function() -> Any:
    """Linux has such a call; Python's library does not."""
    if not _loaded:
        function: Any = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
        if function is not None:
            function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
        _loaded.append(function)
    return _loaded[0]
