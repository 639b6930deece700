"""The rounds: wait a moment by chance, kill somebody by chance, see that the query goes on."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.spark.kills.accounts import LakeReader, Reader
from tests.spark.kills.brokers import Brokers
from tests.spark.kills.processes import children, descendants, kill, words
from tests.spark.kills.standalone import Driver, Standalone

VICTIMS = ("task", "task", "executor", "driver", "driver", "broker")
PROGRESS_S_MAX = 240.0
PAUSE_S_MAX = 3.0

Say = Callable[[str], None]


@dataclass
class Harness:
    """Everything that runs, and what has been done to it."""

    spark: Standalone
    driver: Driver
    brokers: Brokers
    reader: Reader | LakeReader
    chance: random.Random
    say: Say
    victims: tuple[str, ...] = VICTIMS
    killed: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    """How often the query ended by itself and was started again."""

    def round(self, number: int) -> None:
        """One kill, and the query going on after it."""
        self.keep_running(self.chance.uniform(0, PAUSE_S_MAX))
        victim = self.chance.choice(self.victims)
        whom = self._kill(victim)
        self.killed[victim] += 1
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
                if self.driver.starts and self.driver.starts > self.killed["driver"] + self.failures:
                    self.failures += 1
                    self.say("the query ended by itself: " + _last_error(self.driver.log()))
                self.driver.start()
            left = over - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.1, left))

    def _kill(self, victim: str) -> str:
        if victim == "broker":
            name = self.brokers.kill_one(self.chance)
            self.keep_running(self.chance.uniform(0.2, PAUSE_S_MAX))
            self.brokers.bring_back()
            return name
        if victim == "driver":
            how = self.chance.choice(("jvm", "python", "both"))
            self.driver.kill(how)
            return how
        if victim == "executor" and (executors := self.spark.executors()):
            kill(executors[self.chance.randrange(len(executors))])
            return "executor"
        workers = self._task_workers()
        if not workers:
            return "nobody was there"
        kill(workers[self.chance.randrange(len(workers))])
        return "Python worker"

    def _task_workers(self) -> list[int]:
        """Workers that Python's daemon has forked for tasks, in executors or, in local mode, below the driver."""
        above = self.spark.executors() or self.driver.below()
        below = [child for one in above for child in (one, *descendants(one))]
        daemons = [one for one in dict.fromkeys(below) if "pyspark.daemon" in words(one)]
        return [child for daemon in daemons for child in children(daemon)]


def _last_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if "Error" in line or "Exception" in line]
    return lines[-1][:300] if lines else "without a word"


def summary(harness: Harness, rounds: int, seconds: float, verdict: dict[str, Any]) -> dict[str, Any]:
    """For the report."""
    return {
        "rounds": rounds,
        "killed": dict(sorted(harness.killed.items())),
        "driver_starts": harness.driver.starts,
        "ended_by_itself": harness.failures,
        "seconds": round(seconds),
    } | verdict
