"""Blocks of an object, read ahead of who takes them: a few at once, each by a thread of its own, in order.

Threads are daemons and hold nothing but their block: a reader that is given up leaves no more behind than the reads
that are under way. An error comes out where its block would have.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Final

BLOCK_BYTES: Final = 8 * 1024 * 1024
AHEAD: Final = 3
"""Blocks under way at once for one task; so many and one more are in memory."""


def blocks(
    read: Callable[[int, int], bytes], start: int, end: int, *, size: int = BLOCK_BYTES, ahead: int = AHEAD
) -> Iterator[bytes]:
    """The bytes from start to end in blocks of size, by calls of read(position, size)."""
    coming: deque[SimpleQueue[bytes | BaseException]] = deque()
    at = start
    while at < end or coming:
        while at < end and len(coming) < ahead:
            coming.append(_begin(read, at, min(size, end - at)))
            at += size
        found = coming.popleft().get()
        if isinstance(found, BaseException):
            raise found
        yield found


def _begin(read: Callable[[int, int], bytes], position: int, size: int) -> SimpleQueue[bytes | BaseException]:
    slot: SimpleQueue[bytes | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            slot.put(read(position, size))
        except BaseException as error:
            slot.put(error)

    threading.Thread(target=work, name="tapelog-history", daemon=True).start()
    return slot
