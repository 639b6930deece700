"""The real world: clock, entropy and disk. The one place in the product that touches them.

`SystemDisk` blocks only in the calls whose port says so; flush rounds and jobs run on a few daemon threads and
report back through the `post` given at construction (the reactor's thread-safe call-soon).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from itertools import count
from typing import Any, Final

from tapelog.base.handles import Handles
from tapelog.base.ports import DiskError, DiskFullError, File
from tapelog.node import read_ahead
from tapelog.node.flush_signal import FlushSignal
from tapelog.node.limits import FILES_LEAST, files_share, raise_open_files_limit
from tapelog.node.removal import Removal
from tapelog.node.workers import THREADS_MAX, Aside, Post, SyncRound, Workers, start_job

__all__ = ["Aside", "SystemClock", "SystemDisk", "SystemEntropy"]

IOVECS_MAX: Final = 1024
# Figures behind these: docs/adr/0002. From so many dirty files on, one syncfs is worth its risk: it waits for all data
# on the file system, whosever it is. When it took longer than fdatasync would have, the next rounds do without.
SYNCFS_FROM: Final = 17
FDATASYNC_MS_PER_FILE: Final = 0.08
SYNCFS_GRACE_MS: Final = 5.0
ROUNDS_WITHOUT_SYNCFS: Final = 50
FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class SystemClock:
    """The machine's clocks."""

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000


class SystemEntropy:
    """The kernel's random numbers."""

    def below(self, bound: int) -> int:
        return int.from_bytes(os.urandom(16), "big") % bound

    def token(self, size: int) -> bytes:
        return os.urandom(size)


