"""Look-ups by time answer from what was written, or not at all; and come to an end, however far they have to look."""

from __future__ import annotations

import pytest

from tapelog.server.handlers.list_offsets import MAX_TIMESTAMP
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import HEADER_SIZE, iterate
from tests.unit.log.tier.transit import ALL, Transit

STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)
TIMESTAMPS = [(27, 1), (35, 0x40), (42, 0x20)]
"""Which byte of a header is spoilt, and which of its bits: first and greatest timestamp."""
RECORD = [(HEADER_SIZE + 2, 4), (HEADER_SIZE + 3, 2), (HEADER_SIZE + 9, 1)]
"""Of its record: timestamp and offset in the batch, and its value."""


class Timed(Transit):
    """`times` are those of the first segment's records."""

    def __init__(self, block_bytes: int = 0) -> None:
        super().__init__(block_bytes)
        data = bytes(self.bucket.objects[self.name][: self.size])
        self.times = [record.timestamp for record in iterate(data, 0, self.size)]
        self.complaints: list[str] = []
        self.reads.pieces.complain = self.complaints.append


@pytest.mark.parametrize("block_bytes", [0, 50, 137])
@pytest.mark.parametrize("what", ALL + TIMESTAMPS + RECORD)
def test_what_was_spoilt_on_its_way_is_read_once_more(what: tuple[int, int], block_bytes: int) -> None:
    rig = Timed(block_bytes)
    for number in range(rig.end):
        for wanted in range(max(number - 1, 0), min(number + 2, rig.end)):
            rig.spoil(number, what)
            for early_ms in (0, 5):
                found = rig.offset_at(rig.times[wanted] - early_ms)
                assert (found.error_code, found.offset, found.timestamp) == (0, wanted, rig.times[wanted])
            rig.spoilt.clear()


@pytest.mark.parametrize("what", ALL + TIMESTAMPS + RECORD)
def test_what_stays_spoilt_leads_to_no_wrong_answer_and_is_told(what: tuple[int, int]) -> None:
    rig = Timed()
    for number in range(rig.end):
        rig.spoil(number, what)
        rig.stays = True
        for wanted in range(rig.end):
            found = rig.offset_at(rig.times[wanted])
            assert (found.error_code, found.offset) in ((0, wanted), (STORAGE_ERROR, -1))
            assert wanted != number or found.error_code == STORAGE_ERROR
        assert "tape tier verify" in rig.complaints[-1]
        rig.spoilt.clear()
    rig.node.pass_time(5_000)
    assert rig.offset_at(rig.times[3]).offset == 3, "when the store is good again"


class Late(Timed):
    """One record of the first segment is later than all others."""

    def fill(self, count: int, index: int = 0, start: int = 0) -> list[bytes]:
        values = super().fill(2)
        later = self.batch(b"late  " + b"x" * 60, at_ms=self.clock.wall_ms() + 600_000)
        assert self.produce(later).error_code == 0
        return [*values, b"late  " + b"x" * 60, *super().fill(count - 3, start=3)]


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("what", ALL + TIMESTAMPS + RECORD)
def test_neither_does_it_if_the_latest_record_is_asked_for(what: tuple[int, int], stays: bool) -> None:
    rig = Late()
    assert rig.offset_at(MAX_TIMESTAMP).offset == 2
    for number in range(4):
        rig.spoil(number, what)
        rig.stays = stays
        found = rig.offset_at(MAX_TIMESTAMP)
        assert (found.error_code, found.offset) in ((0, 2), (STORAGE_ERROR, -1))
        assert stays or found.error_code == 0
        rig.spoilt.clear()


def test_a_walk_through_more_than_the_cache_can_hold_comes_to_its_end() -> None:
    """The log begins behind the record from which its first segment has its greatest timestamp."""
    rig = Late(block_bytes=50)
    rig.reads.pieces.bytes_max = rig.reads.pieces.buffers.bytes_max = 600
    assert rig.size > 1.5 * 600
    rig.log().increment_start_offset(3)
    rig.asked = 0
    assert rig.offset_at(rig.times[2]).offset == -1
    assert rig.offset_at(MAX_TIMESTAMP).offset == 99
    assert rig.asked < 200, "some blocks twice, as one is thrown out for another, but not all over and over"
