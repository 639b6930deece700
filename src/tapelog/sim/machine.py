"""One machine of a simulated cluster: clock, disk, a place on the net, and the node's process while it runs.

The process is the node core that ships. It can be killed, lose its power, be stopped and go on (SIGSTOP), be shut down
cleanly, and find afterwards what its disk says survived.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tapelog.base.ids import to_text
from tapelog.base.node_config import Listener, NodeConfig
from tapelog.base.ports import DiskError
from tapelog.base.timers import Timers
from tapelog.log.checkpoints import render_meta_properties
from tapelog.metadata.image import Endpoint
from tapelog.node.core import NodeCore
from tapelog.server.connection import Connection
from tapelog.sim.cleaning import workers
from tapelog.sim.clock import NodeClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.net import SimNet
from tapelog.sim.objects import Bucket, SimStore, Weather
from tapelog.sim.streams import End
from tapelog.sim.world import NEVER_MS, World

CLUSTER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
LISTENER: Final = "PLAINTEXT"
CONTROLLER: Final = "CONTROLLER"
PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
DIRECTORY: Final = "logs"
ROUNDS_MAX: Final = 1000
PARTING_MS: Final = 50
"""How long a node that stops has for its last words to the others."""


class Inbound:
    """A stream that somebody opened to this node."""

    def __init__(self, connection: Connection, end: End) -> None:
        self.connection = connection
        self.end = end

    def opened(self) -> None:
        """It is."""

    def received(self, data: bytes) -> None:
        """Requests, or parts of them."""
        if not self.connection.closed:
            self.connection.feed(data)

    def closed(self, reason: str) -> None:
        """The client left."""
        self.connection.close("")


class Machine:
    """See the module; an Actor of the world."""

    def __init__(
        self,
        world: World,
        net: SimNet,
        entropy: SimEntropy,
        node_id: int,
        settings: Mapping[str, str],
        directories: int = 1,
    ) -> None:
        self.world = world
        self.net = net
        self.entropy = entropy
        self.node_id = node_id
        self.name = f"n{node_id}"
        self.settings = dict(settings)
        self.voters: list[str] = []
        self.clock = NodeClock(world, monotonic_ms=entropy.below(100_000))
        self.timers = Timers(self.clock)
        self.disk = _new_disk(entropy, self.timers)
        self.others = {f"more-{n}": _new_disk(entropy, self.timers) for n in range(1, directories)}
        """The disks of further log directories."""
        self.bucket: Bucket | None = None
        """Where its old segments go, if anywhere; outlives the machine."""
        self.store: SimStore | None = None
        """Its way there, while it runs."""
        self.host = net.host(self.name)
        self.host.hand = self.hand
        self.core: NodeCore | None = None
        self.failure: DiskError | None = None
        self.paused = False
        self.leaving = False
        self.boots = 0
        self.due_ms = NEVER_MS
        self.touched = False
        """Whether it did something since somebody looked."""
        self._inbox: list[Callable[[], None]] = []
        self._inbound: dict[int, Inbound] = {}
        world.actors.append(self)

    def format(self) -> str:
        """Give the empty disk a directory with an id; returns the node as a voter."""
        directory_id = self.entropy.token(16)
        self.disk.mkdir(DIRECTORY)
        data = render_meta_properties(cluster_id=CLUSTER_ID, node_id=self.node_id, directory_id=directory_id)
        self.disk.replace_file(f"{DIRECTORY}/meta.properties", data)
        self.disk.sync_all()
        return f"{self.node_id}@{self.name}:{CONTROLLER_PORT}:{to_text(directory_id)}"

    @property
    def up(self) -> bool:
        """Whether its process exists."""
        return self.core is not None

    @property
    def running(self) -> bool:
        """Whether its process gets to do something."""
        return self.core is not None and not self.paused

    # -- the world's side

    def plan(self) -> None:
        """Say when its next timer is due; called after everything that may have changed that."""
        due_ms = self.timers.next_due_ms() if self.core is not None and not self.paused else None
        self.due_ms = NEVER_MS if due_ms is None else self.clock.world_ms(due_ms)

    def run_due(self) -> None:
        """Run its timers."""
        self.timers.run_due()
        self.settle()

    def hand(self, action: Callable[[], None]) -> None:
        """Something arrived from the net."""
        if self.paused:
            self._inbox.append(action)
        elif self.core is not None:
            action()
            self.settle()

    def settle(self) -> None:
        """What the shell does at the end of a wake-up, with streams in place of sockets."""
        core = self.core
        if core is None:
            return
        self.touched = True
        dispatcher = core.dispatcher
        for _ in range(ROUNDS_MAX):
            core.settle()
            if dispatcher.dirty_connections:
                dirty, dispatcher.dirty_connections = dispatcher.dirty_connections, []
                for connection in dirty:
                    self._deliver(connection)
            if dispatcher.closed_connections:
                closed, dispatcher.closed_connections = dispatcher.closed_connections, []
                for connection in closed:
                    inbound = self._inbound.pop(connection.number, None)
                    if inbound is not None:
                        inbound.end.close()
            dispatcher.give_room()
            if not dispatcher.resumable:
                self.plan()
                return
            resumable, dispatcher.resumable = dispatcher.resumable, []
            for connection in resumable:
                connection.resume()
        raise AssertionError(f"{self.name} does not settle")

    # -- its life

    def boot(self) -> None:
        """Start the process. DiskError if the disk lets it down."""
        assert self.core is None
        config = NodeConfig(
            node_id=self.node_id,
            cluster_id=CLUSTER_ID,
            listeners=[Listener(LISTENER, self.name, PORT)],
            controller_listener=Listener(CONTROLLER, self.name, CONTROLLER_PORT),
            log_dirs=[DIRECTORY, *self.others],
            voters=self.voters,
            settings=self.settings,
        )
        self.boots += 1
        self.failure = None
        cleaning = workers(self.timers, self.entropy.fork(), {DIRECTORY: self.disk, **self.others})
        core = NodeCore(
            config,
            self.clock,
            self.entropy.fork(),
            self.disk,
            self.timers,
            self.net.of(self.name),
            self.others,
            cleaning=cleaning,
        )
        core.halt = self._halt
        core.refused = self._refused
        if self.bucket is not None:
            weather = self.store.weather if self.store is not None else Weather()
            core.store = self.store = SimStore(self.bucket, self.timers, self.entropy.fork(), weather)
        self.core = core
        core.boot()
        self.host.ports[CONTROLLER_PORT] = lambda end, source: self._accept(end, source, CONTROLLER)
        core.lifecycle.on_running = self._serve
        core.register([Endpoint(LISTENER, self.name, PORT)], Endpoint(CONTROLLER, self.name, CONTROLLER_PORT))
        self.settle()

    def _serve(self) -> None:
        """The controller has let it in: clients are welcome from now on."""
        assert self.core is not None
        self.host.ports[PORT] = lambda end, source: self._accept(end, source, LISTENER)
        self.core.housekeeping.start()

    def kill(self) -> None:
        """kill -9: the process is gone, everything written is still there."""
        self.net.process_gone(self.name)
        self._gone()
        self.disk = self.disk.kill(self.timers)
        self.others = {path: disk.kill(self.timers) for path, disk in self.others.items()}

    def power_cut(self) -> None:
        """The machine loses power: what was not synced is lost, torn, or by luck still there."""
        self.net.power_lost(self.name)
        self.clock.restart(self.entropy.below(5_000))
        self._gone()
        self.disk = self.disk.crash(self.timers)
        self.others = {path: disk.crash(self.timers) for path, disk in self.others.items()}

    def power_back(self) -> None:
        """The machine is on again; the process is not started yet."""
        self.net.power_back(self.name)

    def shut_down(self, ended: Callable[[], None]) -> None:
        """SIGTERM: the node hands over what it leads, then `ended` is called."""
        core = self.core
        assert core is not None

        def left() -> None:
            core.part()
            self.world.after(PARTING_MS, ended)

        self.leaving = True
        core.lifecycle.leave(left)
        self.settle()

    def stop(self) -> None:
        """The end of a clean shutdown: everything is closed in order."""
        assert self.core is not None
        self.core.shutdown()
        self.kill()

    def wipe(self) -> None:
        """Its disk is replaced by an empty one."""
        assert self.core is None
        self.disk = _new_disk(self.entropy, self.timers)
        self.others = {path: _new_disk(self.entropy, self.timers) for path in self.others}

    @property
    def disks(self) -> list[SimDisk]:
        """All of them, the metadata's first."""
        return [self.disk, *self.others.values()]

    @property
    def crippled(self) -> bool:
        """Whether it serves without one of its directories."""
        return self.core is not None and self.failure is None and bool(self.core.directory.offline)

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Somebody outside looks at its files, also at those of a broken disk."""
        broken = [disk for disk in self.disks if disk.broken]
        for disk in broken:
            disk.broken = False
        try:
            yield
        finally:
            for disk in broken:
                disk.broken = True

    def mend_disks(self) -> None:
        """They have room, sync, and work."""
        for disk in self.disks:
            disk.capacity_bytes = disk.syncs_until_failure = None
            disk.broken = False

    def pause(self) -> None:
        """SIGSTOP."""
        self.paused = True
        self.plan()

    def go_on(self) -> None:
        """SIGCONT: everything that came meanwhile is there at once, and all timers are late."""
        self.paused = False
        if self.core is None:
            self._inbox.clear()
            return
        inbox, self._inbox = self._inbox, []
        if self.entropy.chance(50):
            self.timers.run_due()
        for action in inbox:
            action()
        self.settle()

    def invariants(self) -> None:
        """What must hold on this node after every step."""
        if self.core is None or self.failure is not None:
            return
        for partition in self.core.partitions.all():
            partition.invariants()
            partition.log.invariants()

    def _gone(self) -> None:
        self.core = None
        self.paused = self.leaving = False
        self._inbox.clear()
        self._inbound.clear()
        self.timers = Timers(self.clock)
        self.plan()

    def _halt(self, error: DiskError) -> None:
        self.failure = error

    def _refused(self, reason: str) -> None:
        raise AssertionError(f"{self.name} is not wanted: {reason}")

    def _accept(self, end: End, source: str, listener: str) -> Inbound:
        assert self.core is not None
        connection = self.core.connect(source, listener)
        inbound = self._inbound[connection.number] = Inbound(connection, end)
        return inbound

    def _deliver(self, connection: Connection) -> None:
        connection.dirty = False
        try:
            chunks = [chunk if isinstance(chunk, bytes) else chunk.read() for chunk in connection.outgoing]
        except DiskError as error:
            connection.close(str(error))
            return
        connection.outgoing.clear()
        connection.outgoing_bytes = 0
        inbound = self._inbound.get(connection.number)
        if inbound is not None and not connection.closed:
            inbound.end.send(b"".join(chunks))
        connection.sent()


def _new_disk(entropy: SimEntropy, timers: Timers) -> SimDisk:
    disk = SimDisk(entropy.fork(), timers)
    disk.tracing = False
    return disk
