"""A leader (the real partition on a simulated disk), its followers' disks as numbers, and a controller as two.

What is true is kept apart from what the leader knows: fetches, answers of the controller and images arrive late or
never. A mistake of the leader shows as an acknowledgement that the truth does not carry.
"""

from __future__ import annotations

from random import Random

from tapelog.replication.isr import IsrChange
from tapelog.wire.errors import ErrorCode
from tests.unit.replication.bench import ME, OTHER, THIRD, Bench, Told

REPLICAS = (ME, OTHER, THIRD)


class Acknowledged(Told):
    """Asks the world, at the moment of each acknowledgement, whether it is true."""

    def __init__(self, world: ReplicationWorld) -> None:
        super().__init__()
        self.world = world

    def committed(self, index: int) -> None:
        super().committed(index)
        self.world.acknowledged(index)


class ReplicationWorld:
    """The truth, and the leader's view of it."""

    def __init__(self, min_isr: int, page_cache: bool, quorum: bool = False) -> None:
        configs = {"min_insync_replicas": str(min_isr), "tapelog_flush": "page-cache" if page_cache else "fsync"}
        if quorum:
            configs["tapelog_acks"] = "quorum"
        self.bench = Bench(**configs)
        self.bench.told = Acknowledged(self)
        self.partition = self.bench.partition
        self.min_isr = min_isr
        self.quorum = quorum
        # the truth
        self.stored = dict.fromkeys((OTHER, THIRD), 0)
        self.isr: tuple[int, ...] = REPLICAS
        self.leader_epoch = 1
        self.partition_epoch = 1
        # on its way
        self.fetches: list[tuple[int, int, int]] = []
        self.questions: list[IsrChange] = []
        self.answers: list[tuple[IsrChange, int, tuple[int, ...], int]] = []
        self.images: list[tuple[int, int, tuple[int, ...]]] = []
        # what must not go back
        self.high_watermark = 0
        self.promised = 0
        self.bench.lead(isr=self.isr)

    # -- the leader

    def append(self, acks: int) -> None:
        """A produce."""
        if acks == -1 and self.partition.under_min_isr:
            return
        offset = self.partition.log.end_offset
        self.bench.append(offset if acks == -1 else -1 - offset, acks=acks)

    def write(self) -> None:
        """The end of a wake-up."""
        self.partition.write()

    def flush(self) -> None:
        """A flush round."""
        self.bench.flush()

    def pass_time(self, ms: int) -> None:
        """The clock looks after the ISR."""
        self.bench.now_ms += ms
        self.bench.hub.now_ms = self.bench.now_ms
        self.partition.check_isr(self.bench.now_ms)
        self.partition.hurry(self.bench.now_ms)

    # -- followers

    def replicate(self, replica: int, count: int) -> None:
        """A follower gets some more of what the leader has written, and makes it durable."""
        self.stored[replica] = min(self.stored[replica] + count, self.partition.log.written_end)

    def fetch(self, replica: int) -> None:
        """It fetches: the request is on its way."""
        self.fetches.append((replica, self.stored[replica], self.leader_epoch))

    def deliver(self, number: int) -> None:
        """One of the fetches arrives, not necessarily the oldest."""
        if self.fetches:
            replica, offset, epoch = self.fetches.pop(number % len(self.fetches))
            if epoch == self.partition.leader_epoch:  # the handler compares them
                self.bench.now_ms += 1
                self.bench.claim(replica, offset)

    # -- the controller

    def ask(self) -> None:
        """The leader's questions leave."""
        lead = self.partition.leadership
        assert lead is not None
        for _ in self.bench.hub.isr_changes:
            if lead.in_sync.asked is not None:
                self._send(lead.in_sync.asked)
        self.bench.hub.isr_changes.clear()

    def decide(self, lost: bool) -> None:
        """The controller gets a question; its answer may be lost."""
        if not self.questions:
            return
        change = self.questions.pop(0)
        if change.leader_epoch != self.leader_epoch or change.partition_epoch != self.partition_epoch:
            answer = (change, int(ErrorCode.INVALID_UPDATE_VERSION), (), 0)
        else:
            self._change(change.ids)
            answer = (change, 0, self.isr, self.partition_epoch)
        if lost:
            self._send(change)  # the leader's node asks until it is answered
        else:
            self.answers.append(answer)

    def refuse(self) -> None:
        """The controller finds a replica ineligible."""
        if self.questions:
            self.answers.append((self.questions.pop(0), int(ErrorCode.INELIGIBLE_REPLICA), (), 0))

    def answer(self) -> None:
        """An answer arrives."""
        if self.answers:
            change, code, isr, epoch = self.answers.pop(0)
            if code:
                if self.partition.isr_refused(change, code, self.bench.now_ms):
                    self._send(change)
            else:
                self.partition.isr_agreed(change, isr, epoch, self.bench.now_ms)

    def _send(self, change: IsrChange) -> None:
        change.copies += 1
        self.questions.append(change)

    def fence(self, replica: int) -> None:
        """The controller takes a follower out of the ISR by itself."""
        if replica in self.isr:
            self._change(tuple([id for id in self.isr if id != replica]))

    def re_elect(self) -> None:
        """The same leader in a new epoch."""
        self.leader_epoch += 1
        self._change(self.isr)

    def publish(self) -> None:
        """The leader sees the next image."""
        if self.images:
            leader_epoch, partition_epoch, isr = self.images.pop(0)
            if leader_epoch > self.partition.leader_epoch:
                self.partition.lead(leader_epoch, partition_epoch, REPLICAS, isr, self.bench.now_ms)
            else:
                self.partition.update(partition_epoch, REPLICAS, isr, self.bench.now_ms)

    def _change(self, isr: tuple[int, ...]) -> None:
        self.isr = isr
        self.partition_epoch += 1
        self.images.append((self.leader_epoch, self.partition_epoch, isr))

    # -- what must hold

    def end_of(self, replica: int) -> int:
        """Up to where a replica's copy counts."""
        return self.partition.own_end if replica == ME else self.stored[replica]

    def acknowledged(self, offset: int) -> None:
        """An acknowledgement leaves: with acks=all, the truth carries it."""
        if offset < 0:
            assert self.partition.own_end > -1 - offset, "acks=1 before our own disk has it"
            return
        safe = [id for id in REPLICAS if self.end_of(id) > offset]
        assert len(safe) >= 2 or not self.quorum, "a minority"
        assert len(safe) >= self.min_isr
        self.promised = max(self.promised, offset + 1)

    def check(self) -> None:
        """After every step."""
        partition = self.partition
        partition.invariants()
        for id in self.isr:
            assert self.end_of(id) >= self.promised, f"{id} is in sync and lacks what was acknowledged"
            assert self.end_of(id) >= partition.high_watermark, f"{id} is in sync and lacks what is committed"
        assert partition.high_watermark >= self.high_watermark, "the high watermark went back"
        self.high_watermark = partition.high_watermark

    def drain(self) -> None:
        """Everything arrives and everybody catches up: then everything is acknowledged."""
        for _ in range(12):
            self.write()
            self.flush()
            for replica in (OTHER, THIRD):
                self.replicate(replica, 1 << 30)
                self.fetch(replica)
            while self.fetches:
                self.deliver(0)
            self.ask()
            while self.questions:
                self.decide(False)
            while self.answers:
                self.answer()
            while self.images:
                self.publish()
            self.pass_time(600)
            self.check()
        assert sorted(self.isr) == sorted(REPLICAS), "whoever has caught up is let in"
        assert partition_is_idle(self)


