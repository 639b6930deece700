"""Trials at the end of a life: the cluster is well, one thing is wrong, and work must go on all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.sim.applications import TOPIC, Applications
from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import Machine

STUCK_MS: Final = 120_000
PATIENCE_MS: Final = 10_000
"""More than replica.lag.time.max.ms and the session timeout together, several times."""


class Trials:
    """Each leaves the cluster as it was."""

    def __init__(self, cluster: Cluster, applications: Applications, pass_time: Callable[[int], None]) -> None:
        self.cluster = cluster
        self.applications = applications
        self.pass_time = pass_time

    def a_follower_s_disk_is_stuck(self) -> None:
        """Others must not wait for it for ever: it leaves the ISR."""
        victim = self._follower()
        if victim is None:
            return
        disk = victim.disk
        disk.flush_ms_min = disk.flush_ms_max = STUCK_MS
        for producer in self.applications.producers:
            producer.add([b"%d:%d:x" % (producer.number, self.applications.next_value())])
        self._wait(f"the disk of {victim.name}, a follower, is stuck")
        disk.flush_ms_min, disk.flush_ms_max = 0, 5
        self.cluster.rare.count("trial of a stuck follower")

    def _follower(self) -> Machine | None:
        """A node that leads nothing which is written here, and is nobody's preferred leader."""
        core = self.cluster.machines[0].core
        if len(self.cluster.machines) < 3 or core is None or TOPIC not in core.image.topics:
            return None
        leaders = [id for part in core.image.topics[TOPIC].partitions for id in (part.leader, part.replicas[0])]
        free = [machine for machine in self.cluster.machines if machine.node_id not in leaders and machine.up]
        return free[0] if free else None

    def _wait(self, why: str) -> None:
        world, producers = self.cluster.world, self.applications.producers
        until_ms = world.now_ms + PATIENCE_MS
        while not all(producer.idle for producer in producers):
            self.pass_time(20)
            assert world.now_ms < until_ms, f"no progress while {why}"
