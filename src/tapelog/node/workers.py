"""A few threads for calls that block: syncs, reads of cold files, removals. They report back through `post`.

Used by `system.SystemDisk`, and with threads of its own by whatever else blocks (`Aside`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from tapelog.base.ports import DiskError

Post = Callable[[Callable[[], None]], None]

THREADS_MAX: Final = 8


class SyncRound:
    """Several syncs shared out among threads; the last to finish reports, with the first failure."""

    def __init__(self, post: Post, done: Callable[[DiskError | None], None], syncs: list[Callable[[], None]]) -> None:
        self._post = post
        self._done = done
        self._syncs = syncs
        self._lock = threading.Lock()
        self._next = 0
        self._left = len(syncs)
        self._failure: DiskError | None = None

    def run_next(self) -> None:
        """What each thread does: take the next sync until none is left."""
        while True:
            with self._lock:
                if self._next == len(self._syncs):
                    return
                sync = self._syncs[self._next]
                self._next += 1
            failure: DiskError | None = None
            try:
                sync()
            except DiskError as error:
                failure = error
            except Exception as error:
                failure = DiskError(f"flush failed: {error}")
            with self._lock:
                self._failure = self._failure or failure
                self._left -= 1
                last = self._left == 0
            if last:
                self._post(lambda: self._done(self._failure))
                return


class Aside:
    """Blocking calls that are not the disk's, on threads of their own: the disk never waits behind them."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._workers = Workers()

    def start_job(self, job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Run job on a thread; done is called on the loop, with what it raised."""
        start_job(self._workers, self._post, job, done)


def start_job(workers: Workers, post: Post, job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
    """Run job on one of the workers; done is called on the loop, with what it raised."""

    def run() -> None:
        failure: Exception | None = None
        try:
            job()
        except Exception as error:
            failure = error
        post(lambda: done(failure))

    workers.submit(run)


class Workers:
    """A few daemon threads, started when first needed."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._unfinished = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Queue a job that handles its own exceptions."""
        with self._lock:
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, THREADS_MAX):
                thread = threading.Thread(target=self._work, name=f"disk-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job()
            with self._lock:
                self._unfinished -= 1

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
