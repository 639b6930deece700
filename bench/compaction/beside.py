"""Produce beside a cleaner that runs flat out, and without it, in turns on one broker.

The cleaner is a process of its own: it is stopped for one phase and goes on for the next (SIGSTOP, SIGCONT), so that
both kinds of phase see the same broker, the same logs and the same moment. There must be more to clean than the phases
take; a phase in which the cleaner had less than half a core's time does not count, and says so.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench import admin, frames, load, procs
from bench.compaction.tables import Table, place
from bench.load import Figures, LoadError, Shape
from bench.sides import Side, Tapelog

PROBE = "probe"
RECORD_BYTES = 1000
BEGIN_S_MAX = 120.0
SETTLE_S = 0.5
FLAT_OUT = 0.5
"""Of a core, at least: else the cleaner had nothing to do, or was kept from it."""
SETTINGS = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.bytes": str(1 << 30),
}


class Cleaner:
    """The broker's cleaning process, held and let go."""

    def __init__(self, side: Side) -> None:
        self.pid = _wait(lambda: _child_of(side), "the cleaner has not begun")
        self.hold()

    def hold(self) -> None:
        """It stands still."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """It works."""
        os.kill(self.pid, signal.SIGCONT)

    def cpu_s(self) -> float:
        """CPU it has used."""
        return procs.cpu_s(self.pid)

    def end(self) -> None:
        """It may go on and end with its broker."""
        with suppress(ProcessLookupError):
            self.go_on()


def _child_of(side: Side) -> int | None:
    for pid in procs.tree(side.pid)[1:]:
        with suppress(OSError):
            if b"cleaner_child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return None


def _wait(look: Callable[[], int | None], what: str) -> int:
    end = time.monotonic() + BEGIN_S_MAX
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise LoadError(f"{what} after {BEGIN_S_MAX:.0f} s")


def prepared(folder: Path, table: Table, settings: dict[str, str]) -> tuple[Tapelog, Cleaner]:
    """A broker with filthy logs, its cleaner held right after it has begun."""
    side = Tapelog(folder, None, page_cache=False)
    side.settings.update(SETTINGS | settings)
    try:
        side.start()
        with admin.Admin(side.port) as a:
            a.create(PROBE, 1, {})
        place(side, table, {"cleanup.policy": "compact"})
        side.start()
        return side, Cleaner(side)
    except BaseException:
        side.stop()
        raise


def phase(side: Side, cleaner: Cleaner, working: bool, rate: int, secs: float) -> Figures:
    """Latencies of Produce (acks=all, one record of RECORD_BYTES) with the cleaner at work, or held."""
    if working:
        cleaner.go_on()
    else:
        cleaner.hold()
    try:
        frame = frames.produce(PROBE, frames.batch([b"x" * RECORD_BYTES]), 1)
        shape = Shape(secs=secs, warm_s=SETTLE_S, rate=rate)
        begun, used = time.monotonic(), cleaner.cpu_s()
        found = load.raw("latency", side, frame, shape, None)
        share = (cleaner.cpu_s() - used) / (time.monotonic() - begun)
    finally:
        cleaner.hold()
    return {**found, "cleaner_share": share}


def measure(
    side: Side, cleaner: Cleaner, reps: int, rate: int, secs: float, told: Callable[[str], None]
) -> list[dict[str, Figures]]:
    """Pairs of phases, the order turning; without pairs in which the cleaner was not flat out."""
    pairs: list[dict[str, Figures]] = []
    for working in (False, True):
        phase(side, cleaner, working, rate, secs / 2)
    for rep in range(reps):
        pair: dict[str, Figures] = {}
        for working in (False, True) if rep % 2 == 0 else (True, False):
            found = phase(side, cleaner, working, rate, secs)
            pair["with" if working else "without"] = found
            shown = ", ".join(f"{name[:-3]} {found[name]:,.0f}" for name in ("p50_us", "p90_us", "p99_us", "p999_us"))
            busy = f"cleaner {found['cleaner_share']:.2f} of a core, others {found['other_pct']:.0f} % of the machine"
            told(f"{rep + 1}/{reps} {'with   ' if working else 'without'} {shown} µs; {busy}")
        if pair["with"]["cleaner_share"] < FLAT_OUT:
            told(f"{rep + 1}/{reps} does not count: the cleaner was not flat out")
            continue
        pairs.append(pair)
    return pairs
