"""One piece of an object, on its way here or here; who waits for it, and what is said when it does not come.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.log.tier.buffers import Block
from tapelog.log.tier.waiter import Waiter


class Awaited:
    """Something on its way, and who waits for it."""

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}

    def arrived(self) -> None:
        """Let them all try again."""
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            waiter.tier_moved()


class NotHereError(Exception):
    """What is needed is not here yet."""

    def __init__(self, piece: Awaited) -> None:
        super().__init__("not here yet")
        self.piece = piece


class UnreadableError(Exception):
    """What is needed cannot be had: the object is missing or damaged. since_ms: monotonic."""

    def __init__(self, text: str, since_ms: int) -> None:
        super().__init__(text)
        self.since_ms = since_ms


Key = tuple[str, int]
Convert = Callable[[bytes], Any]


class Piece(Awaited):
    """One range of one object."""

    def __init__(self, name: str, position: int, size: int, room: int, convert: Convert | None) -> None:
        super().__init__()
        self.name = name
        self.position = position
        self.size = size
        self.room = room
        """What it takes of the cache: a block takes a whole buffer."""
        self.whole = False
        self.convert = convert
        self.value: Any = None
        self.here = False
        self.unread = True
        self.counted = False
        """Whether its bytes are here, or on their way."""
        self.failures = 0
        self.failed: str | None = None
        self.since_ms = 0
        """When it came, or failed for good."""


class Run:
    """Neighbouring blocks that one call of the store fills."""

    def __init__(self, pieces: list[Piece], taken: list[Block | None], begun_ms: int) -> None:
        self.pieces = pieces
        self.taken = taken
        self.begun_ms = begun_ms
        self.broken = False
