"""A batch's header that was spoilt on its way here is read once more; what stays wrong is told."""

from __future__ import annotations

import pytest

from tapelog.log.tier.pieces import KEPT_MS
from tapelog.wire.errors import ErrorCode
from tests.support.rig import values_of
from tests.unit.log.tier.transit import ALL, LOW_BASE, Transit
from tests.unit.server.tier_rig import TierRig

STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("block_bytes", [0, 50, 137])
@pytest.mark.parametrize("what", ALL)
def test_a_header_that_was_spoilt_on_its_way_is_read_once_more(what: tuple[int, int], block_bytes: int) -> None:
    rig = Transit(block_bytes)
    for number in range(rig.end - 1):
        rig.spoil(number, what)
        found: list[bytes | None] = []
        while len(found) < rig.end:
            data = rig.read(len(found))
            assert data.error_code == 0
            found += values_of(data)
        assert found == rig.values[: len(found)]
        assert not rig.spoilt


@pytest.mark.parametrize("block_bytes", [0, 50, 137])
@pytest.mark.parametrize("what", ALL)
def test_so_is_one_that_lies_on_the_way_to_the_one_that_is_looked_for(what: tuple[int, int], block_bytes: int) -> None:
    rig = Transit(block_bytes)
    for number in range(1, rig.end):
        for wanted in range(number, min(number + 3, rig.end)):
            rig.spoil(number, what)
            data = rig.read(wanted, part_bytes=rig.batch)
            assert (data.error_code, values_of(data)) == (0, [rig.values[wanted]])
            rig.spoilt.clear()


@pytest.mark.parametrize("what", ALL)
def test_a_reader_that_comes_back_for_what_follows_gets_it_also_if_its_header_was_spoilt(what: tuple[int, int]) -> None:
    rig = Transit()
    for number in range(rig.end - 1):
        assert values_of(rig.read(number, part_bytes=rig.batch)) == [rig.values[number]]
        rig.spoil(number + 1, what)


@pytest.mark.parametrize("block_bytes", [0, 50])
@pytest.mark.parametrize("what", [one for one in ALL if one != LOW_BASE])
def test_a_header_that_stays_spoilt_is_told_and_what_is_before_and_behind_it_is_served(
    what: tuple[int, int], block_bytes: int
) -> None:
    rig = Transit(block_bytes)
    complaints: list[str] = []
    rig.reads.pieces.complain = complaints.append
    rig.spoil(3, what)
    rig.stays = True
    found: list[bytes | None] = []
    while len(found) < 3:
        found += values_of(rig.read(len(found)))
    assert found == rig.values[:3]
    rig.asked = 0
    for _ in range(4):
        assert rig.read(3).error_code == STORAGE_ERROR
    assert 1 <= rig.asked <= 12
    assert "tape tier verify" in complaints[0]
    rig.stays = False
    rig.spoilt.clear()
    rig.node.pass_time(5_000)
    assert values_of(rig.read(3))[0] == rig.values[3], "when the store is good again"


@pytest.mark.parametrize("what", [(61, 1), (17, 1)])
def test_damage_is_told_also_where_a_batch_s_blocks_come_seconds_apart(what: tuple[int, int]) -> None:
    rig = Transit(block_bytes=50)
    assert values_of(rig.read(0, part_bytes=rig.batch)) == rig.values[:1]
    rig.spoil(3, what)
    rig.stays = True
    rig.reads.pieces.parallel_max = 1
    rig.store._delay = lambda: KEPT_MS + 100  # type: ignore[method-assign]
    rig.asked = 0
    codes = [rig.read(3).error_code for _ in range(100)]
    assert STORAGE_ERROR in codes and rig.asked <= 40


def test_a_place_that_was_remembered_from_a_spoilt_header_is_not_believed_for_ever() -> None:
    """Only its order tells that a base offset is wrong: who was led astray by one is led back."""
    rig = Transit()
    assert values_of(rig.read(0, part_bytes=rig.batch)) == rig.values[:1]
    view = rig.reads.view(rig.partition())
    view.marks[3] = view.marks[1]
    assert values_of(rig.read(3, part_bytes=rig.batch)) == [rig.values[3]]


def test_batches_whose_offsets_do_not_grow_are_not_served() -> None:
    rig = Transit()
    rig.spoil(4, (7, 6))  # 4 becomes 2
    rig.stays = True
    assert values_of(rig.read(0)) == rig.values[:3], "which of the two is wrong nobody knows"
    assert rig.read(3).error_code == STORAGE_ERROR


def crowded(size: int) -> tuple[TierRig, bytes]:
    """A cache of twelve blocks of 50 bytes, of which a tail takes three; the first batch in the tier has that size."""
    rig = TierRig(delay_ms=1)
    rig.reads.pieces.block_bytes = 50
    rig.reads.pieces.bytes_max = rig.reads.pieces.buffers.bytes_max = 600
    value = b"v" * (size - len(rig.batch(b"v" * 100)) + 100)
    assert len(rig.batch(value)) == size
    assert rig.produce(rig.batch(value)).error_code == 0
    rig.fill(60)
    rig.move()
    return rig, value


def patiently(rig: TierRig) -> list[bytes | None]:
    """The log's first values: in a cache that is so full, what was read in advance is waited out."""
    answers = [values_of(rig.read(0)) for _ in range(KEPT_MS // 500 + 1)]
    return next((values for values in answers if values), [])


def test_a_length_that_was_spoilt_does_not_have_more_fetched_than_there_can_be() -> None:
    rig = Transit(block_bytes=50)
    rig.read(rig.end)  # the tail is here
    rig.spoil(0, (10, 1))
    rig.asked = 0
    assert values_of(rig.read(0, part_bytes=1)) == rig.values[:1]
    assert rig.asked <= 7, "the index tells that no batch is that long"


def test_a_length_that_is_more_than_the_cache_can_hold_is_told_instead_of_being_tried_for_ever() -> None:
    rig = Transit(block_bytes=50)
    rig.reads.pieces.bytes_max = rig.reads.pieces.buffers.bytes_max = 600
    rig.spoil(0, (10, 3))
    assert 600 < rig.batch + 0x300 < rig.size
    rig.stays = True
    assert STORAGE_ERROR in [rig.read(0).error_code for _ in range(6)]


def test_a_batch_of_as_much_as_the_cache_can_hold_is_read_and_a_larger_one_is_told() -> None:
    rig, value = crowded(250)
    for _ in range(3):
        assert patiently(rig)[:1] == [value]
        assert values_of(rig.read(1))
    rig, value = crowded(252)
    complaints: list[str] = []
    rig.reads.pieces.complain = complaints.append
    assert rig.read(0).error_code == STORAGE_ERROR
    assert "tapelog.tier.cache.bytes" in complaints[0]
    assert values_of(rig.read(1))
