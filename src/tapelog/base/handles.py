"""How many files may be open at once: the holders of open files, and who gives theirs back when there are too many.

A disk has one `Handles`. Whoever keeps a file open for the next time (a segment, an index) says so before it opens one,
sets `used` whenever it uses it, and gives it back in `release`: by forgetting it, never by closing it. Whoever still
reads, sends or syncs that file holds it too, and the descriptor goes with the last of them.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

FILES_MAX: Final = 512
"""Where nobody says how many there may be."""
SPARE: Final = 8
"""When there are too many, one in so many goes beyond the excess, so that the next open need not look again."""


class Holder(Protocol):
    """Whoever keeps one file open between uses."""

    listed: bool
    """Known to Handles, which alone changes this."""
    used: bool
    """Since Handles last looked."""
    pinned: bool
    """Something was written to it that nobody has begun to sync: what went wrong with that, this descriptor is told."""

    def holds(self) -> bool:
        """Whether it has a file open."""
        ...

    def release(self) -> None:
        """Forget the open file, until it is needed again."""
        ...


class Handles:
    """Bounds the files that holders keep open: those not used since the last look go first (second chance)."""

    def __init__(self, files_max: int = FILES_MAX) -> None:
        self.files_max = files_max
        self.looks = 0
        """How often there were too many."""
        self._count = 0  # never below what is held: opens since the last look are added, and nothing is taken off
        self._queue: deque[Holder] = deque()

    def opening(self, holder: Holder) -> None:
        """It is about to open its file: make room for that."""
        holder.used = True
        if self._count >= self.files_max:
            self.shed()
        if not holder.listed:
            holder.listed = True
            self._queue.append(holder)
        self._count += 1

    def held(self) -> int:
        """Files that are held open."""
        return sum(1 for holder in self._queue if holder.holds())

    def shed(self) -> None:
        """Give back some of what is held, that which was used longest ago, and count again."""
        self.looks += 1
        queue = self._queue
        for _ in range(len(queue)):
            holder = queue.popleft()
            if holder.holds():
                queue.append(holder)
            else:
                holder.listed = False
        self._count = len(queue)
        enough = self.files_max - max(1, self.files_max // SPARE)
        for _ in range(2 * len(queue)):
            if self._count <= enough:
                return
            holder = queue.popleft()
            if holder.pinned or holder.used:
                holder.used = False
                queue.append(holder)
            else:
                holder.listed = False
                holder.release()
                self._count -= 1
