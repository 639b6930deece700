"""The rounds: wait for a moment, kill somebody by chance, see that the query goes on."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.kills.accounts import LakeReader, Reader
from tests.spark.kills.brokers import Brokers
from tests.spark.kills.moments import Moments
from tests.spark.kills.processes import children, descendants, environment, kill, libraries, words, workplace
from tests.spark.kills.standalone import Driver, Standalone

VICTIMS = ("task", "executor", "driver", "driver", "broker")
PROGRESS_S_MAX = 400.0
SOMEBODY_S_MAX = 30.0
PAUSE_S_MAX = 3.0

Say = Callable[[str], None]


@dataclass
class Harness:
    """Everything that runs, and what has been done to it."""

    spark: Standalone
    driver: Driver
    brokers: Brokers
    reader: Reader | LakeReader
    moments: Moments
    chance: random.Random
    say: Say
    killed: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    """How often the query ended by itself and was started again."""
    workplaces: set[Path] = field(default_factory=set)
    """Directories of executors in which tasks were seen."""

    def round(self, number: int, victim: str) -> None:
        """One kill, and the query going on after it."""
        self.keep_running(self.chance.uniform(0, PAUSE_S_MAX))
        self.look_at_tasks()
        whom = self._kill(victim)
        before, at = len(self.reader.seen), time.monotonic()
        self.progress(before)
        took = time.monotonic() - at
        self.say(f"round {number}: {victim} ({whom}); {len(self.reader.seen)} rows out, went on after {took:.1f} s")

    def progress(self, before: int) -> None:
        """Until the reader has seen more than so many; the query is started again where it ended."""
        over = time.monotonic() + PROGRESS_S_MAX
        while len(self.reader.seen) <= before:
            assert time.monotonic() < over, f"no progress for {PROGRESS_S_MAX:g} s\n{self.driver.log()}"
            self.keep_running(0.2)

    def keep_running(self, seconds: float) -> None:
        """Wait, as a supervisor does: a driver that ended is started again."""
        over = time.monotonic() + seconds
        while True:
            if self.driver.ended:
                if self.driver.starts > self.killed["driver"] + self.failures:
                    self.failures += 1
                    self.say("the query ended by itself: " + _last_error(self.driver.log()))
                self.driver.start()
            left = over - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.1, left))

    def look_at_tasks(self) -> None:
        """Note who runs tasks; on a cluster, nothing of our environment may be within their reach."""
        if not self.spark.workers:
            return
        for worker in self._task_workers():
            place, path = workplace(worker), environment(worker).get("PYTHONPATH", "")
            loaded = libraries(worker, "libarrow.so")
            if place is None or not loaded:
                continue  # it has ended, or has only just begun
            reached = [one for one in path.split(os.pathsep) if one[:1] == "/" and Path(one, "tapelog").exists()]
            assert not reached, f"an executor's PYTHONPATH reaches our sources: {reached}"
            assert all(one.is_relative_to(place) for one in loaded), f"{loaded} were not taken from the archive"
            self.workplaces.add(place)

    def _kill(self, victim: str) -> str:
        """Choose somebody, wait for a moment, strike. What was hit is noted at once, before the dead are missed."""
        match victim:
            case "broker":
                self.moments.wait(self.chance)
                self.moments.note(victim)  # nobody could be asked afterwards
                whom = self.brokers.kill_one(self.chance)
                self.killed[victim] += 1
                self.keep_running(self.chance.uniform(0.2, PAUSE_S_MAX))
                self.brokers.bring_back()
            case "driver":
                whom = self.chance.choice(("jvm", "python", "both"))
                java = self.driver.java()
                self.moments.wait(self.chance)
                self.driver.strike(whom, java)
                self.killed[victim] += 1
                self.moments.note(victim)
                self.driver.bury(java)
            case "executor":
                chosen = self._one_of(self.spark.executors)
                self.moments.wait(self.chance)
                whom = self._strike(victim, [chosen])
            case _:
                daemon, few = self._one_of(self._busy_daemons), self.chance.random() < 0.5
                self.moments.wait(self.chance)
                workers = children(daemon)
                whom = self._strike(victim, [self.chance.choice(workers)] if few and workers else workers)
        return whom

    def _strike(self, victim: str, processes: list[int]) -> str:
        """-9 to all of them."""
        told = sum(kill(process) for process in processes)
        self.killed[victim] += bool(told)
        self.moments.note(victim)
        return f"{told} process{'' if told == 1 else 'es'}"

    def _one_of(self, who: Callable[[], list[int]]) -> int:
        """Somebody; there must be one before long."""
        over = time.monotonic() + SOMEBODY_S_MAX
        while not (there := who()):
            assert time.monotonic() < over, f"nobody to kill for {SOMEBODY_S_MAX:g} s\n{self.driver.log()}"
            self.keep_running(0.05)
        return self.chance.choice(there)

    def _busy_daemons(self) -> list[int]:
        return [daemon for daemon in self._daemons() if children(daemon)]

    def _daemons(self) -> list[int]:
        """Parents of the Python workers of tasks, below executors or, in local mode, below the driver."""
        above = self.spark.executors() if self.spark.workers else self.driver.below()
        below = dict.fromkeys(child for one in above for child in (one, *descendants(one)))
        parents = dict.fromkeys(one for one in below if "pyspark.daemon pyspark.worker" in words(one))
        workers = {child for one in parents for child in children(one)}  # forked: they are called the same
        return [one for one in parents if one not in workers]

    def _task_workers(self) -> list[int]:
        return [child for daemon in self._daemons() for child in children(daemon)]


def _last_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if "Error" in line or "Exception" in line]
    return lines[-1][:300] if lines else "without a word"


def summary(harness: Harness, rounds: int, seconds: float) -> dict[str, Any]:
    """For the report."""
    return {
        "rounds": rounds,
        "killed": dict(sorted(harness.killed.items())),
        "driver_starts": harness.driver.starts,
        "ended_by_itself": harness.failures,
        "executors_with_tasks": len(harness.workplaces),
        "workers_with_tasks": len({place.parent.parent for place in harness.workplaces}),
        "seconds": round(seconds),
    }
