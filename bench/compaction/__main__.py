"""`python -m bench.compaction beside`: latency of Produce without a cleaner and beside one that runs flat out.
`python -m bench.compaction keys`: a log of 50 million keys, compacted by Tapelog and by Apache Kafka."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import report
from bench.compaction import beside, keys, tell
from bench.compaction.tables import Table
from bench.sides import Missing


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.compaction", description=__doc__)
    parser.add_argument("--json", type=Path, help="write every figure down here; what is there of the other kind stays")
    parser.add_argument("--folder", type=Path, help="where the logs are to be (10 GB); default: the system's for such")
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("beside", help="Produce, with and without a cleaner at work")
    one.add_argument("--reps", type=int, default=10, help="pairs of phases")
    one.add_argument("--secs", type=float, default=8.0, help="of each phase, once it has settled")
    one.add_argument("--rate", type=int, default=400, help="requests a second, one at a time")
    one.add_argument("--value-bytes", type=int, default=1000)
    one.add_argument("--records", type=int, default=1_500_000, help="in each of 8 partitions; half of them stay")
    one.add_argument("--segment-mb", type=int, default=64)
    one.add_argument("--page-cache", action="store_true", help="answers before anything is on disk")
    one.add_argument("--slowdown", type=float, help="tapelog.cleaner.flush.slowdown.max; 0: the cleaner heeds nobody")
    one.add_argument("--begin-when", type=Path, help="once all is prepared, wait for this file before measuring")
    two = kinds.add_parser("keys", help="very many keys, beside Apache Kafka")
    two.add_argument("--keys", type=int, default=50_000_000, help="each occurs once")
    two.add_argument("--value-bytes", type=int, default=60)
    two.add_argument("--map-mb", type=int, default=128, help="log.cleaner.dedupe.buffer.size")
    two.add_argument("--sides", default="tapelog,kafka")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="tapelog-compaction-bench-", dir=options.folder))
    try:
        found = _beside(options, folder) if options.kind == "beside" else _keys(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json is not None:
        before: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(json.dumps({**before, **found, "machine": report.machine()}, indent=1) + "\n")
    return 0


def _beside(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    records: int = options.records
    table = Table("table", 8, records, records // 2, options.value_bytes, options.segment_mb << 20)
    _say(f"writing {8 * records:,} records")
    own = {} if options.slowdown is None else {"tapelog.cleaner.flush.slowdown.max": str(options.slowdown)}
    side, cleaner = beside.prepared(folder, table, own, options.page_cache)
    try:
        _wait_for(options.begin_when)
        measured = beside.measure(side, cleaner, options.reps, options.rate, options.secs, _say)
    finally:
        cleaner.end()
        side.stop()
    print("\n" + tell.beside(measured.pairs, measured.pooled()))
    names = ("reps", "secs", "rate", "value_bytes", "records", "segment_mb", "page_cache", "slowdown")
    settings = {name: getattr(options, name) for name in names}
    kind = "beside" + ("-page-cache" if options.page_cache else "") + ("-heedless" if options.slowdown == 0 else "")
    return {kind: {"settings": settings, "pairs": measured.pairs, "pooled": measured.pooled()}}


def _wait_for(path: Path | None) -> None:
    while path is not None and not path.exists():
        time.sleep(0.1)


def _keys(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    count: int = options.keys
    table = Table(keys.TOPIC, 1, count, count, options.value_bytes, 1 << 30)
    results: dict[str, Any] = {}
    for name in options.sides.split(","):
        try:
            side = keys.side_of(name, folder / name, options.map_mb)
            results[name] = keys.measure(side, table, _say)
            side.wipe()
        except Missing as missing:
            _say(str(missing))
    print("\n" + tell.keys(results))
    settings = {name: getattr(options, name) for name in ("keys", "value_bytes", "map_mb")}
    return {f"keys-{options.map_mb}": {"settings": settings, "sides": results}}


def _say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
