"""The story: a cluster and its clients, faults one at a time, then several at once, then peace, and the verdict."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos import application
from tests.chaos.application import AUDIT, INPUT, OUTPUT
from tests.chaos.application import PARTITIONS as IN_PARTITIONS
from tests.chaos.cluster import ending
from tests.chaos.cluster.clocks import NodeClock, built
from tests.chaos.cluster.disks import Disk, disk
from tests.chaos.cluster.ending import Report
from tests.chaos.cluster.faults import Fault, Faults
from tests.chaos.cluster.foreign import ForeignReader, ForeignWriter, programs
from tests.chaos.cluster.nodes import Node, kafka_nodes, planted, tape_nodes
from tests.chaos.cluster.wires import wires
from tests.chaos.cluster.work import (
    BALANCE,
    LEDGER,
    ORDERS,
    PARTITIONS,
    QUICK,
    Banker,
    Onlooker,
    Writer,
)
from tests.chaos.crashes import Feed
from tests.support.waiting import until

NODES: Final = 3
QUICK_TIMES: Final = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "600",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "300",
    "replica.lag.time.max.ms": "3000",
    "group.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
"""Shorter than the defaults, so that a short story sees fencing and elections too."""
RATES: Final = (200, 100)
"""Records a second of each writer."""
BACK_S: Final = 60.0
"""How long a cluster whose faults are mended may take until every replica is in sync."""
END_S: Final = 60.0
"""So long an application may take to end when asked to."""


class Story:
    """A cluster of three with everything around it; `close` takes it all away."""

    def __init__(
        self,
        scratch: Path,
        seed: int,
        *,
        kafka: bool = False,
        settings: Mapping[str, str] | None = None,
        longest_s: float = 40.0,
        foreign: bool = False,
        plant: str = "",
        tell: Callable[[str], None] = print,
    ) -> None:
        self.chance = random.Random(seed)
        self.seed, self.scratch, self.tell = seed, scratch, tell
        self.began = time.monotonic()
        self.kafka = kafka
        self.hung = 0
        self._languages = programs() if foreign else {}
        self.wires = wires(NODES)
        self.disks: list[Disk] = []
        self.nodes: list[Node] = []
        self.applications: list[subprocess.Popen[bytes]] = []
        self.foreign: list[ForeignReader | ForeignWriter] = []
        self.report = Report()
        self.calm: list[tuple[int, int]] = [(0, 0)] * len(RATES)
        shim = None if kafka else built(scratch)

        def place(number: int) -> tuple[Disk, NodeClock]:
            self.disks.append(disk(scratch, number))
            return self.disks[-1], NodeClock(scratch, number, shim)

        try:
            make = kafka_nodes if kafka else tape_nodes
            self.nodes = make(NODES, self.wires, place, scratch, settings)
            self.faults = Faults(self.nodes, self.wires, self.chance, longest_s)
            for node in self.nodes:
                node.more = planted(plant) if plant else {}
                node.start()
            self._begin()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        """Every node."""
        return ",".join(node.address for node in self.nodes)

    def _begin(self) -> None:
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUICK})
        until(lambda: self._brokers() == NODES, f"three brokers ({self._last_words()})")
        wanted = {ORDERS: PARTITIONS, LEDGER: PARTITIONS, BALANCE: PARTITIONS}
        wanted |= dict.fromkeys((INPUT, OUTPUT, AUDIT), IN_PARTITIONS)
        for made in self.admin.create_topics([NewTopic(name, count, 3) for name, count in wanted.items()]).values():
            made.result(30)
        until(self.in_sync, "every replica in sync")
        self.feed = Feed(self.bootstrap, rate=100)
        self.writers = [Writer(f"writer-{number}", self.bootstrap, rate) for number, rate in enumerate(RATES)]
        self.bankers = [Banker(f"banker-{number}", self.bootstrap, self.seed) for number in range(2)]
        views = {ORDERS: PARTITIONS, LEDGER: PARTITIONS, BALANCE: PARTITIONS, OUTPUT: IN_PARTITIONS}
        self.onlookers = [Onlooker(self.bootstrap, topic, views[topic], committed=topic != ORDERS) for topic in views]
        for thread in (self.feed, *self.writers, *self.bankers, *self.onlookers):
            thread.start()
        self.applications = [self._application(number, protocol) for number, protocol in enumerate(("classic",) * 2)]
        for language, command in self._languages.items():
            self.foreign += [
                ForeignWriter(f"{language}-writer", command, self.bootstrap, ORDERS, PARTITIONS, rate=50),
                ForeignReader(f"{language} reader", command, self.bootstrap, ORDERS, PARTITIONS, committed=False),
                ForeignReader(f"{language} reader", command, self.bootstrap, LEDGER, PARTITIONS, committed=True),
            ]
        self.progress()

    def _application(self, number: int, protocol: str) -> subprocess.Popen[bytes]:
        root = Path(__file__).parents[3]
        command = [sys.executable, application.__file__, self.bootstrap, "exactly-once", f"app-{number}", protocol]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
        with (self.scratch / "application.log").open("ab") as log:
            return subprocess.Popen(command, stderr=log, env=env)

    # -- how it is

    def _brokers(self) -> int:
        try:
            return len(self.admin.list_topics(timeout=5).brokers)
        except KafkaException:
            return 0

    def in_sync(self) -> bool:
        """Every node is there, and every partition has all its replicas in sync."""
        try:
            seen = self.admin.list_topics(timeout=5)
        except KafkaException:
            return False
        partitions = [p for topic in seen.topics.values() for p in topic.partitions.values()]
        return len(seen.brokers) == NODES and all(p.leader > 0 and len(p.isrs) == len(p.replicas) for p in partitions)

    def progress(self, seconds: float = BACK_S) -> float:
        """Until something sent from now on is acknowledged to every writer, and a transaction; how long that took."""
        began = time.monotonic()
        sent = [len(writer.sent) for writer in self.writers]

        def acknowledged() -> bool:
            pairs = zip(self.writers, sent, strict=True)
            return all(w.fatal or any(n >= least for n in list(w.acknowledged)[-50:]) for w, least in pairs)

        until(acknowledged, f"acknowledgements ({self._last_words()})", seconds=seconds, pause=0.02)
        return time.monotonic() - began

    def _last_words(self) -> str:
        return " | ".join(f"{node.number}: {node.told()[-300:]}" for node in self.nodes)

    def say(self, what: str) -> None:
        """With the time since the beginning."""
        self.tell(f"{time.monotonic() - self.began:7.1f} {what}")

    # -- what happens

    def suffer(self, fault: Fault, *, settle: bool = True) -> None:
        """One fault, from its beginning until it is mended; then, unless told otherwise, until all is well again."""
        self.say(f"{fault.name} for {fault.seconds:.1f} s")
        self.report.faults.append(fault.name)
        fault.begin()
        time.sleep(fault.seconds)
        fault.mend()
        self.restart_applications()
        if settle:
            took = self.progress()
            began = time.monotonic()
            until(self.in_sync, f"in sync again ({self._last_words()})", seconds=BACK_S, pause=0.1)
            self.say(f"acknowledged after {took:.2f} s, in sync after {took + time.monotonic() - began:.1f} s")

    def calmly(self, happen: Callable[[], object]) -> None:
        """Faults on one node at a time; what is sent meanwhile counts for the share that must be acknowledged."""
        before = [len(writer.sent) for writer in self.writers]
        happen()
        self.calm = list(zip(before, [len(writer.sent) for writer in self.writers], strict=True))

    def one_at_a_time(self, seconds: float) -> None:
        """Every kind of fault in turn, on one node each, as long as there is time; never two nodes at once."""
        end = time.monotonic() + seconds

        def all_kinds() -> None:
            while time.monotonic() < end:
                kinds = self.faults.kinds()
                self.chance.shuffle(kinds)
                for kind in kinds:
                    if time.monotonic() < end:
                        self.suffer(self.faults.one(kind))

        self.calmly(all_kinds)

    def several_at_once(self, seconds: float) -> None:
        """Two nodes, all nodes, faults that overlap: there may be no acknowledgement meanwhile, and no lie ever."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            count = self.chance.choice([2, 3, 3, 1])
            if count == 1:
                first = self.faults.one(self.chance.choice(self.faults.kinds()))
                self.say(f"{first.name}, and meanwhile:")
                first.begin()
                self.suffer(self.faults.one(self.chance.choice(self.faults.kinds())), settle=False)
                first.mend()
                self.faults.mend_all()
            else:
                self.suffer(self.faults.several(count), settle=False)
            if self.chance.random() < 0.7:
                self.say(f"acknowledged after {self.progress():.2f} s")

    def restart_applications(self) -> None:
        """Those that ended."""
        for number, process in enumerate(self.applications):
            if process.poll() is not None:
                self.applications[number] = self._application(number, "classic")

    # -- how it ends

    def finish(self) -> Report:
        """Mend everything, let all clients come to an end, read everything, judge."""
        self.faults.mend_all()
        self.progress()
        until(self.in_sync, f"in sync in the end ({self._last_words()})", seconds=BACK_S)
        return ending.judged(self)

    def kill_applications(self) -> None:
        """librdkafka's send_offsets_to_transaction may wait for ever for a coordinator that moved: as people's
        supervisors do with what hangs, and once more a crash that nobody may notice in the output."""
        self.say("the application hangs: killed")
        self.hung += 1
        for process in self.applications:
            process.kill()
            process.wait()
        self.restart_applications()

    def end_applications(self) -> None:
        """Everything is processed: ask them to end. One of them may still hang, as above, since the faults; the others
        have done its work then. Where it hangs is told."""
        for process in self.applications:
            process.terminate()
        for process in self.applications:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGUSR1)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1)
                told = (self.scratch / "application.log").read_text(errors="replace")[-4000:]
                self.say(f"the application does not end: killed\n{told}")
                self.hung += 1
                process.kill()
                process.wait()

    def close(self) -> None:
        """However it ended."""
        for one in self.foreign:
            one.kill()
        for process in self.applications:
            process.kill()
            process.wait()
        for node in self.nodes:
            node.kill()
        for place in self.disks:
            place.close()
        self.wires.close()
