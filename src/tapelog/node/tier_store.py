"""The ObjectStore port on threads: blocking calls of a Backend, their results on the loop.

Three pools, so that nothing waits behind something slower than itself: uploads and what checks them, small objects,
and reads for clients. Daemon threads, started when first needed: a hanging store does not keep a node from stopping.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeVar

from tapelog.log.tier.store import (
    Condition,
    Got,
    Listing,
    StoreError,
    UnavailableError,
    Version,
    brings_several,
)
from tapelog.node.object_stores import Backend

R = TypeVar("R")

SMALL_THREADS: Final = 4
READ_THREADS: Final = 16
WINDOW_S: Final = 1.0


class ThreadedStore:
    """See the module."""

    def __init__(
        self,
        open_backend: Callable[[], Backend],
        post: Callable[[Callable[[], None]], None],
        *,
        copiers: int,
        bytes_per_second: Callable[[], int],
    ) -> None:
        self._open = open_backend
        self._backend: Backend | None = None
        self._several: Callable[[], bool] = _no
        self._opening = threading.Lock()
        self._post = post
        self._uploads = _Pool("tier-copy", copiers)
        self._small = _Pool("tier", SMALL_THREADS)
        self._reads = _Pool("tier-read", READ_THREADS)
        self._throttle = _Throttle(bytes_per_second)

    def brings_several(self) -> bool:
        """Whether one call of read_into brings several pieces for little more than one now."""
        return self._several()

    def get(self, name: str, done: Callable[[Got | StoreError], None]) -> None:
        self._call(self._small, lambda backend: backend.get(name), done)

    def get_ranges(
        self, name: str, ranges: Sequence[tuple[int, int]], done: Callable[[list[bytes] | StoreError], None]
    ) -> None:
        self._call(self._reads, lambda backend: backend.get_ranges(name, ranges), done)

    def read_into(
        self, name: str, position: int, into: Sequence[memoryview], done: Callable[[int, StoreError | None], None]
    ) -> None:
        filled = 0

        def one_more() -> None:
            nonlocal filled
            filled += 1
            if filled < len(into):  # the last one's is told with the call's end
                self._post(partial(done, filled - 1, None))

        def over(error: StoreError | None) -> None:
            if error is None and filled < len(into):  # what nobody filled holds anything
                error = UnavailableError(f"{name}: {filled} of {len(into)} pieces came")
            for number in range(min(filled, len(into) - 1), len(into)):
                done(number, error if number >= filled else None)

        self._call(self._reads, lambda backend: backend.read_into(name, position, into, one_more), over)

    def put(
        self, name: str, data: bytes, condition: Condition | None, done: Callable[[Version | StoreError], None]
    ) -> None:
        self._call(self._small, lambda backend: backend.put(name, data, condition), done)

    def upload(
        self, name: str, chunks: Callable[[], Iterator[bytes]], done: Callable[[Version | StoreError], None]
    ) -> None:
        self._call(self._uploads, lambda backend: backend.upload(name, self._throttle.paced(chunks())), done)

    def checksum(self, name: str, size: int, done: Callable[[int | StoreError], None]) -> None:
        self._call(self._uploads, lambda backend: backend.checksum(name, size), done)

    def list(self, prefix: str, after: str, done: Callable[[Listing | StoreError], None]) -> None:
        self._call(self._small, lambda backend: backend.list(prefix, after), done)

    def delete(self, names: Sequence[str], done: Callable[[StoreError | None], None]) -> None:
        self._call(self._small, lambda backend: backend.delete(names), done)

    def _call(self, pool: _Pool, call: Callable[[Backend], R], done: Callable[[R | StoreError], None]) -> None:
        def run() -> None:
            result: R | StoreError
            try:
                result = call(self._opened())
            except StoreError as error:
                result = error
            except BaseException as error:  # obstore's panics, too: who waits is told, and the thread lives on
                result = UnavailableError(f"{type(error).__name__}: {error}")
            self._post(lambda: done(result))

        pool.submit(run)

    def _opened(self) -> Backend:
        """Opened on a thread, at the first call: loading obstore takes its time."""
        with self._opening:
            if self._backend is None:
                self._backend = self._open()
                self._several = brings_several(self._backend)
            return self._backend


def _no() -> bool:
    return False


class _Throttle:
    """At most so many bytes a second over all uploads."""

    def __init__(self, bytes_per_second: Callable[[], int]) -> None:
        self._rate = bytes_per_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def paced(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            with self._lock:
                now = time.monotonic()
                self._free_at = max(self._free_at, now - WINDOW_S) + len(piece) / max(1, self._rate())
                wait = self._free_at - now
            if wait > 0:
                time.sleep(wait)
            yield piece


class _Pool:
    """Up to so many daemon threads."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._threads = 0
        self._unfinished = 0
        self._lock = threading.Lock()

    def submit(self, job: Callable[[], None]) -> None:
        """Run it soon; it handles its own exceptions."""
        with self._lock:
            self._unfinished += 1
            if self._threads < min(self._unfinished, self._size):
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()
                self._threads += 1
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                self._unfinished -= 1
