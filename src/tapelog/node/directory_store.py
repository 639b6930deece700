"""An object store that is a directory: the tier's default, and what a shared file system can serve.

Objects are files; a put is a temporary file, synced and renamed. Conditional puts take a lock on the root, so that they
exclude each other between processes, too (over NFS as far as its locks do). No obstore is needed. A directory without
its mark (`directory_mark`) is one whose file system is not mounted: unavailable, never empty.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final

from tapelog.log.tier.store import (
    LIST_PAGE_MAX,
    Absent,
    Condition,
    ConflictError,
    Got,
    Listing,
    ObjectInfo,
    ObjectMissingError,
    RefusedError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.node.directory_mark import PRIVATE, Memory, read_mark, recognised
from tapelog.node.object_stores import checksum

TEMPORARY_S_MAX: Final = 86_400
"""A temporary file so old is nobody's."""


class DirectoryBackend:
    """See the module."""

    def __init__(self, root: str, memory: Memory | None = None) -> None:
        self._root = root.rstrip("/")
        self._private = f"{self._root}/{PRIVATE}"
        with _translated(self._root):
            self._mark = recognised(self._root, memory)
        self._sweep()

    def get(self, name: str) -> Got:
        with self._here(name):
            with open(self._path(name), "rb") as file:
                data = file.read()
            return Got(data, _version(data))

    def get_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with self._here(name), open(self._path(name), "rb", buffering=0) as file:
            pieces = [os.pread(file.fileno(), size, position) for position, size in ranges]
        if any(len(piece) != size for piece, (_, size) in zip(pieces, ranges, strict=True)):
            raise ObjectMissingError(f"{name} is shorter than it should be")
        return pieces

    def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> None:
        with self._here(name), open(self._path(name), "rb", buffering=0) as file:
            for piece in into:
                if os.preadv(file.fileno(), [piece], position) != len(piece):
                    raise ObjectMissingError(f"{name} is shorter than it should be")
                position += len(piece)
                filled()

    def put(self, name: str, data: bytes, condition: Condition | None = None) -> Version:
        with self._here(name):
            temporary = self._temporary(iter((data,)))
            try:
                if condition is None:
                    self._install(temporary, name)
                else:
                    with self._locked():
                        self._check(name, condition)
                        self._install(temporary, name)
            finally:
                with suppress(FileNotFoundError):
                    os.remove(temporary)
        return _version(data)

    def upload(self, name: str, pieces: Iterator[bytes]) -> Version:
        with self._here(name):
            temporary = self._temporary(pieces)
            try:
                self._install(temporary, name)
            finally:
                with suppress(FileNotFoundError):
                    os.remove(temporary)
        return Version(None)

    def checksum(self, name: str, size: int) -> int:
        with self._here(name):
            found = os.stat(self._path(name)).st_size
        return checksum(self, name, size, found)

    def list(self, prefix: str, after: str = "") -> Listing:
        with self._here(prefix):
            self._recognise()
            found = list(islice(_files(self._root, prefix, after), LIST_PAGE_MAX + 1))
            infos = tuple(ObjectInfo(name, _size(f"{self._root}/{name}")) for name in found[:LIST_PAGE_MAX])
            return Listing(infos, len(found) > LIST_PAGE_MAX)

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            path = self._path(name)
            with self._here(name):
                self._recognise()
                with suppress(FileNotFoundError):
                    os.remove(path)
                with suppress(OSError):  # directories that have become empty
                    while (path := os.path.dirname(path)) != self._root:
                        os.rmdir(path)

    def _sweep(self) -> None:
        """Remove what processes that were killed while they wrote have left behind."""
        with suppress(OSError), os.scandir(self._private) as found:
            for item in found:
                if item.name.endswith(".tmp") and item.stat().st_mtime < time.time() - TEMPORARY_S_MAX:
                    with suppress(OSError):
                        os.remove(item.path)

    def _path(self, name: str) -> str:
        assert name and not name.startswith("/") and ".." not in name.split("/"), name
        return f"{self._root}/{name}"

    @contextmanager
    def _here(self, name: str) -> Iterator[None]:
        """What is missing is missing only while the tier itself is there."""
        try:
            with _translated(name):
                yield
        except ObjectMissingError:
            self._recognise()
            raise

    def _recognise(self) -> None:
        if read_mark(self._root) != self._mark:
            raise UnavailableError(f"{self._root} is not the tier it was: is its file system mounted?")

    def _temporary(self, pieces: Iterator[bytes]) -> str:
        self._recognise()
        path = f"{self._private}/{os.getpid()}-{os.urandom(8).hex()}.tmp"
        try:
            with open(path, "xb", buffering=0) as file:
                for piece in pieces:
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
        except BaseException:
            with suppress(FileNotFoundError):
                os.remove(path)
            raise
        return path

    def _install(self, temporary: str, name: str) -> None:
        path = self._path(name)
        while True:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                os.rename(temporary, path)
                break
            except FileNotFoundError:  # a delete elsewhere took the directory that had become empty
                if not os.path.exists(temporary):
                    raise
        directory = os.path.dirname(path)
        while True:
            _sync(directory)
            if directory == self._root:
                break
            directory = os.path.dirname(directory)

    def _check(self, name: str, condition: Condition) -> None:
        try:
            with open(self._path(name), "rb") as file:
                held: Version | None = _version(file.read())
        except FileNotFoundError:
            held = None
        if isinstance(condition, Absent):
            if held is not None:
                raise ConflictError(f"{name} exists")
        elif held != condition:
            raise ConflictError(f"{name} was changed by somebody else")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open(f"{self._private}/lock", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise ObjectMissingError(f"there is no {name}") from error
    except PermissionError as error:
        raise RefusedError(f"{error}: give the broker's user access to the tier's directory") from error
    except OSError as error:
        raise UnavailableError(str(error)) from error


def _version(data: bytes) -> Version:
    return Version(hashlib.blake2b(data, digest_size=16).hexdigest())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # deleted since
        return 0


def _files(root: str, prefix: str, after: str) -> Iterator[str]:
    """Names of files below prefix (which ends with a slash, or is empty) behind `after`, in order."""
    try:
        with os.scandir(f"{root}/{prefix}") as found:
            entries = sorted((prefix + item.name + ("/" if item.is_dir() else "")) for item in found)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in entries:
        if name == PRIVATE + "/":
            continue
        if name.endswith("/"):
            if name > after or after.startswith(name):
                yield from _files(root, name, after)
        elif name > after:
            yield name


def _sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
