"""Several machines of one cluster in one world, and clients on hosts of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.base.ports import DiskError
from tapelog.node.lifecycle import RUNNING
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.listening import Listening
from tapelog.sim.machine import PORT, Machine
from tapelog.sim.net import SimNet
from tapelog.sim.promises import Promises
from tapelog.sim.rare import Rare
from tapelog.sim.routing import Router, Session
from tapelog.sim.world import World

FORM_MS_MAX: Final = 30_000
START_AGAIN_MS: Final = 200
SETTINGS: Final = {
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "1500",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.election.timeout.ms": "400",
    "controller.quorum.fetch.timeout.ms": "1400",
    "controller.quorum.request.timeout.ms": "1000",
    "leader.imbalance.check.interval.seconds": "5",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
    "offsets.topic.num.partitions": "2",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.wait.max.ms": "500",
    "replica.lag.time.max.ms": "1500",
    "request.timeout.ms": "1500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "2",
}
"""Kafka's timeouts, five to twenty times shorter: more happens in a life of some seconds."""


class Cluster:
    """The machines; `boot` makes a cluster of them."""

    def __init__(self, seed: int, nodes: int, settings: Mapping[str, str] | None = None, directories: int = 1) -> None:
        self.entropy = SimEntropy(seed)
        self.world = World()
        self.net = SimNet(self.world, self.entropy.fork())
        self.rare = Rare()
        replicas = min(3, nodes)
        given = {
            **SETTINGS,
            "default.replication.factor": str(replicas),
            "min.insync.replicas": str(min(2, replicas)),
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(min(2, replicas)),
            **(settings or {}),
        }
        self.replicas = replicas
        self.clocks_jumped = False
        """Somebody's clock on the wall was wrong at some time."""
        self.machines = [
            Machine(
                self.world,
                self.net,
                self.entropy.fork(),
                number + 1,
                {**given, "broker.rack": f"rack-{number + 1}"},
                directories,
            )
            for number in range(nodes)
        ]
        self.promises = Promises(self.machines, self.rare, min(2, replicas))
        self.world.after_event = self.promises.after_event
        self.net.listen_in = Listening(self.rare)
        self._routers: dict[str, Router] = {}
        voters = [machine.format() for machine in self.machines]
        for machine in self.machines:
            machine.voters = voters if nodes > 1 else []

    def boot(self) -> None:
        """Start all; time passes until every broker serves."""
        for machine in self.machines:
            self.start(machine)
        formed = self.world.run_until(self.serving, FORM_MS_MAX)
        assert formed, f"the cluster never formed: {[self.state(machine) for machine in self.machines]}"

    def serving(self) -> bool:
        """Whether every node is up and unfenced, as all of them see it."""
        count = len(self.machines)
        for machine in self.machines:
            core = machine.core
            if core is None or machine.paused or core.lifecycle.state != RUNNING:
                return False
            known = core.image.brokers.get(machine.node_id)
            if known is None or known.epoch != core.metadata.broker_epoch or len(core.image.alive_brokers()) < count:
                return False
        return True

    def decided(self, topic: str) -> bool:
        """Whether every partition of a topic has a leader, and no transaction is open there."""
        parts = led = 0
        for machine in self.machines:
            state = machine.core.topics.get(topic) if machine.core is not None else None
            found = [] if state is None else [part for part in state.partitions if part is not None and part.leading]
            led += len(found)
            parts = max(parts, 0 if state is None else len(state.partitions))
            if any(part.log.last_stable_offset(part.log.end_offset) < part.log.end_offset for part in found):
                return False
        return led == parts

    def whole(self) -> bool:
        """Whether every replica of every partition is in sync, as all nodes see it."""
        return self.serving() and not any(self.gaps(machine) for machine in self.machines)

    def gaps(self, machine: Machine) -> list[str]:
        """Partitions that are not well, as a node sees it."""
        assert machine.core is not None
        return [
            f"{name}-{index} led by {part.leader}, in sync {list(part.isr)} of {list(part.replicas)}"
            for name, topic in machine.core.image.topics.items()
            for index, part in enumerate(topic.partitions)
            if len(part.isr) < len(part.replicas) or part.leader < 0 or part.adding_replicas or part.removing_replicas
        ]

    def state(self, machine: Machine) -> str:
        """One line about a machine, for those who look for a reason."""
        core = machine.core
        if core is None:
            return f"{machine.name} down"
        brokers = [broker.id for broker in core.image.alive_brokers()]
        told = [f"{machine.name} epoch {core.metadata.broker_epoch} sees {brokers}", *self.gaps(machine)]
        return "; ".join([*told, "paused"] if machine.paused else told)

    def start(self, machine: Machine) -> None:
        """Start a process; later, if its disk does not let it."""
        if machine.up:
            return
        machine.power_back()
        try:
            machine.boot()
            if machine.boots > 1 and machine.core is not None and not machine.core.directory.clean:
                self.rare.count("unclean start")
        except DiskError:
            machine.kill()
            machine.mend_disks()
            self.world.after(START_AGAIN_MS, lambda: self.start(machine))

    def router(self, name: str) -> Router:
        """The client of an application, on a host of its own."""
        found = self._routers.get(name)
        if found is None:
            bootstrap = [(machine.name, PORT) for machine in self.machines]
            found = Router(self.world, self.net.of(f"c-{name}"), self.entropy.fork(), bootstrap)
            self._routers[name] = found
        return found

    def session(self, name: str) -> Session:
        """A connection of that application to the cluster."""
        return Session(self.router(name))
