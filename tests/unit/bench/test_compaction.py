"""The logs that the compaction bench writes are what a broker would have written, and its figures add up."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from bench import build
from bench.compaction import beside, tell
from bench.load import Figures
from tapelog.wire.record_batch import batches, records_of


@pytest.mark.needs("gcc")
def test_every_key_of_a_written_log_occurs_equally_often_in_batches_that_are_whole(tmp_path: Path) -> None:
    words = [str(build.keyedlog()), str(tmp_path), "3000", "1000", "60", "250", "40000"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    files = sorted(tmp_path.glob("*.log"))
    assert told == {"bytes": sum(path.stat().st_size for path in files), "segments": len(files) - 1, "records": 3000}
    assert (int(files[-1].stem), files[-1].stat().st_size) == (3000, 0)
    seen: Counter[bytes] = Counter()
    offset = 0
    for path in files:
        raw = path.read_bytes()
        assert len(raw) <= 40_000
        assert int(path.stem) == offset
        for header in batches(raw, 0, len(raw)):
            for record in records_of(raw, header):
                assert (record.offset, len(record.value or b"")) == (offset, 60)
                seen[record.key or b""] += 1
                offset += 1
    assert len(seen) == 1000
    assert set(seen.values()) == {3}


def test_ratios_are_taken_pair_by_pair() -> None:
    def phase(p99: float) -> Figures:
        return {"p50_us": 1.0, "p90_us": 2.0, "p99_us": p99, "p999_us": 9.0, "cleaner_share": 0.9, "cleaner_mb_s": 70.0}

    shown = tell.beside([{"without": phase(a), "with": phase(b)} for a, b in ((10, 20), (20, 30), (10, 10))], {})
    assert "| p99 | 10 (10–20) | 20 (10–30) | 1.50× (1.00–2.00) |" in shown


def test_percentiles_of_all_requests_together_are_told_too() -> None:
    measured = beside.Measured()
    assert measured.pooled() == {}
    measured.samples = {"without": [float(one) for one in range(101)], "with": [3.0] * 98 + [7.0] * 2 + [9.0]}
    pooled = measured.pooled()
    assert pooled["without"] == {"p50_us": 50.0, "p90_us": 90.0, "p99_us": 99.0, "p999_us": 99.0}
    assert pooled["with"]["p99_us"] == 7.0
    assert "| p99 of all together | 99 | 7 | 0.07× |" in tell.beside([], pooled)


def test_each_side_has_its_column() -> None:
    one = {name: 2.0 for name, _, _ in tell.ROWS}
    assert "| rounds | 2 | 7 |" in tell.keys({"tapelog": one, "kafka": {**one, "rounds": 7.0}})
