"""Three replicas of one partition on simulated disks, a lossy net between them, and somebody who elects leaders.

Followers run the fetcher that ships; the leader's answers are scripted here in the few lines that Kafka's rules take.
The model notes what a leader declared committed, record by record: it must be there, unchanged, on whoever leads later.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.log.trim import Cut
from tapelog.node.rounds import FlushRounds
from tapelog.replication.followed import Followed, Limits
from tapelog.replication.follower import Fetcher
from tapelog.replication.hub import Hub
from tapelog.replication.partition import Partition
from tapelog.replication.throttle import Throttle
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.message import Message
from tapelog.wire.record_batch import Record, batches, build_batch, leader_epoch
from tests.properties.scripted_leader import ScriptedLeader

TOPIC, TOPIC_ID, ROOT = "orders", b"\x07" * 16, "/data"
SETTINGS = {"segment.bytes": "2000", "index.interval.bytes": "200", "retention.ms": "-1"}
IDS = (1, 2, 3)


class Told:
    """A truncation that waits for the end of the wake-up."""

    def __init__(self, followed: Followed, cut: Cut, done: Callable[[bool], None]) -> None:
        self.followed = followed
        self.cut = cut
        self.done = done


class Replica:
    """One node with its copy of the partition."""

    def __init__(self, world: ReplicaWorld, id: int) -> None:
        self.world = world
        self.id = id
        self.timers = Timers(world.clock)
        self.disk = SimDisk(world.entropy.fork(), self.timers)
        self.up = False
        self.complaints: list[str] = []
        self.boot()

    def boot(self) -> None:
        """Start on what the disk has; the role comes from the world."""
        self.directory = LogDirectory.open(
            self.disk,
            ROOT,
            clock=self.world.clock,
            entropy=self.world.entropy,
            cluster_id="simulated-cluster-id00",
            node_id=self.id,
        )
        config = LogConfig({**SETTINGS, **self.world.settings})
        if self.directory.partitions():
            (log,) = self.directory.open_all([(TOPIC, 0)], lambda topic: config)
        else:
            (log,) = self.directory.create_many([NewLog(TOPIC, 0, TOPIC_ID, config)])
        self.hub = Hub()
        self.hub.node_id = self.id
        self.hub.lag_ms_max = 100
        self.log = log
        self.partition = Partition(self.hub, log, TOPIC, TOPIC_ID, 0, -1)
        known = self.directory.high_watermarks.get((TOPIC, 0), 0)
        self.partition.high_watermark = max(log.start_offset, min(known, log.durable_end))
        self.leader = ScriptedLeader(self.partition)
        self.rounds = FlushRounds(self.hub, self.disk, self.world.clock, self._broke)
        self.fetchers: dict[int, Fetcher] = {}
        self.followed: tuple[Fetcher, Followed] | None = None
        self.pumped: dict[Fetcher, None] = {}
        self.cuts: list[Told] = []
        self.up = True

    def crash(self, power: bool) -> None:
        """Kill the process, or cut the power."""
        self.up = False
        self.timers = Timers(self.world.clock)
        self.disk = self.disk.crash(self.timers) if power else self.disk.kill(self.timers)

    def take_role(self) -> None:
        """What the world's image says."""
        world, partition = self.world, self.partition
        if world.leader == self.id:
            if partition.leading and partition.leader_epoch == world.epoch:
                partition.update(world.partition_epoch, IDS, world.isr, world.now_ms)
                return
            self._stop()
            partition.lead(world.epoch, world.partition_epoch, IDS, world.isr, world.now_ms)
        elif partition.leading or partition.leader_epoch != world.epoch:
            self._stop()
            partition.follow(world.leader, world.epoch)
            if world.leader > 0:
                fetcher = self.fetchers.setdefault(world.leader, Fetcher(world.leader, self, self.timers, Throttle()))
                self.followed = (fetcher, Followed(partition, world.epoch))
                fetcher.follow(self.followed[1])

    def _stop(self) -> None:
        if self.followed is not None:
            self.followed[0].stop(self.followed[1])
            self.followed = None

    def settle(self) -> None:
        """The end of a wake-up, as in the node core."""
        hub = self.hub
        for _ in range(100):
            dirty, hub.dirty = hub.dirty, []
            for partition in dirty:
                partition.write()
            moved, hub.followed = hub.followed, []
            for partition in moved:
                partition.in_followed = False
                if self.followed is not None:
                    self.followed[0].moved(self.followed[1])
            self._cut()
            pumped, self.pumped = self.pumped, {}
            for fetcher in pumped:
                fetcher.pump()
            if hub.isr_changes:
                hub.isr_changes.clear()
                self.world.asked(self)
            hub.ripe.clear()
            if not (hub.dirty or hub.followed or self.cuts or self.pumped):
                break
        else:
            raise AssertionError("it does not settle")
        self.rounds.start()
        self.check()

    def _cut(self) -> None:
        cuts, self.cuts = self.cuts, []
        for told in cuts:
            self.directory.truncate_many([told.cut], lambda error, told=told: self._was_cut(told, error))  # type: ignore[misc]

    def _was_cut(self, told: Told, error: DiskError | None) -> None:
        assert error is None
        if not told.followed.stopped:
            self.world.cut(self, told.cut)
            self.partition.truncated()
        told.done(True)

    def _broke(self, error: DiskError) -> None:
        raise error

    def check(self) -> None:
        """What must hold of one replica after every step."""
        self.partition.invariants()
        self.log.invariants()
        for fetcher in self.fetchers.values():
            fetcher.invariants()
        if self.partition.leading and self.partition.leader_epoch == self.world.epoch:
            self.world.committed(self)

    def records(self) -> list[tuple[int, int, bytes]]:
        """(offset, epoch, batch) of everything written."""
        found, offset = [], self.log.start_offset
        while (region := self.log.read(offset, 1 << 20, self.log.written_end, True)) is not None:
            data = region.read()
            for header in batches(data, 0, len(data)):
                whole = data[header.position : header.end]
                found.append((header.base_offset, leader_epoch(whole, 0), whole))
            offset = region.next_offset
        return found

    # --- Surroundings ------------------------------------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        return Limits(self.id, wait_ms=20, bytes_max=2000, partition_bytes_max=700, backoff_ms=50, timeout_ms=200)

    @property
    def broker_epoch(self) -> int:
        return self.world.broker_epochs[self.id]

    def send(
        self,
        leader: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        self.world.carry(self, leader, request, done)

    def truncate(self, followed: Followed, offset: int, start_anew: bool, done: Callable[[bool], None]) -> None:
        cut = Cut(self.log, offset, start_anew=start_anew, wanted=lambda: not followed.stopped)
        self.cuts.append(Told(followed, cut, done))

    def pump_soon(self, fetcher: object) -> None:
        assert isinstance(fetcher, Fetcher)
        self.pumped[fetcher] = None

    def complain(self, text: str) -> None:
        self.complaints.append(text)


class ReplicaWorld:
    """Replicas, net, elections, and what was committed."""

    def __init__(self, seed: int, settings: dict[str, str] | None = None) -> None:
        self.entropy = SimEntropy(seed)
        self.settings = settings or {}
        self.clock = SimClock()
        self.leader, self.epoch, self.partition_epoch = -1, 0, 0
        self.isr: tuple[int, ...] = IDS
        self.broker_epochs = dict.fromkeys(IDS, 1)
        self.known: list[tuple[int, int, bytes]] = []
        """The committed records."""
        self.cut_from: list[int] = []
        self.divergent_cuts = 0
        self.loss_percent = 0
        self.value = 0
        self.replicas = {id: Replica(self, id) for id in IDS}
        self.elect(1)

    @property
    def now_ms(self) -> int:
        """Monotonic."""
        return self.clock.monotonic_ms()

    # --- the net -------------------------------------------------------------------------------------------------

    def carry(self, sender: Replica, to: int, request: Message, done: Callable[[Message | None], None]) -> None:
        """Deliver the request, then its answer, each after a while; or neither."""
        timers = sender.timers
        chance = self.entropy

        def answer() -> None:
            receiver = self.replicas[to]
            lost = chance.chance(self.loss_percent) or not receiver.up
            response = None if lost else receiver.leader.answer(sender.id, request, self.now_ms)
            if receiver.up:
                receiver.settle()
            lost = lost or chance.chance(self.loss_percent)
            wait_ms = 100 if lost else chance.below(4) + (8 if receiver.leader.idle else 0)
            timers.after(wait_ms, lambda: done(None if lost else response))

        timers.after(chance.below(4), answer)

    def pass_time(self, by_ms: int) -> None:
        """Let time pass, millisecond by millisecond."""
        for _ in range(by_ms):
            self.clock.advance(1)
            for replica in self.replicas.values():
                if replica.up:
                    replica.hub.now_ms = self.now_ms
                    replica.timers.run_due()
                    if self.now_ms % 50 == 0:
                        replica.partition.check_isr(self.now_ms)
                    replica.settle()

    # --- the controller --------------------------------------------------------------------------------------------

    def elect(self, id: int) -> None:
        """A new leader epoch, led by a member of the ISR that lives; or by nobody."""
        self.leader, self.epoch, self.partition_epoch = id, self.epoch + 1, self.partition_epoch + 1
        self.publish()

    def publish(self) -> None:
        """Everybody who is up hears of the image, in the same moment."""
        alive = {id: self.broker_epochs[id] for id, replica in self.replicas.items() if replica.up}
        for replica in self.replicas.values():
            if replica.up:
                replica.hub.alive = dict(alive)
                replica.take_role()
                replica.settle()

    def asked(self, replica: Replica) -> None:
        """A leader wants another ISR: granted, if it leads and they live."""
        lead = replica.partition.leadership
        change = lead.in_sync.asked if lead is not None else None
        if change is None or change.leader_epoch != self.epoch or change.partition_epoch != self.partition_epoch:
            return
        if not all(self.replicas[id].up for id in change.ids):
            return
        self.isr, self.partition_epoch = change.ids, self.partition_epoch + 1
        replica.partition.isr_agreed(change, self.isr, self.partition_epoch, self.now_ms)

    # --- steps -----------------------------------------------------------------------------------------------------

    def produce(self, count: int) -> None:
        """Whoever believes to lead takes batches: a zombie, too."""
        for replica in self.replicas.values():
            if replica.up and replica.partition.leading:
                for _ in range(count):
                    self.value += 1
                    record = Record(0, self.clock.wall_ms(), b"k", b"%d at %d" % (self.value, replica.id))
                    data = build_batch([record] * (1 + self.value % 2))
                    replica.partition.append(data, 0, len(data), CLIENT)

    def crash(self, id: int, power: bool) -> None:
        """A node dies; if it led, somebody in sync takes over, if there is anybody."""
        if not self.replicas[id].up:
            return
        self.replicas[id].crash(power)
        if self.leader == id:
            heirs = [other for other in self.isr if self.replicas[other].up]
            if heirs:
                self.isr = tuple(other for other in self.isr if other != id)
                self.elect(heirs[self.entropy.below(len(heirs))])
            else:
                self.isr = (id,)
                self.elect(-1)

    def restart(self, id: int) -> None:
        """It comes back; where nobody leads and it is in sync, it leads."""
        if self.replicas[id].up:
            return
        self.broker_epochs[id] += 1
        self.replicas[id].boot()
        if self.leader == -1 and id in self.isr:
            self.elect(id)
        else:
            self.publish()

    def move_leader(self, number: int) -> None:
        """Leadership moves within the ISR, without any crash: the old leader keeps its tail until it hears better."""
        heirs = [id for id in self.isr if self.replicas[id].up]
        if heirs:
            self.elect(heirs[number % len(heirs)])

    def checkpoint(self, id: int) -> None:
        """A checkpoint in the background."""
        replica = self.replicas[id]
        if replica.up:
            replica.directory.start_checkpoint({(TOPIC, 0): replica.partition.high_watermark}, _fine)

    def heal(self) -> None:
        """Everybody comes back, nothing is lost any more; then all logs must become one."""
        self.loss_percent = 0
        for id in IDS:
            self.restart(id)
        self.produce(1)
        for _ in range(40):
            self.pass_time(50)
            if len({replica.log.durable_end for replica in self.replicas.values()}) == 1:
                break
        copies = [replica.records() for replica in self.replicas.values()]
        assert copies[0] == copies[1] == copies[2], [
            (replica.id, replica.log.start_offset, replica.log.end_offset) for replica in self.replicas.values()
        ]
        epochs = [replica.log.leader_epoch_cache.entries() for replica in self.replicas.values()]
        assert epochs[0] == epochs[1] == epochs[2], epochs
        self.pass_time(200)
        ends = [replica.partition.high_watermark for replica in self.replicas.values()]
        assert ends == [self.replicas[1].log.end_offset] * 3, ends

    # --- what must hold ----------------------------------------------------------------------------------------------

    def committed(self, replica: Replica) -> None:
        """The leader's high watermark moved: what lies below is committed for ever."""
        high_watermark = replica.partition.high_watermark
        known_end = self.known[-1][0] + _count(self.known[-1][2]) if self.known else 0
        if high_watermark <= known_end:
            return
        below = [one for one in replica.records() if one[0] < high_watermark]
        assert below[: len(self.known)] == self.known, "a leader without what was committed"
        self.known = below

    def cut(self, replica: Replica, cut: Cut) -> None:
        """A log was truncated. Who is in sync has everything that is committed, before and after."""
        self.divergent_cuts += 1
        if replica.id in self.isr:
            assert replica.records()[: len(self.known)] == self.known, (
                f"{replica.id} is in sync, and cut at {cut.offset}"
            )


def _count(batch: bytes) -> int:
    return int.from_bytes(batch[23:27], "big") + 1


def _fine(failure: Exception | None) -> None:
    assert failure is None
