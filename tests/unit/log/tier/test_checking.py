"""Batches from the tier are checked once, before anybody gets them; damage is read again, then told."""

from __future__ import annotations

from tapelog.log.tier.pieces import KEPT_MS
from tapelog.wire.errors import ErrorCode
from tests.support.rig import values_of
from tests.unit.log.tier.first_segment import FirstSegment

STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)


class Spoilt(FirstSegment):
    """A log of which most is in the tier; single bytes of its objects can be changed."""

    def __init__(self, block_bytes: int = 0) -> None:
        super().__init__(block_bytes)
        self.complaints: list[str] = []
        self.reads.pieces.complain = self.complaints.append
        self.gets: list[str] = []
        self.store.before = lambda verb, name: self.gets.append(name)

    def flip(self, at: int) -> None:
        data = bytearray(self.bucket.objects[self.name])
        data[at] ^= 1
        self.bucket.put(self.name, bytes(data))


def test_one_bit_that_is_wrong_anywhere_in_a_batch_is_never_served() -> None:
    batch = Spoilt().size // Spoilt().end
    for at in (8, 11, 16, 17, 20, 21, 23, 27, 35, 57, 61, 70, batch - 1):  # 12 to 15 is the leader epoch: not checked
        rig = Spoilt()
        rig.flip(at)
        data = rig.read(0)
        assert (data.error_code, values_of(data)) == (STORAGE_ERROR, []), at


def test_what_comes_before_the_damage_is_served() -> None:
    rig = Spoilt()
    batch = rig.size // rig.end
    rig.flip(3 * batch + 70)
    assert values_of(rig.read(0)) == rig.values[:3]
    assert rig.read(3).error_code == STORAGE_ERROR
    assert values_of(rig.read(4))[0] == rig.values[4]


def test_damage_is_read_once_more_and_the_reader_gets_what_is_right_by_then() -> None:
    rig = Spoilt()
    rig.flip(100)
    asked = []

    def mend_at_the_second(verb: str, name: str) -> None:
        asked.append(name)
        if asked.count(rig.name) == 3:  # block and tail came before
            rig.flip(100)

    rig.store.before = mend_at_the_second
    assert values_of(rig.read(0))[0] == rig.values[0]
    assert not rig.complaints


def test_damage_that_stays_is_told_and_looked_at_again_after_a_while_only() -> None:
    rig = Spoilt()
    rig.flip(100)
    for _ in range(4):
        assert rig.read(0).error_code == STORAGE_ERROR
    blocks = rig.gets.count(rig.name) - 1
    assert blocks == 2
    assert "tape tier verify" in rig.complaints[0]
    rig.flip(100)
    assert rig.read(0).error_code == STORAGE_ERROR
    rig.node.pass_time(KEPT_MS)
    assert values_of(rig.read(0))[0] == rig.values[0]


def test_batches_that_reach_over_blocks_are_checked_too() -> None:
    rig = Spoilt(block_bytes=50)
    rig.flip(rig.size // rig.end - 1)
    assert rig.read(0).error_code == STORAGE_ERROR
    assert values_of(rig.read(1))[0] == rig.values[1]


def test_what_was_checked_is_not_checked_again_before_it_is_read_again() -> None:
    rig = Spoilt()
    assert values_of(rig.read(0))
    rig.flip(100)
    assert rig.read(0).error_code == 0
    rig.reads.pieces.forget(rig.name)
    assert rig.read(0).error_code == STORAGE_ERROR


def test_what_was_checked_says_nothing_of_the_rest_of_its_block() -> None:
    rig = Spoilt()
    batch = rig.size // rig.end
    rig.flip(5 * batch + 70)
    assert values_of(rig.read(0, part_bytes=2 * batch)) == rig.values[:2]
    assert rig.read(5).error_code == STORAGE_ERROR


def test_a_reader_gets_nothing_beyond_what_it_may_see() -> None:
    rig = Spoilt()
    rig.read(0)
    for upper in range(1, rig.end):
        region = rig.reads.read(rig.partition(), 0, 1 << 20, upper, True)
        assert region is not None
        assert region.next_offset == upper
        assert region.size == upper * (rig.size // rig.end)
