"""Pieces of objects that are here: a bounded cache, and what is on its way into it.

Readers take what they need with `get`. What is not here raises NotHereError, and is on its way: the reader waits for
it (`NotHereError.piece.waiters`) and tries again from the beginning. So everything that reads the tier is written as if
it had everything, and nobody ever blocks. Objects never change, so nothing here grows old.

Calls that fail are repeated, later each time, as long as somebody waits. What nobody has read yet is not thrown out
for something else, except after a while: a reader that needs two pieces finds both. Nor is it waited for longer than
that: readers go elsewhere without saying so.

Blocks that follow each other may come with one call, where calls are quick, or where it is the call that takes its time
and not what it brings: each costs the store and us a millisecond or more. A store that is far away is asked for many at
once instead. Which it is, is tried now and then.

Blocks lie in `buffers`. What an answer is sent from stays until it is sent; no more than half the room is lent that
way, so that who is slow keeps nobody from reading.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from tapelog.base.timers import Timer, Timers
from tapelog.log.tier.buffers import Block, Buffers, room_for
from tapelog.log.tier.piece import Awaited, Convert, Key, NotHereError, Piece, Run, UnreadableError
from tapelog.log.tier.quota import Quota
from tapelog.log.tier.store import (
    ObjectMissingError,
    ObjectStore,
    RefusedError,
    StoreError,
    brings_several,
)
from tapelog.log.tier.waiter import Waiter

__all__ = ["Awaited", "NotHereError", "Pieces", "UnreadableError", "Waiter"]

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Batches are read in pieces of this size."""
BLOCKS_MIN: Final = 8
"""The cache has room for so many, however small it is set."""
PARALLEL_MAX: Final = 10
"""Calls under way at once, unless told otherwise (remote.log.reader.threads)."""
RUN_BLOCKS_MAX: Final = 4
"""Blocks that one call may bring, one after the other."""
RUN_MS: Final = 50
"""One call brings more than a block as far as that took no longer lately: a store that is far away is better asked by
many at once."""
RUN_SHARE: Final = 0.2
"""Or where each further block took no more than this part of what one alone does: the call takes its time, not they."""
TRY_EACH: Final = 16
"""After so many calls for one block each another way is tried."""
PACE: Final = 0.25
"""How much of it a new call counts."""
READING_MS: Final = 500
"""Who has not come for so long does not read now."""
AHEAD_MAX: Final = 64
"""Pieces that wait to be read ahead; what comes on top is left until it is needed."""
BACKOFF_MS: Final = 100
BACKOFF_MS_MAX: Final = 5_000
KEPT_MS: Final = 2_000
"""So long a piece that nobody has read yet is safe from being thrown out; so long a failure is remembered."""
UNREAD_MS_MAX: Final = 30_000
"""So long a piece that was read in advance is waited to be read, where others have no room."""
DOUBTS_MAX: Final = 1_000
"""Damaged blocks that are remembered as such; more than the largest batch can reach over."""
WHOLE: Final = -1
"""As a size: all of an object, of which the size is not known."""
GUESS_BYTES: Final = 32 * 1024


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
        self.bytes_max = max(bytes_max, BLOCKS_MIN * room_for(block_bytes))
        self.buffers = Buffers(self.bytes_max)
        self.parallel_max = parallel_max
        self.used = 0
        """Bytes here and on their way."""
        self.blocks = 0
        """Of these in blocks."""
        self.unread = 0
        """Bytes that nobody has read yet, here, on their way or waiting for that."""
        self.under_way = 0
        self.loads = 0
        self.failures = 0
        self.complain: Callable[[str], None] = _ignore
        self._pieces: dict[Key, Piece] = {}  # used longest ago first
        self._new: dict[Key, Piece] = {}  # here, and nobody has read them yet: first come first
        self._wanted: deque[Piece] = deque()
        self._ahead: deque[Piece] = deque()
        self._timer: Timer | None = None
        self.quota = Quota(timers.clock)
        self._doubted: dict[Key, int] = {}
        self._brings_several = brings_several(store)
        self._readers: dict[str, int] = {}  # when they came last, longest ago first
        self._block_ms = 0.0
        """How long a block took lately; 0 if none has come."""
        self._alone_ms = 0.0
        """The same where it came alone."""
        self._further_ms = 0.0
        """And how much longer each took that came with it; 0 as long as that was not tried."""
        self._alone = 0
        """Calls for one block since there was one for several."""

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
                self._not_unread(piece)
            if convert is not None:
                self.touch(name, position)
            return piece.value
        if piece.failed is not None:
            if self.timers.clock.monotonic_ms() - piece.since_ms >= KEPT_MS:
                self._drop(piece)
                return self.get(name, position, size, convert)
            raise UnreadableError(piece.failed, piece.since_ms)
        raise NotHereError(piece)

    def touch(self, name: str, position: int) -> None:
        """Somebody will come back for it: others are thrown out first. Blocks are not touched by reading them, so that
        one that was read to its end goes before those that readers are in the middle of."""
        piece = self._pieces.pop((name, position), None)
        if piece is not None:
            self._pieces[name, position] = piece

    def has(self, name: str, position: int) -> bool:
        """Whether it is here."""
        piece = self._pieces.get((name, position))
        return piece is not None and piece.here

    def knows(self, name: str, position: int) -> bool:
        """Whether it is here, or asked for."""
        return (name, position) in self._pieces

    def ahead(self, name: str, position: int, size: int, convert: Convert | None = None) -> bool:
        """It will be needed soon. False if there is no room for it now."""
        if self.knows(name, position):
            return True
        if not self._has_room_ahead(_room(size, convert)):
            return False
        self._ahead.append(self._add((name, position), size, convert))
        self._pump()
        return True

    def blocks_ahead(self, name: str, start: int, end: int) -> int:
        """The same for blocks, which may come with one call, the last of them perhaps shorter. Returns up to where
        there is room for them now."""
        added = False
        while start < end:
            size = min(self.block_bytes, end - start)
            if not self.knows(name, start):
                if not self._has_room_ahead(room_for(size)):
                    break
                self._ahead.append(self._add((name, start), size, None))
                added = True
            start += self.block_bytes
        if added:  # else nothing is thrown out: a reader who asks may be about to read what it came for
            self._pump()
        return start

    def room_ahead(self, room: int) -> bool:
        """Whether so much could be read ahead now. What nobody has come for in a long time is not waited for any more
        where it takes that room: its reader has gone elsewhere, or is so slow that he can have it read again."""
        while room > self._room_ahead():
            oldest = next(iter(self._new.values()), None)
            if oldest is None or self.timers.clock.monotonic_ms() - oldest.since_ms < UNREAD_MS_MAX:
                return False
            self._not_unread(oldest)
        return True

    def _room_ahead(self) -> int:
        half = self.bytes_max // 2 - self.unread
        return min(half, self.bytes_max // 4 * 3 - self.unread - self.buffers.lent)  # the rest is for who waits

    def _has_room_ahead(self, room: int) -> bool:
        return len(self._ahead) < AHEAD_MAX and self.room_ahead(room)

    def run_blocks(self) -> int:
        """How many blocks one call should bring, if so many are wanted: no more than each of those who read now may
        have, so that nobody's crowd out another's. One where the store would bring them one after the other."""
        if not self._brings_several():
            return 1
        quick = int(RUN_MS / self._block_ms) if self._block_ms else 1
        if (quick < 2 and self._alone >= TRY_EACH) or 0 < self._further_ms <= RUN_SHARE * self._alone_ms:
            quick = RUN_BLOCKS_MAX
        return max(1, min(RUN_BLOCKS_MAX, quick, self._blocks_ahead_max() // max(1, len(self._readers))))

    def share(self, reader: str) -> int:
        """How many blocks may be here in advance, or on their way, for this one of those who read now. Where there is
        not one for each, whoever comes first has what he needs: to share that would help nobody."""
        now_ms = self.timers.clock.monotonic_ms()
        self._readers.pop(reader, None)
        self._readers[reader] = now_ms
        while self._readers[first := next(iter(self._readers))] < now_ms - READING_MS:
            del self._readers[first]
        return self._blocks_ahead_max() // len(self._readers) or self._blocks_ahead_max()

    def _blocks_ahead_max(self) -> int:
        return self.bytes_max // 2 // room_for(self.block_bytes)

    def lendable(self, blocks: list[Block]) -> bool:
        """Whether an answer may be sent from these, or should take a copy: who is slow must not have all the room."""
        self.buffers.settle()
        more = sum(block.room for block in blocks if not block.lent)
        return self.buffers.lent + more <= self.bytes_max // 2

    def doubt(self, name: str, positions: list[int]) -> list[int]:
        """What came is not what was written, as these tell together. Returns those that are read once more: none if
        that was done with all of them, and the last has come just now."""
        now_ms, came_ms, again = self.timers.clock.monotonic_ms(), 0, list[int]()
        for position in positions:
            piece, doubted = self._pieces.get((name, position)), self._doubted.get((name, position), -1)
            if piece is not None and 0 <= doubted <= piece.since_ms:
                came_ms = max(came_ms, piece.since_ms)  # it came after that, and is no better
            else:
                again.append(position)
        if not again and now_ms - came_ms < KEPT_MS:
            return again
        for position in again or positions:
            piece = self._pieces.get((name, position))
            if piece is not None and piece.here:
                self._drop(piece)
            self._doubted.pop((name, position), None)
            if len(self._doubted) >= DOUBTS_MAX:
                del self._doubted[next(iter(self._doubted))]
            self._doubted[name, position] = now_ms
        return again or positions

    def forget(self, name: str) -> None:
        """All of an object that is here can go."""
        for piece in [piece for piece in self._pieces.values() if piece.name == name and piece.here]:
            self._drop(piece)

    # --- loading -------------------------------------------------------------------------------------------------

    def _add(self, key: Key, size: int, convert: Convert | None) -> Piece:
        guess = min(GUESS_BYTES, self.block_bytes) if size == WHOLE else size
        piece = self._pieces[key] = Piece(key[0], key[1], guess, _room(guess, convert), convert)
        piece.whole = size == WHOLE
        self.unread += piece.room
        return piece

    def _drop(self, piece: Piece) -> None:
        del self._pieces[piece.name, piece.position]
        self._doubted.pop((piece.name, piece.position), None)  # if it comes again, that is another time
        self._uncount(piece)
        piece.value = None  # a block lives on as long as answers are sent from it
        if piece.unread:
            self._not_unread(piece)

    def _not_unread(self, piece: Piece) -> None:
        """It was read, or is not waited for."""
        piece.unread = False
        self.unread -= piece.room
        self._new.pop((piece.name, piece.position), None)

    def _count(self, piece: Piece) -> None:
        piece.counted = True
        self.used += piece.room
        if piece.convert is None:
            self.blocks += piece.room

    def _uncount(self, piece: Piece) -> None:
        if piece.counted:
            piece.counted = False
            self.used -= piece.room
            if piece.convert is None:
                self.blocks -= piece.room

    def _pump(self) -> None:
        """Start what can be started: what somebody waits for before what somebody may want."""
        while self.under_way < self.parallel_max and (self._wanted or self._ahead):
            queue = self._wanted or self._ahead
            wait_ms = self.quota.wait_ms()
            if wait_ms <= 0 and not self._make_room(queue[0].room, queue is self._wanted):
                wait_ms = BACKOFF_MS
            if wait_ms > 0:
                if self._timer is None:
                    self._timer = self.timers.after(wait_ms, self._look_again)
                return
            piece = queue.popleft()
            self.quota.took(piece.size)
            self._load(piece)

    def _look_again(self) -> None:
        self._timer = None
        self._pump()

    def _stray(self) -> int:
        """Bytes of blocks that were forgotten and are still sent from."""
        self.buffers.settle()
        return self.buffers.out - self.blocks

    def _make_room(self, room: int, wanted: bool) -> bool:
        """Throw out what was used longest ago until there is room: nothing that answers are sent from, which would free
        nothing; what nobody has read yet only for something that is wanted, if nothing else is left, and not before it
        has had its time. What is larger than the cache has it for itself."""
        least = self.bytes_max - room
        if self.used + self._stray() <= least:
            return True
        now_ms = self.timers.clock.monotonic_ms()
        finished = [piece for piece in self._pieces.values() if _spare(piece)]
        old = [piece for piece in finished if wanted and piece.unread and now_ms - piece.since_ms >= KEPT_MS]
        for piece in [*(piece for piece in finished if not piece.unread), *old]:
            self._drop(piece)
            if self.used + self._stray() <= least:
                return True
        return self.used == 0

    def _load(self, piece: Piece) -> None:
        self.under_way += 1
        self.loads += 1
        if piece.convert is None:
            self._load_run(piece)
            return
        self._count(piece)

        self.buffers.shrink(self.used - self.blocks)
        if piece.whole:
            self.store.get(
                piece.name, lambda got: self._arrived(piece, got if isinstance(got, StoreError) else got.data)
            )
        else:
            self.store.get_ranges(
                piece.name,
                [(piece.position, piece.size)],
                lambda got: self._arrived(piece, got if isinstance(got, StoreError) else got[0]),
            )

    def _arrived(self, piece: Piece, result: bytes | StoreError) -> None:
        self.under_way -= 1
        self._loaded(piece, result)

    def _load_run(self, first: Piece) -> None:
        """A block, and with it those behind it that wait to be read ahead. Behind a segment's last one lies its tail,
        which is no block and comes by itself."""
        run = [first]
        taken: list[Block | None] = [self._place(first)]
        for _ in range(self.run_blocks() - 1):
            piece = self._pieces.get((first.name, run[-1].position + run[-1].size))
            if piece is None or piece.convert is not None or piece not in self._ahead or self.quota.wait_ms() > 0:
                break
            if not self._make_room(piece.room, False):
                break
            self._ahead.remove(piece)
            self.quota.took(piece.size)
            run.append(piece)
            taken.append(self._place(piece))
        call = Run(run, taken, self.timers.clock.monotonic_ms())
        buffers = [block.data for block in taken if block]
        self.store.read_into(
            first.name, first.position, buffers, lambda number, error: self._filled(call, number, error)
        )

    def _filled(self, call: Run, number: int, error: StoreError | None) -> None:
        told, call.broken = call.broken, error is not None  # what a call still owes when it breaks is told once
        block = call.taken[number]
        call.taken[number] = None  # only the loop holds blocks: a thread that lingers would give one back elsewhere
        if number == len(call.pieces) - 1:
            self.under_way -= 1
            if error is None:
                self._pace(self.timers.clock.monotonic_ms() - call.begun_ms, len(call.pieces))
        assert block is not None
        self._loaded(call.pieces[number], block if error is None else error, told)

    def _place(self, piece: Piece) -> Block:
        self._count(piece)
        return self.buffers.take(piece.position, piece.size, self.used - self.blocks)

    def _pace(self, took_ms: int, blocks: int) -> None:
        block_ms = max(took_ms / blocks, 0.1)
        self._block_ms = _paced(self._block_ms, block_ms)
        if blocks == 1:
            self._alone_ms = _paced(self._alone_ms, block_ms)
            self._alone += 1
        else:
            self._further_ms = _paced(self._further_ms, max((took_ms - self._alone_ms) / (blocks - 1), 0.1))
            self._alone = 0

    def _loaded(self, piece: Piece, result: bytes | Block | StoreError, told: bool = False) -> None:
        piece.since_ms = self.timers.clock.monotonic_ms()
        if isinstance(result, StoreError):
            self._uncount(piece)
            self.quota.gave_back(piece.size)
        if isinstance(result, ObjectMissingError):
            self._give_up(piece, str(result))
        elif isinstance(result, StoreError):
            self._failed(piece, result, told)
        else:
            self._take(piece, result)
        self._pump()

    def _take(self, piece: Piece, data: bytes | Block) -> None:
        if piece.whole and isinstance(data, bytes):
            self.used += len(data) - piece.room
            self.unread += len(data) - piece.room
            piece.size = piece.room = len(data)
        try:
            piece.value = piece.convert(data) if piece.convert is not None and isinstance(data, bytes) else data
            piece.here = True
        except Exception as error:  # whatever is wrong with what somebody else has written
            self._give_up(piece, f"{piece.name}: {type(error).__name__}: {error}")
            return
        if piece.unread:
            self._new[piece.name, piece.position] = piece
        piece.arrived()

    def _give_up(self, piece: Piece, why: str) -> None:
        """It cannot be had: it takes no room, and is remembered for a while so that those who want it are told."""
        piece.failed = why
        self._uncount(piece)
        if piece.unread:
            self._not_unread(piece)
        self.timers.after(KEPT_MS, lambda: self._forget_failed(piece))
        piece.arrived()

    def _forget_failed(self, piece: Piece) -> None:
        if self._pieces.get((piece.name, piece.position)) is piece:
            self._drop(piece)

    def _failed(self, piece: Piece, error: StoreError, told: bool) -> None:
        """Later again, if somebody waits for it; else it is forgotten. told: so was why."""
        self.failures += 1
        if not told:
            self.complain(f"reading {piece.name} from the tier failed: {error}")
        if not piece.waiters:
            self._drop(piece)
            return
        delay_ms = BACKOFF_MS_MAX if isinstance(error, RefusedError) else BACKOFF_MS << min(piece.failures, 10)
        piece.failures += 1
        self.timers.after(min(delay_ms, BACKOFF_MS_MAX), lambda: self._try_again(piece))

    def _try_again(self, piece: Piece) -> None:
        if piece.waiters:
            self._wanted.append(piece)
            self._pump()
        else:
            self._drop(piece)

    def invariants(self) -> None:
        """What must hold after every step."""
        pieces = list(self._pieces.values())
        assert self.used == sum(piece.room for piece in pieces if piece.counted)
        assert self.blocks == sum(piece.room for piece in pieces if piece.counted and piece.convert is None)
        assert 0 <= self._stray() <= self.buffers.lent
        assert self.buffers.out + self.buffers.idle <= self.bytes_max
        assert all(piece.counted for piece in pieces if piece.here)
        assert all(isinstance(piece.value, Block) == (piece.convert is None) for piece in pieces if piece.here)
        assert self.unread == sum(piece.room for piece in pieces if piece.unread)
        assert set(self._new.values()) == {piece for piece in pieces if piece.here and piece.unread}
        came = [piece.since_ms for piece in self._new.values()]
        assert came == sorted(came)
        assert not any(piece.unread or piece.counted for piece in pieces if piece.failed is not None)
        assert 0 <= self.under_way <= self.parallel_max


def _paced(lately: float, now: float) -> float:
    return lately + (now - lately) * PACE if lately else now


def _spare(piece: Piece) -> bool:
    return piece.here and not (isinstance(piece.value, Block) and piece.value.lent > 0)


def _room(size: int, convert: Convert | None) -> int:
    return room_for(size) if convert is None else size


def _ignore(_: str) -> None:
    pass
