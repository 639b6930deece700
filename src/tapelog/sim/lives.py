"""Lives by the seed: one, or many over several processes, with what became of each as a value."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tapelog.metadata.fault import MetadataFault
from tapelog.sim.cluster_life import ClusterLife
from tapelog.sim.workload import Life

KEPT_EVENTS: Final = 60
LIFE_CPU_S_MAX: Final = 600
"""A life that takes so long goes round in circles: most take less than a second. Of the processor, so that a run can be
stopped (SIGSTOP) and go on later."""


class Lived:
    """What became of a seed; `broken` says which promise was not kept."""

    def __init__(self, seed: int, broken: str, trace: list[str], events: dict[str, int], virtual_ms: int) -> None:
        self.seed = seed
        self.broken = broken
        self.trace = trace
        self.events = events
        self.virtual_ms = virtual_ms


def live(cluster: bool, seed: int) -> Lived:
    """One life, of a cluster or of a single node."""
    broken = ""
    life: ClusterLife | Life = ClusterLife(seed) if cluster else Life(seed)
    gc.disable()  # a life is short: what it leaves behind is collected when it is over
    try:
        life.run()
    except (Exception, MetadataFault) as error:  # whatever escapes a node is a broken promise, too
        broken = f"{type(error).__name__}: {error}" if not isinstance(error, AssertionError) else str(error) or "assert"
    finally:
        gc.enable()
    if isinstance(life, ClusterLife):
        return Lived(seed, broken, life.trace, life.cluster.rare.counts, life.world.now_ms)
    return Lived(seed, broken, life.trace, life.events, life.clock.monotonic_ms())


def live_many(cluster: bool, seeds: Sequence[int], jobs: int) -> Iterator[Lived]:
    """Many lives, in the order in which they end."""
    if jobs <= 1:
        _quiet()
        for seed in seeds:
            yield live(cluster, seed)
            gc.collect()
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _quiet) as pool:
        yield from pool.imap_unordered(_live_short, [(cluster, seed) for seed in seeds], chunksize=4)


def commit() -> str:
    """Which source this is: a seed alone says little."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"


def _live_short(task: tuple[bool, int]) -> Lived:
    signal.signal(signal.SIGPROF, _endless)
    signal.setitimer(signal.ITIMER_PROF, LIFE_CPU_S_MAX)
    lived = live(*task)
    signal.setitimer(signal.ITIMER_PROF, 0)
    gc.collect()
    del lived.trace[: -KEPT_EVENTS if lived.broken else None]
    return lived


def _endless(*_: object) -> None:
    raise AssertionError(f"no end after {LIFE_CPU_S_MAX} s")


def _quiet() -> None:
    gc.freeze()
    logging.getLogger("tapelog").setLevel(logging.CRITICAL + 1)
