"""`python -m tapelog.sim --seed 7` repeats a life exactly; `--seeds 500` runs many, with progress.

A failure prints the seed, the broken promise, and the last events before it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tapelog.sim.workload import Life


def main() -> int:
    """Run the seeds asked for; 1 if any of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tapelog.sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from that one on")
    parser.add_argument("--trace", action="store_true", help="print every event")
    options = parser.parse_args()
    logging.getLogger("tapelog").setLevel(logging.CRITICAL)
    failed = 0
    events: dict[str, int] = {}
    virtual_ms, began = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.seeds):
        life = Life(seed)
        try:
            life.run()
        except AssertionError as broken:
            failed += 1
            sys.stdout.write(f"\nseed {seed}: {broken}\n  " + "\n  ".join(life.trace[-15:]) + "\n")
        if options.trace:
            sys.stdout.write("\n".join(life.trace) + "\n")
        virtual_ms += life.clock.monotonic_ms()
        for name, count in life.events.items():
            events[name] = events.get(name, 0) + count
        if sys.stdout.isatty():
            done = seed - options.seed + 1
            sys.stdout.write(f"\r{done} of {options.seeds} seeds, {failed} failed")
            sys.stdout.flush()
    seconds = time.monotonic() - began
    counted = ", ".join(f"{name} {events[name]}" for name in sorted(events) if not name.startswith("acknowledged"))
    sys.stdout.write(
        f"\n{options.seeds} seeds, {failed} failed; {virtual_ms / 1000:.0f} virtual s in {seconds:.1f} s\n{counted}\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
