"""`python -m tapelog.sim --cluster --seed 7 --trace` repeats a life exactly; `--seeds 500 --jobs 2` lives many.

Without `--cluster` it is the life of a single node. A failure prints the seed, the commit, the broken promise, and the
last events before it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tapelog.sim.lives import Lived, commit, live, live_many
from tapelog.sim.rare import never, table

LAST_EVENTS = 25
MANY = 1000
"""So many lives must have seen every rare event."""
TOLD_EVERY_S = 30


def main() -> int:
    """Run the seeds asked for; 1 if any of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tapelog.sim", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="several nodes, not one")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from that one on")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes live at once")
    parser.add_argument("--trace", action="store_true", help="print every event")
    options = parser.parse_args()
    logging.getLogger("tapelog").setLevel(logging.CRITICAL + 1)
    began, failed = time.monotonic(), 0
    events: dict[str, int] = {}
    virtual_ms, told_s = 0, 0.0
    seeds = range(options.seed, options.seed + options.seeds)
    lives = live_many(options.cluster, seeds, options.jobs) if options.seeds > 1 else [live(options.cluster, seeds[0])]
    for done, lived in enumerate(lives, 1):
        virtual_ms += lived.virtual_ms
        for name, count in lived.events.items():
            events[name] = events.get(name, 0) + count
        if options.trace:
            sys.stdout.write("\n".join(lived.trace) + "\n")
        if lived.broken:
            failed += 1
            _tell(lived, options.cluster)
        seconds = time.monotonic() - began
        if sys.stderr.isatty():
            _progress(done, options.seeds, failed, seconds)
        elif seconds - told_s > TOLD_EVERY_S:
            told_s = seconds
            sys.stdout.write(f"{done} of {options.seeds} seeds, {failed} failed, {seconds:.0f} s\n")
            sys.stdout.flush()
    seconds = time.monotonic() - began
    missing = never(events) if options.cluster and options.seeds >= MANY else []
    counted = ", ".join(f"{name} {events[name]}" for name in sorted(events) if not name.startswith("acknowledged"))
    sys.stdout.write(
        f"\n{options.seeds} seeds, {failed} failed; {virtual_ms / 1000:.0f} virtual s in {seconds:.1f} s "
        f"({virtual_ms / 60_000 / max(seconds, 0.001):.1f} virtual hours per minute)\n"
        f"{table(events, options.seeds) if options.cluster else counted}\n"
    )
    if missing:
        sys.stdout.write(f"never happened: {', '.join(missing)}\n")
    return 1 if failed or missing else 0


def _tell(lived: Lived, cluster: bool) -> None:
    last = "\n  ".join(lived.trace[-LAST_EVENTS:])
    again = f"python -m tapelog.sim {'--cluster ' if cluster else ''}--seed {lived.seed} --trace"
    sys.stdout.write(f"\nseed {lived.seed} at {commit()}: {lived.broken}\n  {last}\n  again: {again}\n")
    sys.stdout.flush()


def _progress(done: int, total: int, failed: int, seconds: float) -> None:
    width = 30
    filled = done * width // total
    left = seconds / done * (total - done)
    sys.stderr.write(
        f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{total} seeds, {failed} failed, {left:.0f} s left "
    )
    sys.stderr.flush()
    if done == total:
        sys.stderr.write("\n")


if __name__ == "__main__":
    sys.exit(main())
