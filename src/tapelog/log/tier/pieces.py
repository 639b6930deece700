"""Pieces of objects that are here: a bounded cache, and what is on its way into it.

Readers take what they need with `get`. What is not here raises NotHereError, and is on its way: the reader waits for
it (`NotHereError.piece.waiters`) and tries again from the beginning. So everything that reads the tier is written as if
it had everything, and nobody ever blocks. Objects never change, so nothing here grows old.

Calls that fail are repeated, later each time, as long as somebody waits. What nobody has read yet is not thrown out
for something else, except after a while: a reader that needs two pieces finds both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from tapelog.base.timers import Timer, Timers
from tapelog.log.tier.store import Got, ObjectMissingError, ObjectStore, RefusedError, StoreError

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Batches are read in pieces of this size."""
BLOCKS_MIN: Final = 8
"""The cache has room for so many, however small it is set."""
PARALLEL_MAX: Final = 10
"""Calls under way at once, unless told otherwise (remote.log.reader.threads)."""
AHEAD_MAX: Final = 64
"""Pieces that wait to be read ahead; what comes on top is left until it is needed."""
BACKOFF_MS: Final = 100
BACKOFF_MS_MAX: Final = 5_000
KEPT_MS: Final = 2_000
"""So long a piece that nobody has read yet is safe from being thrown out; so long a failure is remembered."""
WHOLE: Final = -1
"""As a size: all of an object, of which the size is not known."""
GUESS_BYTES: Final = 32 * 1024


class Waiter(Protocol):
    """Somebody who waits for pieces."""

    def tier_moved(self) -> None:
        """Something it waits for is here, or will not come: try again. Called on the loop."""
        ...


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

    def __init__(self, name: str, position: int, size: int, convert: Convert | None) -> None:
        super().__init__()
        self.name = name
        self.position = position
        self.size = size
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