class SystemFile:
    """An open file that knows its size; the descriptor goes when the last user drops the object."""

    __slots__ = ("_fd", "_opened_at", "_size")

    def __init__(self, path: str, fd: int, size: int) -> None:
        self._opened_at = path
        self._fd = fd
        self._size = size

    @property
    def path(self) -> str:
        return _path_of(self._fd) or self._opened_at

    def write(self, chunks: Sequence[bytes | memoryview]) -> None:
        total = sum(map(len, chunks))
        try:
            if len(chunks) <= IOVECS_MAX:
                written = _write_vector(self._fd, chunks, self._size)
                if written != total:
                    self._write_rest(chunks, written)
            else:
                self._write_rest(chunks, 0)
        except OSError as error:
            self._take_back(error)
        self._size += total

    def _write_rest(self, chunks: Sequence[bytes | memoryview], done: int) -> None:
        """Carry on after a short write, or write more pieces than one call takes."""
        position, rest = self._size + done, deque[bytes | memoryview](chunks)
        while done:
            piece = rest.popleft()
            if len(piece) > done:
                rest.appendleft(memoryview(piece)[done:])
                break
            done -= len(piece)
        while rest:
            vector = [rest[i] for i in range(min(IOVECS_MAX, len(rest)))]
            written = _write_vector(self._fd, vector, position)
            position += written
            while written:
                piece = rest.popleft()
                if len(piece) > written:
                    rest.appendleft(memoryview(piece)[written:])
                    break
                written -= len(piece)
            while rest and not len(rest[0]):
                rest.popleft()

    def _take_back(self, error: OSError) -> None:
        """Cut off what a failing write left behind, then report it."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError as second:
            raise DiskError(f"cannot take back a failed write to {self.path}: {second}") from error
        if error.errno in FULL:
            raise DiskFullError(f"no space left for {self.path}") from error
        raise DiskError(f"cannot write {self.path}: {error}") from error

    def read(self, position: int, size: int) -> bytes:
        try:
            data = os.pread(self._fd, size, position)
            if len(data) == size or position + len(data) >= self._size:
                return data
            pieces = [data]
            got = len(data)
            while got < size and data:
                data = os.pread(self._fd, size - got, position + got)
                pieces.append(data)
                got += len(data)
            return b"".join(pieces)
        except OSError as error:
            raise DiskError(f"cannot read {self.path}: {error}") from error

    def read_cold(self, position: int, size: int) -> bytes:
        self._forget(position, size)
        data = self.read(position, size)
        self._forget(position, size)
        return data

    def _forget(self, position: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self._fd, position, size, os.POSIX_FADV_DONTNEED)

    def write_at(self, position: int, data: bytes) -> None:
        try:
            if os.pwrite(self._fd, data, position) != len(data):
                raise DiskFullError(f"no space left for {self.path}")
        except OSError as error:
            raise _translated(error, self.path) from error
        self._size = max(self._size, position + len(data))

    def size(self) -> int:
        return self._size

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise DiskError(f"cannot truncate {self.path}: {error}") from error
        self._size = size

    def sync(self) -> None:
        try:
            _sync_data(self._fd)
        except (OSError, ValueError) as error:  # the latter for a closed file
            raise DiskError(f"cannot sync {self.path}: {error}") from error

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class SystemDisk:
    """The file system under one log directory."""

    def __init__(
        self, root: str, post: Post, handles: Handles | None = None, signal: FlushSignal | None = None
    ) -> None:
        os.makedirs(root, exist_ok=True)
        self.handles = handles if handles is not None else Handles(files_share(raise_open_files_limit()))
        self.root = root
        self._post = post
        # opened before any write: the kernel tells syncfs of write-back errors since its descriptor was opened
        self._root_fd = os.open(root, os.O_RDONLY)
        self._workers = Workers()
        self.signal = signal if signal is not None else FlushSignal()
        """Up while a flush round is under way."""
        self._removal = Removal(signal=self.signal)
        self._numbers = count()  # for temporary names: two threads may replace the same file
        self._syncfs: Callable[[int], None] | None = None
        self._rounds_without_syncfs = 0

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            fd = self._descriptor(path, flags)
        except IsADirectoryError:
            try:
                fd = self._descriptor(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as second:
                raise _translated(second, path) from second
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not create:
                raise
            raise _translated(error, path) from error
        status = os.fstat(fd)
        return self.opened(path, fd, 0 if stat.S_ISDIR(status.st_mode) else status.st_size)

    def opened(self, path: str, fd: int, size: int) -> SystemFile:
        """The file that a descriptor is of."""
        return SystemFile(path, fd, size)

    def _descriptor(self, path: str, flags: int) -> int:
        """Somebody else may have taken the descriptors that were meant for files: give some back, and try again."""
        try:
            return os.open(path, flags, 0o644)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        self.handles.files_max = max(FILES_LEAST, min(self.handles.files_max, self.handles.held() * 3 // 4))
        self.handles.shed()
        return os.open(path, flags, 0o644)

    def exists(self, path: str) -> bool:
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _translated(error, path) from error
        return True

    def file_size(self, path: str) -> int:
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _translated(error, path) from error

    def changed_ms(self, path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return -1
        except OSError as error:
            raise _translated(error, path) from error

    def keep_changed_ms(self, path: str, changed_ms: int) -> None:
        try:
            os.utime(path, ns=(changed_ms * 1_000_000, changed_ms * 1_000_000))
        except OSError as error:
            raise _translated(error, path) from error

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _translated(error, path) from error

    def mkdir(self, path: str) -> None:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise _translated(error, path) from error

    def read_file(self, path: str) -> bytes:
        try:
            with open(path, "rb", buffering=0) as source:
                return source.read()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _translated(error, path) from error

    def write_file(self, path: str, data: bytes) -> None:
        try:
            with open(path, "wb", buffering=0) as target:
                _write_all(target, data)
        except OSError as error:
            raise _translated(error, path) from error

    def replace_file(self, path: str, data: bytes) -> None:
        temporary = f"{path}.{next(self._numbers)}.tmp"
        try:
            with open(temporary, "wb", buffering=0) as target:
                _write_all(target, data)
                _sync_data(target.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise _translated(error, path) from error
        self.sync_dir(os.path.dirname(path) or ".")

    def rename(self, old: str, new: str) -> None:
        try:
            os.rename(old, new)
        except OSError as error:
            raise _translated(error, old) from error

    def remove(self, path: str) -> None:
        try:
            self._removal.remove(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _translated(error, path) from error

    def remove_tree(self, path: str) -> None:
        import shutil

        shutil.rmtree(path, ignore_errors=True)

    def sync_dir(self, path: str) -> None:
        try:
            fd = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise DiskError(f"cannot sync directory {path}: {error}") from error

    def sync_all(self) -> None:
        """syncfs, or sync(2) where there is none."""
        call = self._syncfs_call()
        if call is None:
            os.sync()
            return
        try:
            call(self._root_fd)
        except OSError as error:
            raise DiskError(f"cannot sync the file system of {self.root}: {error}") from error

    def _sync_all_timed(self, count: int) -> None:
        """sync_all for a round of count files, noticing when others' data made it slow."""
        began = time.monotonic()
        self.sync_all()
        if (time.monotonic() - began) * 1000 > count * FDATASYNC_MS_PER_FILE + SYNCFS_GRACE_MS:
            self._rounds_without_syncfs = ROUNDS_WITHOUT_SYNCFS

    def free_bytes(self) -> int:
        status = self._status()
        return status.f_bavail * status.f_frsize

    def total_bytes(self) -> int:
        status = self._status()
        return status.f_blocks * status.f_frsize

    def free_files(self) -> tuple[int, int]:
        status = self._status()
        return status.f_favail, status.f_files

    def _status(self) -> os.statvfs_result:
        try:
            return os.statvfs(self.root)
        except OSError as error:
            raise _translated(error, self.root) from error

    def expect(self, directories: list[str]) -> Callable[[], None]:
        return read_ahead.expect(directories)

    def start_flush(self, files: list[File], done: Callable[[DiskError | None], None]) -> None:
        if not files:
            self._post(lambda: done(None))
            return
        syncs = [file.sync for file in files]
        if len(files) >= SYNCFS_FROM and self._syncfs_call() is not None:
            if self._rounds_without_syncfs:
                self._rounds_without_syncfs -= 1
            else:
                syncs = [lambda: self._sync_all_timed(len(files))]
        self.signal.raise_it()
        flush_round = SyncRound(self._post_flushed, done, syncs)
        try:
            for _ in range(min(THREADS_MAX, len(syncs))):
                self._workers.submit(flush_round.run_next)
        except BaseException:
            self.signal.lower()
            raise

    def _post_flushed(self, action: Callable[[], None]) -> None:
        self.signal.lower()
        self._post(action)

    def start_job(self, job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        start_job(self._workers, self._post, job, done)

    def close(self) -> None:
        """Let the threads finish what they were given, then give everything back."""
        self._workers.close()
        fd, self._root_fd = self._root_fd, -1
        if fd >= 0:
            os.close(fd)

    def _syncfs_call(self) -> Callable[[int], None] | None:
        if self._syncfs is None and reports_syncfs_errors():
            self._syncfs = _load_syncfs()
        return self._syncfs


def _path_of(fd: int) -> str:
    """Where an open file is now; empty where the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}").removesuffix(" (deleted)")
    except OSError:
        return ""


def reports_syncfs_errors() -> bool:
    """Linux from 5.8 on: before that syncfs swallowed write-back errors, and an answer would be a lie."""
    system = os.uname()
    if system.sysname != "Linux":
        return False
    major, _, rest = system.release.partition(".")
    minor = "".join(c for c in rest.partition(".")[0] if c.isdecimal())
    return (int(major), int(minor or "0")) >= (5, 8)


def _load_syncfs() -> Callable[[int], None] | None:
    import ctypes

    libc: Any = ctypes.CDLL(None, use_errno=True)
    function: Any = getattr(libc, "syncfs", None)
    if function is None:
        return None

    def syncfs(fd: int) -> None:
        if function(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return syncfs


def _translated(error: OSError, path: str) -> DiskError:
    if error.errno in FULL:
        return DiskFullError(f"no space left for {path}")
    return DiskError(f"{path}: {error}")


def _write_all(target: FileIO, data: bytes) -> None:
    """One call writes as much as there is room for, and says nothing about the rest."""
    rest = memoryview(data)
    while rest:
        rest = rest[target.write(rest) :]


def _write_vector(fd: int, chunks: Sequence[bytes | memoryview], position: int) -> int:
    return os.pwritev(fd, chunks, position)


def _sync_data(fd: int) -> None:
    os.fdatasync(fd)


if not hasattr(os, "fdatasync"):  # macOS: only F_FULLFSYNC reaches the platter
    import fcntl

    def _sync_data(fd: int) -> None:
        fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC", 51))
