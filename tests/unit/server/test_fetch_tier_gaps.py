"""A log that was compacted before it was tiered has gaps, and batches without records: readers are led over them."""

from __future__ import annotations

import pytest

from tapelog.log.log import REPLICATION
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import Record, batch_of, build_batch
from tests.support.rig import values_of
from tests.support.tiered import let_go
from tests.unit.server.tier_rig import TierRig

KEPT = [*range(0, 60, 5), *range(100, 130, 3), *range(400, 430)]
"""Offsets that compaction has left; between 130 and 400 are batches without records."""
EMPTY = range(140, 400, 10)
BEGAN_MS = 1_700_000_000_000
STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)


class Gaps(TierRig):
    """One record a batch. Where the local log begins is `local`."""

    def __init__(self, keep: int = 1000) -> None:
        super().__init__(delay_ms=1)
        log = self.log()
        for base in sorted([*KEPT, *EMPTY]):
            now_ms = BEGAN_MS + base * 10
            if base in EMPTY:
                batch = batch_of(b"", 0, 4, now_ms, now_ms, base_offset=base, leader_epoch=0)
            else:
                record = Record(base, now_ms, b"k", b"%06d" % base + b"x" * 60)
                batch = build_batch([record], base_offset=base, leader_epoch=0)
            log.append(batch, 0, len(batch), 0, REPLICATION)
            log.write()
            log.flush()
        self.fill(1)  # everything before is committed
        self.copies[0].copy(log, self.partition().high_watermark, keep)
        let_go(log)
        self.local = log.local_start_offset

    def found(self, offset: int) -> list[int]:
        """The numbers that a fetch from there on gets."""
        data = self.read(offset)
        assert data.error_code == 0
        return [int(value[:6]) for value in values_of(data) if value is not None]


@pytest.mark.parametrize("keep", [1, 2, 4, 6, 8, 12, 1000])
def test_a_consumer_gets_the_next_record_wherever_it_asks(keep: int) -> None:
    rig = Gaps(keep)
    assert rig.local > 0
    for offset in range(rig.local):
        assert rig.found(offset)[0] == next((one for one in KEPT if one >= offset), 0)


def test_nothing_is_missed_by_who_reads_on() -> None:
    rig = Gaps()
    assert rig.local > 400
    offset, numbers = 0, []
    while offset < rig.local:
        numbers += rig.found(offset)
        offset = numbers[-1] + 1
    assert numbers == [one for one in KEPT if one < offset]


def test_records_behind_gaps_are_found_by_time() -> None:
    rig = Gaps()
    for number in range(rig.local):
        found = rig.offset_at(BEGAN_MS + number * 10)
        assert (found.error_code, found.offset) == (0, next((one for one in KEPT if one >= number), 430))


@pytest.mark.parametrize("lower", [1, 2, 4, 8])
def test_a_base_offset_that_was_spoilt_is_not_taken_for_a_gap(lower: int) -> None:
    rig = TierRig(delay_ms=1)
    values = [b"%06d" % number for number in range(300)]
    for base in range(0, 300, 10):
        assert rig.produce(rig.batch(*values[base : base + 10])).error_code == 0
    end = rig.move()
    assert end >= 200
    entry = rig.copies[0].head.segments[1]
    name, at = rig.copies[0].prefix + entry.name, 0
    while at < entry.log_size:
        data = rig.bucket.objects[name]
        base = int.from_bytes(data[at : at + 8], "big")
        rig.bucket.put(name, data[:at] + (base - lower).to_bytes(8, "big") + data[at + 8 :])
        rig.reads.pieces.forget(name)
        for offset in range(base, base + 10):
            found = rig.read(offset, part_bytes=1)
            assert found.error_code == STORAGE_ERROR or values_of(found) == values[base : base + 10]
        assert rig.read(base, part_bytes=1).error_code == STORAGE_ERROR
        rig.bucket.put(name, data)
        rig.reads.pieces.forget(name)
        rig.node.pass_time(5_000)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
