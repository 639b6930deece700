"""How old a cleaned segment is where no record tells: as old as what it was made of."""

from __future__ import annotations

from tapelog.base.timers import Timers
from tapelog.wire.record_batch import Record, build_batch
from tests.unit.log.compaction.yard import Yard


def test_what_has_no_timestamps_does_not_become_younger_with_each_cleaning() -> None:
    yard = Yard(cleanup_policy="compact,delete", retention_ms="5000", segment_bytes="400")
    yard.disk.timers = Timers(yard.clock)
    yard.append(build_batch([Record(0, -1, b"a", b"x" * 300)]))
    written_ms = yard.clock.wall_ms()
    yard.log.roll()
    for _ in range(3):
        yard.clock.advance(2_000)
        yard.put((b"b", b"y" * 300))
        yard.clean()
    first = yard.log.segments.items[0]
    assert (first.newest_timestamp(), first.kept_since_ms()) == (-1, written_ms)
    assert first in yard.log.retention_plan(yard.clock.wall_ms(), yard.log.written_end)
