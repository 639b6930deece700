"""Memory for blocks of objects: taken once, used again and again, never more than was agreed.

Asking the system for memory and giving it back costs more than filling it, and what many threads ask for stays in
many heaps. So blocks lie in buffers of a few sizes. A Block gives its buffer back when nobody holds it any more,
wherever it was let go of: whoever hands on a view of its bytes keeps the Block as well.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

import mmap
from collections import deque
from typing import Final

POOLED_BYTES_MIN: Final = 64 * 1024
"""Smaller ones are not worth keeping."""


def room_for(size: int) -> int:
    """What a block of that size takes: the next power of two."""
    return size if size < POOLED_BYTES_MIN else 1 << (size - 1).bit_length()


class Block:
    """Bytes of an object, from `position` on. Changed by nobody after they have come."""

    __slots__ = ("_buffers", "_memory", "data", "good_end", "good_start", "lent", "position", "room")

    def __init__(self, buffers: Buffers, memory: mmap.mmap | bytearray, position: int, size: int) -> None:
        self._buffers = buffers
        self._memory = memory
        self.room = len(memory)
        self.data = memoryview(memory)[:size]
        self.position = position
        self.lent = 0
        """Answers on their way to clients that are sent from here."""
        self.good_start = self.good_end = position
        """From where to where its batches were seen to be what was written."""

    def vouch(self, start: int, end: int) -> None:
        """The batches there are good."""
        start, end = max(start, self.position), min(end, self.position + len(self.data))
        if start <= self.good_end and end >= self.good_start:
            self.good_start, self.good_end = min(start, self.good_start), max(end, self.good_end)
        else:
            self.good_start, self.good_end = start, end

    def vouches(self, start: int, end: int) -> bool:
        """Whether that is known of all that it has of them."""
        start, end = max(start, self.position), min(end, self.position + len(self.data))
        return self.good_start <= start and end <= self.good_end

    def lend(self) -> None:
        """An answer is sent from here."""
        if not self.lent:
            self._buffers.lent += self.room
        self.lent += 1

    def give_back(self) -> None:
        """It was sent, or never will be."""
        self.lent -= 1
        if not self.lent:
            self._buffers.lent -= self.room

    def give_back_later(self, blocks: list[Block]) -> None:
        """The same of several, from whatever thread."""
        self._buffers.late.append(blocks)

    def __del__(self) -> None:
        self.data = _NOTHING
        self._buffers.late.append(self._memory)


_NOTHING: Final = memoryview(b"")


class Buffers:
    """See the module. bytes_max: of all buffers, in use or not; who takes one has seen to it that there is room."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.out = 0
        """Bytes in use."""
        self.idle = 0
        """Bytes that wait to be used again."""
        self.lent = 0
        """Bytes of blocks that answers are sent from."""
        self.late: deque[mmap.mmap | bytearray | list[Block]] = deque()
        """What nobody holds any more, and is not yet counted so: the collector may find that on any thread."""
        self._idle: dict[int, list[mmap.mmap | bytearray]] = {}

    def take(self, position: int, size: int, beside: int = 0) -> Block:
        """Room for a block, where there are so many bytes of other things."""
        self.settle()
        room = room_for(size)
        waiting = self._idle.get(room)
        if waiting:
            memory = waiting.pop()
            self.idle -= room
        else:
            self.shrink(room + beside)
            memory = _allocate(room)
        self.out += room
        return Block(self, memory, position, size)

    def settle(self) -> None:
        """Count what was let go of. On the loop, before anything is decided."""
        while self.late:
            freed = self.late.popleft()
            if isinstance(freed, list):
                for block in freed:
                    block.give_back()
                continue
            room = len(freed)
            self.out -= room
            if room >= POOLED_BYTES_MIN:
                self._idle.setdefault(room, []).append(freed)
                self.idle += room

    def shrink(self, beside: int) -> None:
        """Give idle buffers back to the system where they would be too many beside that."""
        self.settle()
        for waiting in self._idle.values():
            while waiting and self.out + self.idle + beside > self.bytes_max:
                self.idle -= len(waiting.pop())


def _allocate(room: int) -> mmap.mmap | bytearray:
    if room < POOLED_BYTES_MIN:
        return bytearray(room)
    return mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
