"""Bit rot in a segment is found wherever it is, told as a range, and what follows it is looked at, too."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError
from tapelog.log.scrub import BAD_BLOCKS_MAX, BLOCK_BYTES, Damage, SegmentCheck, forgiving, index_positions, replaces
from tapelog.wire.record_batch import Record, build_batch

BASE = 100


def batch(number: int) -> bytes:
    return build_batch([Record(0, 5, b"k", b"%d" % number * 20)], base_offset=BASE + number)


BATCHES = [batch(number) for number in range(10)]
SEGMENT = b"".join(BATCHES)
STARTS = [sum(map(len, BATCHES[:number])) for number in range(11)]


def check(data: bytes, positions: list[int] | None = None, limit: int = 1 << 20) -> list[Damage]:
    checked = SegmentCheck(BASE, len(data), BASE + 10, positions)
    steps = 0
    while not checked.done:
        checked.step(lambda position, size: data[position : position + size], limit)
        steps += 1
        assert steps < 10_000
    return checked.damage


def told(damage: list[Damage]) -> list[tuple[int, int, int, int]]:
    return [(one.position, one.end, one.first_offset, one.next_offset) for one in damage]


@pytest.mark.parametrize("limit", [1, 61, 100, 300, 1 << 20])
def test_what_is_right_is_right_however_it_is_read(limit: int) -> None:
    assert not check(SEGMENT, limit=limit)


@pytest.mark.parametrize("limit", [61, 200, 1 << 20])
def test_every_flipped_bit_behind_the_offset_and_the_epoch_is_found(limit: int) -> None:
    """Base offset and leader epoch are not under the checksum; a base offset that does not fit is seen all the same."""
    start, size = STARTS[3], len(BATCHES[3])
    for at in range(size):
        for bit in (0, 7):
            rotten = bytearray(SEGMENT)
            rotten[start + at] ^= 1 << bit
            found = told(check(bytes(rotten), STARTS[4:9], limit))
            if at in range(12, 16) or (at in range(8) and not found):
                continue
            assert len(found) == 1, (at, bit, found)
            position, end, first, following = found[0]
            assert position in (start, STARTS[4]) and first in (BASE + 3, BASE + 4)
            assert end in STARTS and following == BASE + STARTS.index(end)


def test_the_range_ends_where_the_next_batch_is_right() -> None:
    rotten = bytearray(SEGMENT)
    rotten[STARTS[3] + 70] ^= 1
    assert told(check(bytes(rotten))) == [(STARTS[3], STARTS[4], BASE + 3, BASE + 4)]


def test_behind_a_length_that_is_wrong_the_index_leads_on() -> None:
    rotten = bytearray(SEGMENT)
    rotten[STARTS[3] + 8] ^= 0x40
    assert told(check(bytes(rotten), [STARTS[6], STARTS[8]])) == [(STARTS[3], STARTS[6], BASE + 3, BASE + 6)]
    assert told(check(bytes(rotten))) == [(STARTS[3], STARTS[10], BASE + 3, BASE + 10)], "without one, all the rest"


def test_damage_in_two_places_is_told_twice() -> None:
    rotten = bytearray(SEGMENT)
    rotten[STARTS[2] + 70] ^= 1
    rotten[STARTS[7] + 65] ^= 1
    assert [one.first_offset for one in check(bytes(rotten))] == [BASE + 2, BASE + 7]


def test_a_hole_of_zeros_and_a_torn_end_are_damage() -> None:
    hole = SEGMENT[: STARTS[4]] + bytes(STARTS[6] - STARTS[4]) + SEGMENT[STARTS[6] :]
    assert told(check(hole, [STARTS[5], STARTS[6]])) == [(STARTS[4], STARTS[6], BASE + 4, BASE + 6)]
    torn = SEGMENT[:-5]
    assert [one.reason for one in check(torn)] == ["impossible length"]
    assert [one.reason for one in check(SEGMENT + b"abc")] == ["torn batch"]


def test_an_index_is_followed_as_far_as_it_makes_sense() -> None:
    entries = [(5, 100), (6, 200), (7, 150), (8, 300)]
    data = b"".join(a.to_bytes(4, "big") + b.to_bytes(4, "big") for a, b in entries)
    assert index_positions(data, 1000) == [100, 200]
    assert index_positions(data[:12], 1000) == [100]
    assert index_positions(data, 150) == [100]


def test_only_the_very_batches_replace_what_was_damaged() -> None:
    damage = Damage(BASE, STARTS[3], STARTS[5], BASE + 3, BASE + 5, "")
    assert replaces(damage, BATCHES[3] + BATCHES[4])
    assert not replaces(damage, BATCHES[3])
    assert not replaces(damage, BATCHES[4] + BATCHES[3])
    assert not replaces(damage, BATCHES[4] + BATCHES[5]), "other offsets"
    rotten = bytearray(BATCHES[3] + BATCHES[4])
    rotten[80] ^= 1
    assert not replaces(damage, bytes(rotten))


def sick(data: bytes, bad: range) -> tuple[list[DiskError], list[bytes]]:
    """Read all of it through a disk that cannot read those blocks."""
    told: list[DiskError] = []

    def read(position: int, size: int) -> bytes:
        if any(position < (block + 1) * BLOCK_BYTES and block * BLOCK_BYTES < position + size for block in bad):
            raise DiskError("bad sector")
        return data[position : position + size]

    return told, [forgiving(read, told.append)(100, len(data))]


def test_blocks_that_cannot_be_read_are_zeros_and_told() -> None:
    data = b"x" * (40 * BLOCK_BYTES)
    told, (found,) = sick(data, range(3, 5))
    assert [str(error) for error in told] == ["bad sector"]
    expected = bytearray(data[100:])
    expected[3 * BLOCK_BYTES - 100 : 5 * BLOCK_BYTES - 100] = bytes(2 * BLOCK_BYTES)
    assert found == bytes(expected)
    assert sick(data, range(0)) == ([], [data[100:]])


def test_a_disk_that_can_read_next_to_nothing_has_failed() -> None:
    with pytest.raises(DiskError):
        sick(b"x" * (40 * BLOCK_BYTES), range(BAD_BLOCKS_MAX + 1))
