"""What the manifest says of a segment that went up."""

from __future__ import annotations

import pytest

from tapelog.base.timers import Timers
from tapelog.log.tier.content import open_content
from tests.unit.log.bench import Bench


@pytest.mark.parametrize("at_ms", [-1, 5])
def test_when_a_segment_was_written_is_told_where_no_record_has_a_timestamp(at_ms: int) -> None:
    bench = Bench({"segment.bytes": "1000"})
    bench.disk.timers = Timers(bench.clock)
    written = bench.clock.wall_ms()
    while bench.log.active.base_offset == 0:
        bench.append(bench.batch(b"v" * 30, at_ms=at_ms))
    bench.clock.advance(1000)
    content = open_content(bench.log, 0)
    assert content is not None
    assert b"".join(content.pieces())
    entry = content.entry("o", 0)
    content.close()
    assert (entry.max_timestamp, entry.written_ms) == ((-1, written) if at_ms < 0 else (5, -1))
    assert entry.kept_since_ms == (written if at_ms < 0 else 5)
