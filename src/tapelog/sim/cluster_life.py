"""One simulated life of a cluster from a seed: applications of every kind, faults of every kind, promises kept.

`ClusterLife(seed).run()` returns the trace; it raises AssertionError when a promise is broken. What is checked after
every event is in `sim.promises`; at the end, when everything is repaired, the applications must come to rest within
bounded time, and everything they were promised must be there: see `sim.applications`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from tapelog.sim.applications import Applications
from tapelog.sim.cluster import Cluster
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.faults import Faults
from tapelog.sim.machine import Machine
from tapelog.sim.payments import TOPIC as PAYMENTS
from tapelog.sim.trials import Trials
from tapelog.sim.ways import Way

STEPS: Final = 90
THINK_MS_MAX: Final = 80
PUSH_MS: Final = 20
"""How long clients think at most before they send on."""
RECOVERY_MS: Final = 60_000
TRIAL_EVERY: Final = 5
SIZES: Final = (3, 3, 3, 3, 3, 3, 1, 2, 5, 3)
"""How many nodes a life has, by its seed."""


class Alarm(logging.Handler):
    """Exceptions that the product caught and logged because it did not expect them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.unexpected: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it if it has a traceback."""
        if record.exc_info is not None and record.exc_info[0] is not None:
            self.unexpected.append(record)


class ClusterLife:
    """A run from one seed."""

    def __init__(self, seed: int, *, steps: int = STEPS, nodes: int | None = None) -> None:
        self.seed = seed
        self.steps = steps
        self.way = Way(seed)
        self.cluster = Cluster(seed, nodes or SIZES[seed % len(SIZES)], self.way.settings, self.way.directories)
        self.world = self.cluster.world
        self.entropy: SimEntropy = self.cluster.entropy.fork()
        self.trace: list[str] = []
        self.events: dict[str, int] = {}
        self.faults = Faults(self.cluster, self.note)
        self.applications = Applications(
            self.cluster,
            self.note,
            "rack-2" if self.way.nearest else "",
            groups=self.way.groups,
            deletes=self.way.deletes,
            compacts=self.way.compacts,
        )
        self.cluster.promises.compacts = self.way.compacts
        self.alarm = Alarm()
        self.cluster.promises.on_led = self._led
        self.cluster.promises.fragile = lambda: self.faults.fragile

    def run(self) -> list[str]:
        """Live; returns the trace."""
        logger = logging.getLogger("tapelog")
        before = logger.level, logger.propagate
        logger.addHandler(self.alarm)
        logger.setLevel(logging.ERROR)
        logger.propagate = False
        try:
            with self.way.lived():
                self._live()
        finally:
            logger.removeHandler(self.alarm)
            logger.setLevel(before[0])
            logger.propagate = before[1]
        return self.trace

    def _live(self) -> None:
        self.cluster.boot()
        self.note(f"{len(self.cluster.machines)} nodes serve")
        self.applications.begin()
        faults, apps = self.faults, self.applications
        work: list[tuple[int, Callable[[], None]]] = [
            (40, apps.produce),
            (30, self._time),
            (10, apps.commit_offset),
            (6, apps.look_at_end),
            (25, apps.pay),
            (12, apps.administer),
            *([(14, apps.join)] if self.way.groups else []),
            *([(14, apps.happen)] if self.way.deletes else []),
            *([(30, apps.write_table)] if self.way.compacts else []),
        ]
        actions = [
            *work,
            (6, faults.kill),
            (6, faults.power_cut),
            (2, faults.many_down),
            (5, faults.pause),
            (4, faults.stop),
            (1, faults.wipe),
            (2, faults.rot),
            (6, faults.isolate),
            (3, faults.reset),
            (3, faults.stall),
            (2, faults.fill_disk),
            (2, faults.break_sync),
            *([(4, faults.break_directory)] if self.way.directories > 1 else []),
            (3, faults.slow_disk),
            (2, faults.clocks),
        ]
        for _ in range(self.steps):
            self._pick(work if faults.fragile else actions)()
            self.pass_time(self.entropy.below(THINK_MS_MAX))
            self._after_step()
        self._finish()

    def _pick(self, actions: list[tuple[int, Callable[[], None]]]) -> Callable[[], None]:
        pick = self.entropy.below(sum(weight for weight, _ in actions))
        for weight, action in actions:
            pick -= weight
            if pick < 0:
                return action
        raise AssertionError("weights must add up")

    def _time(self) -> None:
        by_ms = 1 + self.entropy.below(800)
        self.note(f"time {by_ms}")
        self.pass_time(by_ms)

    def pass_time(self, by_ms: int) -> None:
        """Let time pass while applications do what they can."""
        for passed_ms in range(0, by_ms, PUSH_MS):
            self.world.run(min(PUSH_MS, by_ms - passed_ms))
            self.applications.push()
            self._after_step()

    def _after_step(self) -> None:
        self.faults.after_step()
        if self.alarm.unexpected:
            record = self.alarm.unexpected[0]
            assert record.exc_info is not None
            raise AssertionError(f"unexpected: {record.getMessage()}: {record.exc_info[1]!r}") from record.exc_info[1]

    def _finish(self) -> None:
        """The faults are over: everything must be answered within bounded time, and be there."""
        self.note("the faults are over")
        self.faults.calm()
        self.applications.wake()
        began_ms = self.world.now_ms
        while not (self.cluster.whole() and self.applications.idle and not self.faults.fragile):
            self.pass_time(PUSH_MS)
            assert self.world.now_ms - began_ms < RECOVERY_MS, f"no progress: {self._why()}"
        self.note("all is answered")
        self.applications.check(final=False)
        if self.seed % TRIAL_EVERY == 0:
            self.note("trials")
            Trials(self.cluster, self.applications, self.pass_time).a_follower_s_disk_is_stuck()
        if self.applications.groups is not None:
            self.applications.groups.end()
        self.note("power fails everywhere")
        for machine in self.cluster.machines:
            if machine.up:
                machine.power_cut()
        self.world.run(100)
        for machine in self.cluster.machines:
            self.cluster.start(machine)
        began_ms = self.world.now_ms
        while not (self.cluster.whole() and self.cluster.decided(PAYMENTS)):  # what zombies left is aborted for its age
            self.world.run(PUSH_MS)
            self._after_step()
            assert self.world.now_ms - began_ms < RECOVERY_MS, f"no progress after a power cut: {self._why()}"
        self.applications.check(final=True)
        self.note(f"acknowledged {self.applications.acknowledged}")
        self.cluster.rare.count("producer-epoch overflow", self.applications.payments.overflows)
        if self.applications.groups is not None:
            self.cluster.rare.count("commit of a former member refused", self.applications.groups.refused)
        self.cluster.rare.count("record read from a follower", self.applications.read_elsewhere)
        if self.applications.tables is not None:
            self.cluster.rare.count("record compacted away", self.applications.tables.removed)

    def _why(self) -> str:
        machines = "; ".join(self.cluster.state(machine) for machine in self.cluster.machines)
        fragile = "; what was lost is not back" if self.faults.fragile else ""
        return f"{machines}; waiting: {self.applications.waiting()}{fragile}"

    def _led(self, machine: Machine, topic: str, index: int, epoch: int) -> None:
        self.applications.led(machine, topic, index)
        if topic == "__transaction_state" and epoch > 0 and self.applications.payments.under_way:
            self.cluster.rare.count("coordinator failover mid-transaction")

    def note(self, event: str) -> None:
        """Write it down."""
        self.trace.append(f"{self.world.now_ms} {event}")
