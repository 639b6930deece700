"""Produce beside a cleaner that runs as fast as it may, and without it, in turns on one broker.

The cleaner is a process of its own: it is stopped for one phase and goes on for the next (SIGSTOP, SIGCONT), so that
both kinds of phase see the same broker, the same logs and the same moment. A phase is measured once it has settled;
without the cleaner, once the broker has removed what the cleaner has replaced, which is the cleaner's doing, too.
There must be more to clean than the phases take; a pair in which the cleaner did next to nothing does not count, and
says so.
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
SETTLE_S = 2.0
REMOVED_S_MAX = 30.0
IDLE = 0.02
"""Of a core: less, and the cleaner had nothing to do, or was kept from it."""
PERCENTILES = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}
KINDS = ("without", "with")
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

    def moved_mb(self) -> float:
        """What it has read and written."""
        told = dict(line.split(": ") for line in Path(f"/proc/{self.pid}/io").read_text().splitlines())
        return (int(told["rchar"]) + int(told["wchar"])) / 1e6

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


def prepared(folder: Path, table: Table, settings: dict[str, str], page_cache: bool) -> tuple[Tapelog, Cleaner]:
    """A broker with filthy logs, its cleaner held right after it has begun; everything written is on disk."""
    side = Tapelog(folder, None, page_cache=page_cache)
    side.settings.update(SETTINGS | settings)
    try:
        side.start()
        with admin.Admin(side.port) as a:
            a.create(PROBE, 1, {})
        place(side, table, {"cleanup.policy": "compact"})
        os.sync()
        side.start()
        cleaner = Cleaner(side)
        os.sync()
        return side, cleaner
    except BaseException:
        side.stop()
        raise


def phase(side: Side, cleaner: Cleaner, working: bool, rate: int, secs: float) -> tuple[Figures, list[float]]:
    """Latencies of Produce (acks=all, a record of RECORD_BYTES) with the cleaner at work, or held: figures, and all."""
    if working:
        cleaner.go_on()
    else:
        cleaner.hold()
        _wait_removed(side)
    samples = side.folder / "samples"
    try:
        frame = frames.produce(PROBE, frames.batch([b"x" * RECORD_BYTES]), 1)
        shape = Shape(secs=secs, warm_s=SETTLE_S, rate=rate)
        begun, used, moved = time.monotonic(), cleaner.cpu_s(), cleaner.moved_mb()
        found = load.raw("latency", side, frame, shape, None, samples)
        took = time.monotonic() - begun
        share, speed = (cleaner.cpu_s() - used) / took, (cleaner.moved_mb() - moved) / took
    finally:
        cleaner.hold()
    return {**found, "cleaner_share": share, "cleaner_mb_s": speed}, [float(one) for one in samples.read_text().split()]


def _wait_removed(side: Side) -> None:
    """Until the broker holds no large file without a name any more."""
    end = time.monotonic() + REMOVED_S_MAX
    while _removing(side) and time.monotonic() < end:
        time.sleep(0.05)


def _removing(side: Side) -> bool:
    with suppress(OSError):
        return any(
            os.readlink(entry).endswith(".deleted (deleted)") for entry in Path(f"/proc/{side.pid}/fd").iterdir()
        )
    return False


class Measured:
    """Pairs of phases, and all latencies of either kind."""

    def __init__(self) -> None:
        self.pairs: list[dict[str, Figures]] = []
        self.samples: dict[str, list[float]] = {kind: [] for kind in KINDS}

    def pooled(self) -> dict[str, Figures]:
        """Percentiles of all requests together."""
        return {
            kind: {name: at(self.samples[kind], part) for name, part in PERCENTILES.items()}
            for kind in KINDS
            if self.samples[kind]
        }


def at(samples: list[float], part: float) -> float:
    """A percentile."""
    order = sorted(samples)
    return order[int((len(order) - 1) * part)]


def measure(side: Side, cleaner: Cleaner, reps: int, rate: int, secs: float, told: Callable[[str], None]) -> Measured:
    """Pairs of phases, the order turning; without pairs in which the cleaner did nothing."""
    measured = Measured()
    for working in (False, True):
        phase(side, cleaner, working, rate, secs / 2)
    for rep in range(reps):
        pair: dict[str, Figures] = {}
        taken: dict[str, list[float]] = {}
        for working in (False, True) if rep % 2 == 0 else (True, False):
            kind = KINDS[working]
            found, taken[kind] = phase(side, cleaner, working, rate, secs)
            pair[kind] = found
            shown = ", ".join(f"{name[:-3]} {found[name]:,.0f}" for name in PERCENTILES)
            busy = f"cleaner {found['cleaner_share']:.2f} of a core, {found['cleaner_mb_s']:,.0f} MB/s"
            told(f"{rep + 1}/{reps} {kind:<7} {shown} µs; {busy}, others {found['other_pct']:.0f} % of the machine")
        if pair["with"]["cleaner_share"] < IDLE:
            told(f"{rep + 1}/{reps} does not count: the cleaner did nothing")
            continue
        measured.pairs.append(pair)
        for kind in KINDS:
            measured.samples[kind] += taken[kind]
    return measured
