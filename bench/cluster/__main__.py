"""`python -m bench.cluster`: three nodes of Tapelog and three of Apache Kafka on one machine, in one run; or, with
--scale, one, two and four nodes of each.

With --json FILE every figure is written down as it comes, and a run that is started again goes on where it was: with
--minutes 3.5 it is done in pieces of about that length, each of which leaves no process behind. Exit code 75: there is
more to do.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench import procs, report
from bench.cluster import pieces
from bench.cluster.ledger import Ledger, OtherSettingsError, Settings

MORE_TO_DO = 75
TOUCHED_MB_MAX = 6000
"""About what the page cache holds of three nodes' logs before a topic is deleted again."""


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--secs", type=float, default=6.0, help="of each repetition")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--scale", action="store_true", help="one, two and four nodes instead: MB per CPU second")
    parser.add_argument("--sides", default="", help=f"some of {', '.join(pieces.SIDES)}")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing new after this")
    parser.add_argument("--json", type=Path, default=None, help="write every figure down here, and go on from there")
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    sides = options.sides.split(",") if options.sides else list(pieces.SIDES)
    if options.scale and not options.sides:
        sides = ["tapelog", "kafka"]
    if unknown := [side for side in sides if side not in pieces.SIDES]:
        parser.error(f"no such side: {', '.join(unknown)}")
    settings: Settings = {"reps": options.reps, "secs": options.secs, "size": pieces.SIZE}
    settings |= {"nodes": "1, 2, 4"} if options.scale else {"nodes": options.nodes, "rate": pieces.RATE}
    try:
        ledger = Ledger(options.json, settings)
    except OtherSettingsError as problem:
        parser.error(str(problem))
    if options.nice:
        procs.prioritise(options.nice)
    signal.signal(signal.SIGTERM, _stop)
    until: float = time.monotonic() + 60 * options.minutes
    folder = Path(tempfile.mkdtemp(prefix="tapelog-cluster-bench-"))

    def in_time() -> bool:
        return time.monotonic() < until

    try:
        procs.touch_memory(min(TOUCHED_MB_MAX, procs.available_mb() // 2))
        if options.scale:
            complete = pieces.scale(ledger, folder, sides, options.reps, options.secs, in_time)
        else:
            complete = pieces.cold_starts(
                ledger, folder, sides, options.nodes, options.reps, in_time
            ) and pieces.side_by_side(ledger, folder, sides, options.nodes, options.reps, options.secs, in_time)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ledger.save(report.machine())
    sys.stdout.write("\n" + ledger.table() + "\n")
    return 0 if complete else MORE_TO_DO


def _stop(number: int, _: object) -> None:
    """Once: what is running is stopped on the way out, and nothing may interrupt that."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