class Pieces:
    """See the module."""

    def __init__(
        self,
        store: ObjectStore,
        timers: Timers,
        bytes_max: int,
        parallel_max: int = PARALLEL_MAX,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.store = store
        self.timers = timers
        self.block_bytes = block_bytes
        self.bytes_max = max(bytes_max, BLOCKS_MIN * block_bytes)
        self.parallel_max = parallel_max
        self.used = 0
        """Bytes here and on their way."""
        self.unread = 0
        """Bytes that nobody has read yet, here, on their way or waiting for that."""
        self.under_way = 0
        self.loads = 0
        self.failures = 0
        self.complain: Callable[[str], None] = _ignore
        self._pieces: dict[Key, Piece] = {}  # used longest ago first
        self._wanted: deque[Piece] = deque()
        self._ahead: deque[Piece] = deque()
        self._timer: Timer | None = None

    # --- readers -------------------------------------------------------------------------------------------------

    def get(self, name: str, position: int, size: int, convert: Convert | None = None) -> Any:
        """The piece, as convert made it. NotHereError if it is not here; UnreadableError if it cannot be had."""
        key = (name, position)
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._add(key, size, convert)
            self._wanted.append(piece)
            self._pump()
        elif not piece.here and piece in self._ahead:
            self._ahead.remove(piece)
            self._wanted.append(piece)
            self._pump()
        if piece.here:
            if piece.unread:
                piece.unread = False
                self.unread -= piece.size
            self._pieces[key] = self._pieces.pop(key)
            return piece.value
        if piece.failed is not None:
            if self.timers.clock.monotonic_ms() - piece.since_ms >= KEPT_MS:
                self._drop(piece)
                return self.get(name, position, size, convert)
            raise UnreadableError(piece.failed, piece.since_ms)
        raise NotHereError(piece)

    def has(self, name: str, position: int) -> bool:
        """Whether it is here."""
        piece = self._pieces.get((name, position))
        return piece is not None and piece.here

    def ahead(self, name: str, position: int, size: int, convert: Convert | None = None) -> bool:
        """It will be needed soon. False if there is no room for it now."""
        key = (name, position)
        if key in self._pieces:
            return True
        if len(self._ahead) >= AHEAD_MAX or self.unread + size > self.bytes_max // 2:
            return False
        self._ahead.append(self._add(key, size, convert))
        self._pump()
        return True

    def forget(self, name: str) -> None:
        """All of an object that is here can go."""
        for piece in [piece for piece in self._pieces.values() if piece.name == name and piece.here]:
            self._drop(piece)

    # --- loading -------------------------------------------------------------------------------------------------

    def _add(self, key: Key, size: int, convert: Convert | None) -> Piece:
        piece = self._pieces[key] = Piece(key[0], key[1], size, convert)
        if size == WHOLE:
            piece.size, piece.whole = min(GUESS_BYTES, self.block_bytes), True
        self.unread += piece.size
        return piece

    def _drop(self, piece: Piece) -> None:
        del self._pieces[piece.name, piece.position]
        self._uncount(piece)
        if piece.unread:
            self.unread -= piece.size

    def _uncount(self, piece: Piece) -> None:
        if piece.counted:
            piece.counted = False
            self.used -= piece.size

    def _pump(self) -> None:
        """Start what can be started: what somebody waits for before what somebody may want."""
        while self.under_way < self.parallel_max and (self._wanted or self._ahead):
            queue = self._wanted or self._ahead
            if not self._make_room(queue[0].size):
                if self._timer is None:
                    self._timer = self.timers.after(BACKOFF_MS, self._look_again)
                return
            self._load(queue.popleft())

    def _look_again(self) -> None:
        self._timer = None
        self._pump()

    def _make_room(self, size: int) -> bool:
        """Throw out what was used longest ago until there is room. What is larger than the cache has it for itself."""
        least = self.bytes_max - size
        if self.used <= least:
            return True
        now_ms = self.timers.clock.monotonic_ms()
        for piece in list(self._pieces.values()):
            finished = piece.here or piece.failed is not None
            if finished and not (piece.unread and now_ms - piece.since_ms < KEPT_MS):
                self._drop(piece)
                if self.used <= least:
                    return True
        return self.used == 0

    def _load(self, piece: Piece) -> None:
        self.under_way += 1
        self.loads += 1
        piece.counted = True
        self.used += piece.size

        def got(result: Got | StoreError) -> None:
            self._loaded(piece, result if isinstance(result, StoreError) else result.data)

        def ranged(result: list[bytes] | StoreError) -> None:
            self._loaded(piece, result if isinstance(result, StoreError) else result[0])

        if piece.whole:
            self.store.get(piece.name, got)
        else:
            self.store.get_ranges(piece.name, [(piece.position, piece.size)], ranged)

    def _loaded(self, piece: Piece, result: bytes | StoreError) -> None:
        self.under_way -= 1
        piece.since_ms = self.timers.clock.monotonic_ms()
        if isinstance(result, StoreError):
            self._uncount(piece)
        if isinstance(result, ObjectMissingError):
            piece.failed = str(result)
            piece.arrived()
        elif isinstance(result, StoreError):
            self._failed(piece, result)
        else:
            self._take(piece, result)
        self._pump()

    def _take(self, piece: Piece, data: bytes) -> None:
        if piece.whole:
            self.used += len(data) - piece.size
            self.unread += len(data) - piece.size
            piece.size = len(data)
        try:
            piece.value = data if piece.convert is None else piece.convert(data)
            piece.here = True
        except Exception as error:  # whatever is wrong with what somebody else has written
            piece.failed = f"{piece.name}: {type(error).__name__}: {error}"
        piece.arrived()

    def _failed(self, piece: Piece, error: StoreError) -> None:
        """Later again, if somebody waits for it; else it is forgotten."""
        self.failures += 1
        self.complain(f"reading {piece.name} from the tier failed: {error}")
        if not piece.waiters:
            self._drop(piece)
            return
        delay_ms = BACKOFF_MS_MAX if isinstance(error, RefusedError) else BACKOFF_MS << min(piece.failures, 10)
        piece.failures += 1

        def again() -> None:
            if piece.waiters:
                self._wanted.append(piece)
                self._pump()
            else:
                self._drop(piece)

        self.timers.after(min(delay_ms, BACKOFF_MS_MAX), again)

    def invariants(self) -> None:
        """What must hold after every step."""
        pieces = list(self._pieces.values())
        assert self.used == sum(piece.size for piece in pieces if piece.counted)
        assert all(piece.counted for piece in pieces if piece.here)
        assert self.unread == sum(piece.size for piece in pieces if piece.unread)
        assert 0 <= self.under_way <= self.parallel_max


def _ignore(_: str) -> None:
    pass
