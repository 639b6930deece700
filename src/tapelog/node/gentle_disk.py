"""A disk for whoever works beside a node: it is asked for little at a time, so that the node's syncs find it free.

- What is read comes in pieces of 128 KiB, one of them ahead, instead of as much as the kernel would read ahead: that is
  up to several mebibytes in requests of the greatest size, and a sync waits behind each of them.
- What is written goes to the disk at once, in pieces of 64 KiB, and is waited for: a sync of some other file never
  finds more of it ahead in the queue than one piece, nor much of it in the journal's transaction. Syncs of 16 MiB made
  others wait for 10 to 25 ms; pieces of 512 KiB for 3, of 64 KiB for less than the noise (ADR 0014).
- Space for what is written is taken a mebibyte at a time. With each piece by itself small discards were seen, 800 a
  second, most likely of a block for the list of the file's extents; how many this saves was not measured.
- Nothing is begun while a flush round of the node is under way (`flush_signal`), unless that never ends.
- Files are changed by the thread that has not stepped back (`Manners.errand`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from tapelog.base.ports import DiskError, File
from tapelog.node.flush_signal import FlushSignal
from tapelog.node.manners import Manners
from tapelog.node.system import SystemDisk, SystemFile
from tapelog.node.workers import Post

T = TypeVar("T")

WRITE_PIECE_BYTES: Final = 64 * 1024
READ_PIECE_BYTES: Final = 128 * 1024
SYNC_BYTES: Final = 16 * 1024 * 1024
"""Where pieces cannot be pushed: what is written before it is synced."""
SPACE_BYTES: Final = 1 << 20
"""What is taken ahead of what is written; what is left of it is given back with the sync at the end."""
_KEEP_SIZE: Final = 1  # fallocate
_PUSH_AND_WAIT: Final = 7  # sync_file_range: wait for what is on its way, write, wait
_NOT_THERE: Final = (errno.ENOSYS, errno.EINVAL, errno.ESPIPE, errno.EOPNOTSUPP)


class GentleFile(SystemFile):
    """A file whose writes have reached the disk when they return (though a sync has yet to say so)."""

    __slots__ = ("_manners", "_signal", "_taken", "_unpushed")

    def __init__(self, path: str, fd: int, size: int, manners: Manners, signal: FlushSignal) -> None:
        super().__init__(path, fd, size)
        self._manners = manners
        self._signal = signal
        self._unpushed = 0
        self._taken = 0
        _advise(fd, 0, 0, "POSIX_FADV_RANDOM")

    def read(self, position: int, size: int) -> bytes:
        end = min(position + size, self.size())
        pieces: list[bytes] = []
        while position < end:
            self._signal.wait()
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
            self._signal.wait()
            self._take_space(at + sum(map(len, piece)))
            SystemFile.write(self, piece)
            if not push(self, at, self.size()):
                self._unpushed += self.size() - at
                if self._unpushed >= SYNC_BYTES:
                    SystemFile.sync(self)
                    self._unpushed = 0

    def sync(self) -> None:
        self._manners.errand(self._sync)

    def _take_space(self, end: int) -> None:
        """For a file that becomes large. Where that cannot be had, each write finds its own."""
        if end > self._taken and end >= WRITE_PIECE_BYTES:
            start = max(self._taken, self.size())
            self._taken = max(end, start + SPACE_BYTES)
            take_space(self.fileno(), start, self._taken - start)

    def _sync(self) -> None:
        self._signal.wait()
        self._give_back()
        SystemFile.sync(self)

    def _give_back(self) -> None:
        """The space that was taken and not needed."""
        if self._taken > self.size():
            self._taken = 0
            self.truncate(self.size())

    def close(self) -> None:
        if self.fileno() >= 0:
            with suppress(DiskError):  # the next sync tells of whatever is wrong
                self._manners.errand(self._give_back)
        super().close()


class GentleDisk(SystemDisk):
    """A disk that is not asked for much at once, nor by anybody who might keep others waiting."""

    def __init__(self, root: str, post: Post, manners: Manners, signal: FlushSignal | None = None) -> None:
        super().__init__(root, post, signal=signal)
        self._manners = manners

    def opened(self, path: str, fd: int, size: int) -> SystemFile:
        return GentleFile(path, fd, size, self._manners, self.signal)

    def open(self, path: str, *, create: bool = False) -> File:
        return self._between_rounds(lambda: SystemDisk.open(self, path, create=create))

    def rename(self, old: str, new: str) -> None:
        self._between_rounds(lambda: SystemDisk.rename(self, old, new))

    def remove(self, path: str) -> None:
        self._between_rounds(lambda: SystemDisk.remove(self, path))

    def keep_changed_ms(self, path: str, changed_ms: int) -> None:
        self._between_rounds(lambda: SystemDisk.keep_changed_ms(self, path, changed_ms))

    def sync_dir(self, path: str) -> None:
        self._between_rounds(lambda: SystemDisk.sync_dir(self, path))

    def _between_rounds(self, change: Callable[[], T]) -> T:
        def run() -> T:
            self.signal.wait()
            return change()

        return self._manners.errand(run)


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
    function = _functions()[0]
    if function is None:
        return False
    if function(file.fileno(), start, end - start, _PUSH_AND_WAIT) != 0:
        number = ctypes.get_errno()
        if number in _NOT_THERE:
            return False
        raise DiskError(f"cannot write {file.path}: {os.strerror(number)}")
    return True


def take_space(fd: int, start: int, size: int) -> None:
    """Have blocks ready for a part of a file that is to be written, if possible; its size stays as it is."""
    function = _functions()[1]
    if function is not None:
        function(fd, _KEEP_SIZE, start, size)


def _advise(fd: int, position: int, size: int, advice: str) -> None:
    """A hint, where the system takes any."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(fd, position, size, getattr(os, advice))


_loaded: list[Any] = []


def _functions() -> list[Any]:
    """sync_file_range and fallocate, as far as the system has them; Python's library has neither."""
    if not _loaded:
        library = ctypes.CDLL(None, use_errno=True)
        push_it: Any = getattr(library, "sync_file_range", None)
        if push_it is not None:
            push_it.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
        take: Any = getattr(library, "fallocate64", None) if sys.platform == "linux" else None
        if take is not None:
            take.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        _loaded.extend([push_it, take])
    return _loaded
