"""Very many logs that are about to be opened, one after the other: what that reads is brought into memory meanwhile.

Opening a log is a handful of small reads, and on a disk that nobody has read since the machine started each of them
waits for it. A few threads read the same ahead of whoever opens: only into the page cache, so nothing depends on
whether they come in time, nor on what they meet. The first looks at some directories and sees whether the disk was
asked for anything: after a restart of the process alone everything is in memory, and it ends there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

THREADS: Final = 6
DIRECTORIES_LEAST: Final = 256
"""For fewer it is not worth it."""
LOOKED_AT: Final = 48
"""So many directories tell whether the others are in memory. Whoever opens begins with others."""
TAIL: Final = 64 << 10
"""How much is read of the end of a file, and of which most are smaller."""


class ReadAhead:
    """Threads that go through these directories, in this order, until the end or `stop`."""

    def __init__(self, directories: list[str], count: int = THREADS) -> None:
        self._directories = directories
        self._next = LOOKED_AT
        self._lock = threading.Lock()
        self._stopped = False
        self._threads = [threading.Thread(target=self._scout, args=(count,), name="read-ahead", daemon=True)]
        self._threads[0].start()

    def stop(self) -> None:
        """Nothing is read any more once this returns."""
        self._stopped = True
        for thread in list(self._threads):
            thread.join()

    @property
    def read(self) -> int:
        """How many directories were read."""
        return self._next - LOOKED_AT

    def _scout(self, count: int) -> None:
        before = _read_from_disk()
        for _ in range(LOOKED_AT):
            self._one()
        if before is None or _read_from_disk() == before:
            return
        others = [threading.Thread(target=self._work, name="read-ahead", daemon=True) for _ in range(count - 1)]
        for thread in others:
            thread.start()
        self._work()
        for thread in others:
            thread.join()

    def _work(self) -> None:
        while self._one():
            pass

    def _one(self) -> bool:
        with self._lock:
            number = self._next
            if self._stopped or number >= len(self._directories):
                return False
            self._next += 1
        with suppress(OSError):
            touch(self._directories[number])
        return True


def touch(directory: str) -> None:
    """Read what opening a log reads: small files, the ends of the newest segment's, and where the others are."""
    newest: dict[str, str] = {}
    for name in os.listdir(directory):
        suffix = name.rpartition(".")[2]
        newest[suffix] = max(name, newest.get(suffix, ""))
    for name in newest.values():
        with suppress(OSError):
            fd = os.open(f"{directory}/{name}", os.O_RDONLY)
            try:
                os.pread(fd, TAIL, max(0, os.fstat(fd).st_size - TAIL))
            finally:
                os.close(fd)


def _read_from_disk() -> int | None:
    """Blocks that the disk had to give this thread so far; None where the system does not tell."""
    import resource

    if not hasattr(resource, "RUSAGE_THREAD"):
        return None
    return resource.getrusage(resource.RUSAGE_THREAD).ru_inblock


def expect(directories: list[str]) -> Callable[[], None]:
    """Read ahead if there are many; what is returned stops it."""
    if len(directories) < DIRECTORIES_LEAST:
        return _nothing
    return ReadAhead(directories).stop


def _nothing() -> None:
    pass