def partition_is_idle(world: ReplicationWorld) -> bool:
    """Nobody waits, and everything is committed."""
    partition = world.partition
    waiting = [entry for queue in partition._queues() for entry in queue]
    return not waiting and partition.high_watermark == partition.log.end_offset


def history(seed: int, steps: int = 120) -> None:
    """One random life of such a world, and its end."""
    chance = Random(seed)
    world = ReplicationWorld(chance.randint(1, 3), chance.random() < 0.5)
    slow_images, swift_controller = chance.random() < 0.3, chance.random() < 0.3
    for _ in range(steps):
        what = chance.randrange(20)
        replica = chance.choice((OTHER, THIRD))
        if swift_controller:
            world.ask()
            world.decide(False)
            world.answer()
        if what < 3:
            world.append(chance.choice((-1, -1, 1, 0)))
        elif what < 5:
            world.write()
        elif what < 7:
            world.flush()
        elif what < 10:
            world.replicate(replica, chance.randrange(4))
            world.fetch(replica)
        elif what < 13:
            world.deliver(chance.randrange(3))
        elif what < 14:
            world.pass_time(chance.choice((1, 600, 16_000, 31_000)))
        elif what < 15:
            world.ask()
        elif what < 16:
            world.decide(chance.random() < 0.3)
        elif what < 17:
            world.answer()
        elif what < 18:
            if not slow_images or chance.random() < 0.1:
                world.publish()
        elif what < 19:
            rare = chance.randrange(9)
            if rare == 0:
                world.refuse()
            elif rare == 1:
                world.re_elect()
            elif rare == 2:
                world.fence(replica)
        world.check()
    world.drain()
