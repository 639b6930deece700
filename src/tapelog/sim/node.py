"""The node core on a simulated disk in virtual time: the code that ships, with other ports.

A SimNode boots, serves in-memory connections, and can lose its process (`kill`) or its power (`power_cut`); the disk it
finds afterwards is what the simulated disk says survived. One thread, one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tapelog.base.node_config import Listener, NodeConfig
from tapelog.base.ports import DiskError
from tapelog.base.timers import Timers
from tapelog.metadata.image import Endpoint
from tapelog.node.core import NodeCore
from tapelog.server.connection import Connection
from tapelog.sim.cleaning import workers
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy

CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
LISTENER: Final = "PLAINTEXT"
ROUNDS_MAX: Final = 1000


class SimNode:
    """One broker in the simulator."""

    def __init__(
        self,
        entropy: SimEntropy,
        clock: SimClock,
        settings: Mapping[str, str] | None = None,
        log_dirs: Sequence[str] = ("logs",),
    ) -> None:
        self.entropy = entropy
        self.clock = clock
        self.settings = dict(settings or {})
        self.timers = Timers(clock)
        self.disk = SimDisk(entropy.fork(), self.timers)
        self.log_dirs = list(log_dirs)
        self.others = {path: SimDisk(entropy.fork(), self.timers) for path in self.log_dirs[1:]}
        """The disks of all log directories but the first."""
        self.core: NodeCore | None = None
        self.failure: DiskError | None = None
        self._receivers: dict[int, Callable[[bytes], None]] = {}

    @property
    def up(self) -> bool:
        """Whether it serves."""
        return self.core is not None

    def boot(self) -> None:
        """Start; virtual time passes until the broker has registered itself. DiskError if the disk lets it down."""
        config = NodeConfig(
            node_id=1,
            cluster_id=CLUSTER_ID,
            listeners=[Listener(LISTENER, "127.0.0.1", 9092)],
            controller_listener=Listener("CONTROLLER", "127.0.0.1", 9093),
            log_dirs=[path for path in self.log_dirs if path != self.settings.get("metadata.log.dir")],
            settings=self.settings,
        )
        cleaning = workers(self.timers, self.entropy.fork(), {self.log_dirs[0]: self.disk, **self.others})
        core = NodeCore(config, self.clock, self.entropy.fork(), self.disk, self.timers, None, self.others, cleaning)
        core.halt = self._halt
        self.failure = None
        core.boot()
        core.register([Endpoint(LISTENER, "127.0.0.1", 9092)], Endpoint("CONTROLLER", "127.0.0.1", 9093))
        self.core = core
        for _ in range(ROUNDS_MAX):
            if core.metadata.broker_epoch >= 0 or self.failure is not None:
                break
            self.pass_time(1)
        if self.failure is not None:
            raise self.failure
        assert core.metadata.broker_epoch >= 0, "the broker never registered"
        core.housekeeping.start()

    def connect(self, receive: Callable[[bytes], None]) -> Connection:
        """A client whose answers go to `receive`."""
        assert self.core is not None
        connection = self.core.connect("127.0.0.1", LISTENER)
        self._receivers[connection.number] = receive
        return connection

    def settle(self) -> None:
        """What the shell does at the end of a wake-up, with memory in place of sockets."""
        core = self.core
        if core is None:
            return
        dispatcher = core.dispatcher
        for _ in range(ROUNDS_MAX):
            core.settle()
            dirty, dispatcher.dirty_connections = dispatcher.dirty_connections, []
            for connection in dirty:
                self._deliver(connection)
            dispatcher.closed_connections.clear()
            dispatcher.give_room()
            resumable, dispatcher.resumable = dispatcher.resumable, []
            if not resumable:
                return
            for connection in resumable:
                connection.resume()
        raise AssertionError("the node does not settle")

    def pass_time(self, by_ms: int) -> None:
        """Let virtual time pass, timer by timer."""
        until_ms = self.clock.monotonic_ms() + by_ms
        while True:
            due_ms = self.timers.next_due_ms()
            if due_ms is None or due_ms > until_ms:
                break
            self.clock.advance(max(0, due_ms - self.clock.monotonic_ms()))
            self.timers.run_due()
            self.settle()
        self.clock.advance(until_ms - self.clock.monotonic_ms())

    def kill(self) -> None:
        """kill -9: the process is gone, everything written is still there."""
        self._gone()
        self._killed()

    def power_cut(self) -> None:
        """The machine loses power: what was not synced is lost, torn, or by luck still there."""
        self._gone()
        self.disk = self.disk.crash(self.timers)
        self.others = {path: disk.crash(self.timers) for path, disk in self.others.items()}

    def stop(self) -> None:
        """SIGTERM: a clean shutdown."""
        assert self.core is not None
        self.core.shutdown()
        self._gone()
        self._killed()

    def invariants(self) -> None:
        """What must hold after every step."""
        if self.core is None:
            return
        for partition in self.core.partitions.all():
            partition.invariants()
            partition.log.invariants()

    def _killed(self) -> None:
        self.disk = self.disk.kill(self.timers)
        self.others = {path: disk.kill(self.timers) for path, disk in self.others.items()}

    def _gone(self) -> None:
        self.core = None
        self._receivers.clear()
        self.timers = Timers(self.clock)

    def _halt(self, error: DiskError) -> None:
        self.failure = error

    def _deliver(self, connection: Connection) -> None:
        receive = self._receivers.get(connection.number)
        connection.dirty = False
        data = b"".join(chunk if isinstance(chunk, bytes) else chunk.read() for chunk in connection.outgoing)
        connection.outgoing.clear()
        connection.outgoing_bytes = 0
        if receive is not None and not connection.closed:
            receive(data)
        connection.sent()
