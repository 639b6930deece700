"""Memory for blocks: used again, bounded whatever is asked for, not given away while an answer is sent from it."""

from __future__ import annotations

import pytest

from tapelog.base.timers import Timers
from tapelog.log.tier.buffers import POOLED_BYTES_MIN, Block, Buffers, room_for
from tapelog.log.tier.pieces import KEPT_MS, NotHereError, Pieces
from tapelog.log.tier.reading import RemoteRegion
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore

BLOCK = POOLED_BYTES_MIN
BLOCKS = 8


class Shelf:
    """A cache of eight blocks; each block of the object has its own number in every byte."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        bucket = Bucket()
        bucket.put("a", b"".join(bytes([number]) * BLOCK for number in range(40)))
        self.pieces = Pieces(SimStore(bucket, self.timers, SimEntropy(1)), self.timers, BLOCKS * BLOCK, 2, BLOCK)

    def block(self, number: int) -> Block:
        """Wait for it as long as it takes."""
        for _ in range(2 * KEPT_MS):
            try:
                found = self.pieces.get("a", number * BLOCK, BLOCK)
                assert isinstance(found, Block)
                self.pieces.invariants()
                return found
            except NotHereError:
                self.clock.advance(1)
                self.timers.run_due()
        raise AssertionError(f"block {number} never comes")

    def region(self, number: int) -> RemoteRegion:
        """An answer that nobody has taken yet."""
        start = number * BLOCK
        return RemoteRegion(self.pieces, [self.block(number)], start + 10, start + 5000, 1)

    def memory(self) -> int:
        """All that blocks take, used or not."""
        self.pieces.buffers.settle()
        return self.pieces.buffers.out + self.pieces.buffers.idle


def test_a_buffer_is_used_again_when_its_last_holder_lets_go() -> None:
    buffers = Buffers(10 * BLOCK)
    block = buffers.take(0, 2 * BLOCK)
    memory = block.data.obj
    also = block
    del block
    assert (buffers.out, buffers.idle) == (2 * BLOCK, 0)
    del also
    buffers.settle()
    assert (buffers.out, buffers.idle) == (0, 2 * BLOCK)
    assert buffers.take(0, 2 * BLOCK - 7).data.obj is memory


def test_buffers_of_one_size_make_room_for_another() -> None:
    chance, buffers = SimEntropy(3), Buffers(64 * BLOCK)
    held: list[Block] = []
    for _ in range(2000):
        size = 1 + chance.below(8 * BLOCK)
        while held and buffers.out + room_for(size) > buffers.bytes_max:
            del held[chance.below(len(held))]
            buffers.settle()
        held.append(buffers.take(0, size))
        assert len(held[-1].data) == size
        assert buffers.out == sum(room_for(len(block.data)) for block in held)
        assert buffers.out + buffers.idle <= buffers.bytes_max
    held.clear()
    buffers.settle()
    assert buffers.out == 0


def test_all_blocks_together_take_no_more_than_the_cache_whoever_is_slow() -> None:
    shelf, slow = Shelf(), []
    for number in range(40):
        slow.append(shelf.region(number))
        assert shelf.memory() <= BLOCKS * BLOCK
    assert shelf.pieces.buffers.lent == BLOCKS * BLOCK // 2
    for number, region in enumerate(slow):
        assert region.read() == bytes([number]) * 4990
    slow.clear()
    shelf.pieces.buffers.settle()
    assert shelf.pieces.buffers.lent == 0


def test_what_an_answer_is_sent_from_is_not_thrown_out_before() -> None:
    shelf = Shelf()
    first = shelf.region(0)
    for number in range(1, 20):
        shelf.block(number)
    assert shelf.pieces.has("a", 0)
    assert first.read() == bytes([0]) * 4990
    del first
    for number in range(20, 28):
        shelf.block(number)
    assert not shelf.pieces.has("a", 0)


def test_what_is_forgotten_counts_until_it_was_sent_and_stays_what_it_was() -> None:
    shelf = Shelf()
    first = shelf.region(0)
    shelf.pieces.forget("a")
    for number in range(1, 20):
        shelf.block(number)
    assert shelf.pieces.used == (BLOCKS - 1) * BLOCK
    assert shelf.memory() <= BLOCKS * BLOCK
    assert first.read() == bytes([0]) * 4990
    del first
    for number in range(20, 22):
        shelf.block(number)
    assert shelf.pieces.used == BLOCKS * BLOCK


def test_an_answer_that_is_sent_piece_by_piece_gives_its_blocks_back_at_the_end() -> None:
    shelf = Shelf()
    blocks = [shelf.block(0), shelf.block(1)]
    region = RemoteRegion(shelf.pieces, blocks, BLOCK - 3, BLOCK + 5, 1)
    del blocks
    taken = b""
    while region.size:
        view = region.next_view()
        taken += bytes(view[:2])
        region.sent(min(2, len(view)))
        assert len(region.read()) == region.size
        assert shelf.pieces.buffers.lent == (2 * BLOCK if region.size else 0)
    assert taken == b"\0\0\0\1\1\1\1\1"


@pytest.mark.parametrize(("size", "room"), [(1, 1), (BLOCK - 1, BLOCK - 1), (BLOCK, BLOCK), (BLOCK + 1, 2 * BLOCK)])
def test_small_blocks_take_what_they_are_large_ones_the_next_power_of_two(size: int, room: int) -> None:
    assert room_for(size) == room
