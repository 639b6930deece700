"""What was brought and nobody reads: it is kept for its reader, and not for ever; what cannot be had takes no room."""

from __future__ import annotations

import pytest

from tapelog.log.tier.layout import LayoutError
from tapelog.log.tier.pieces import KEPT_MS, UNREAD_MS_MAX, UnreadableError
from tests.unit.log.tier.shelf import BLOCK, Shelf


def test_what_its_reader_never_comes_back_for_makes_room_after_a_while_for_who_reads_on() -> None:
    shelf = Shelf()
    for number in range(2):  # blocks, and tails of segments that were read to their ends without them
        assert shelf.pieces.ahead("a", number * BLOCK, BLOCK)
        assert shelf.pieces.ahead("a", (60 + number) * BLOCK, BLOCK, bytes.hex)
    shelf.pass_time(1)
    for number in range(20, 30):  # all the while somebody else reads on
        assert not shelf.pieces.room_ahead(BLOCK)
        shelf.read(number)
        shelf.pass_time(UNREAD_MS_MAX // 10)
    assert shelf.pieces.unread == 4 * BLOCK
    assert shelf.pieces.room_ahead(2 * BLOCK)
    assert shelf.pieces.unread == 2 * BLOCK, "no more of them than is needed"
    assert shelf.pieces.blocks_ahead("a", 30 * BLOCK, 33 * BLOCK) == 33 * BLOCK
    shelf.pass_time()
    assert all(shelf.pieces.has("a", number * BLOCK) for number in (30, 31, 32))
    assert not shelf.pieces.has("a", 0), "it goes like what was read"


def test_a_reader_that_is_slow_finds_what_was_read_ahead_for_it_where_nobody_needs_the_room() -> None:
    shelf = Shelf()
    shelf.pieces.blocks_ahead("a", 0, 3 * BLOCK)
    shelf.pass_time(2 * UNREAD_MS_MAX)
    for number in range(20, 30):
        assert shelf.pieces.ahead("a", number * BLOCK, BLOCK)
        shelf.pass_time()
        assert shelf.get(number) is not None
    assert all(shelf.get(number) is not None for number in range(3))


def test_what_somebody_wants_in_advance_comes_even_if_the_cache_is_full_of_what_nobody_came_for() -> None:
    shelf = Shelf(parallel=8)
    for number in range(8):
        shelf.get(number)
    shelf.pass_time(UNREAD_MS_MAX - 1)
    assert not shelf.pieces.ahead("a", 20 * BLOCK, BLOCK)
    shelf.pass_time(1)
    assert shelf.pieces.ahead("a", 20 * BLOCK, BLOCK)
    shelf.pass_time(KEPT_MS)
    assert shelf.pieces.has("a", 20 * BLOCK)


def test_what_cannot_be_had_takes_no_room_and_is_not_remembered_for_long() -> None:
    shelf = Shelf()

    def convert(data: bytes) -> bytes:
        raise LayoutError("wrong")

    assert shelf.pieces.ahead("a", 60 * BLOCK, 2 * BLOCK, convert)
    assert shelf.pieces.blocks_ahead("c", 0, 2 * BLOCK) == 2 * BLOCK, "there is no such object"
    shelf.pass_time()
    assert shelf.pieces.unread == shelf.pieces.used == 0
    assert shelf.pieces.room_ahead(4 * BLOCK)
    for number in range(20):
        shelf.read(number)
    with pytest.raises(UnreadableError):
        shelf.pieces.get("c", 0, BLOCK)
    with pytest.raises(UnreadableError):
        shelf.pieces.get("a", 60 * BLOCK, 2 * BLOCK, convert)
    shelf.pass_time(KEPT_MS)
    assert not shelf.pieces.knows("c", 0) and not shelf.pieces.knows("a", 60 * BLOCK)
