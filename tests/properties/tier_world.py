"""Two brokers, one bucket, and a model: whoever leads copies, trims and collects; anything may fail at any moment.

Both brokers' logs hold the same records (what is committed), cut into segments at different places. A broker that was
replaced as leader may go on as if nothing had happened, with its older epoch. What may happen is a list of (step,
number) pairs, so that Hypothesis can shrink a failure.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.log import REPLICATION, Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.log.tier import layout, manifest, walk
from tapelog.log.tier.carry_out import carry_out, view
from tapelog.log.tier.manifest import Manifest, Page, SegmentEntry
from tapelog.log.tier.operations import Result
from tapelog.log.tier.uploader import DIVERGED, FENCED, Uploader
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore, Weather
from tapelog.wire.crc import crc32c
from tapelog.wire.record_batch import Record, base_offset, batches, build_batch, last_offset

TOPIC, TOPIC_ID = "orders", b"\x07" * 16
PREFIX = layout.partition_prefix(TOPIC_ID, 0)
SEGMENT_BYTES = ("700", "1000")
ORPHAN_CHECK_MS = 20_000
STEP_MS = 250


class Broker:
    """One broker's log, its way to the bucket, and its uploader while it believes to lead."""

    def __init__(self, world: TierWorld, number: int) -> None:
        self.world = world
        self.number = number
        disk = SimDisk(world.entropy.fork(), world.timers)
        settings = {**world.settings, "segment.bytes": SEGMENT_BYTES[number], "index.interval.bytes": "100"}
        directory = LogDirectory.open(
            disk, "/data", clock=world.clock, entropy=world.entropy, cluster_id="simulated-cluster-id00", node_id=number
        )
        self.log: Log = directory.create_many([NewLog(TOPIC, 0, TOPIC_ID, LogConfig(settings))])[0]
        self.store = self._new_store()
        self.uploader: Uploader | None = None

    def _new_store(self) -> SimStore:
        return SimStore(self.world.bucket, self.world.timers, self.world.entropy.fork())

    def lead(self, epoch: int) -> None:
        self.uploader = Uploader(
            TOPIC,
            TOPIC_ID,
            0,
            broker=self.number,
            leader_epoch=epoch,
            entropy=self.world.entropy,
            orphan_check_ms=ORPHAN_CHECK_MS,
        )

    def kill(self) -> None:
        """The process dies, with whatever was under way."""
        weather = self.store.weather
        self.store.dead = True
        self.store = self._new_store()
        self.store.weather = weather
        if self.uploader is not None:
            self.lead(self.uploader.leader_epoch)

    def tick(self) -> bool:
        """Begin what is to be done; False if that is nothing."""
        uploader, clock = self.uploader, self.world.clock
        if uploader is None:
            return False
        shown = view(self.log, uploader.manifest, self.log.written_end, clock.wall_ms())
        operation = uploader.next(clock.monotonic_ms(), shown)
        uploader.invariants()
        if operation is None:
            return False

        def done(result: Result, store: SimStore = self.store) -> None:
            assert not store.dead
            uploader.done(clock.monotonic_ms(), clock.wall_ms(), result)
            uploader.invariants()
            if uploader.manifest is not None and uploader is self.uploader:
                start = min(uploader.manifest.start_offset, self.log.end_offset)
                self.log.increment_start_offset(start)

        carry_out(operation, self.store, PREFIX, self.log, done)
        return True


class TierWorld:
    """See the module."""

    def __init__(self, seed: int, **settings: str) -> None:
        self.settings = {"retention.ms": "-1", "file.delete.delay.ms": "1000", "remote.storage.enable": "true"}
        self.settings.update({name.replace("_", "."): value for name, value in settings.items()})
        self.entropy = SimEntropy(seed)
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.bucket = Bucket()
        self.brokers = [Broker(self, 0), Broker(self, 1)]
        self.leader = self.brokers[0]
        self.epoch = 0
        self.model: list[bytes] = []
        self.end = 0
        self.seen: Manifest | None = None
        self.leader.lead(0)

    def step(self, name: str, number: int) -> None:
        """Do one thing, then check the bucket."""
        steps: dict[str, Callable[[int], None]] = {
            "append": self.append,
            "roll": self.roll,
            "tick": self.tick,
            "pass": self.let_time_pass,
            "kill": lambda _: self.brokers[number % 2].kill(),
            "change_leader": self.change_leader,
            "zombie": self.zombie,
            "weather": self.change_weather,
            "delete_records": self.delete_records,
        }
        steps[name](number)
        self.check()

    def append(self, number: int) -> None:
        for _ in range(number % 5 + 1):
            records = [Record(0, self.clock.wall_ms(), b"k", b"x" * self.entropy.below(200))]
            data = build_batch(records, base_offset=self.end, leader_epoch=self.epoch)
            self.model.append(data)
            self.end = last_offset(data, 0) + 1
            self._replicate(self.leader)

    def roll(self, number: int) -> None:
        self.brokers[number % 2].log.roll()

    def tick(self, number: int) -> None:
        self.leader.tick()
        self.timers.run_due()

    def zombie(self, number: int) -> None:
        """The one that does not lead (any more) goes on, if it ever led."""
        self.brokers[1 - self.leader.number].tick()
        self.timers.run_due()

    def let_time_pass(self, number: int) -> None:
        for _ in range(number % 8 + 1):
            self.clock.advance(STEP_MS)
            self.timers.run_due()

    def change_leader(self, number: int) -> None:
        self.epoch += 1
        self.leader = self.brokers[number % 2]
        self._replicate(self.leader)
        self.leader.lead(self.epoch)

    def change_weather(self, number: int) -> None:
        kinds = (
            Weather(),
            Weather(300),
            Weather(100, 50, 0),
            Weather(100, 25, 25),
            Weather(0, 0, 50),
            Weather(gone=True),
        )
        self.brokers[number % 2].store.weather = kinds[number // 2 % len(kinds)]

    def delete_records(self, number: int) -> None:
        log = self.leader.log
        log.increment_start_offset(log.start_offset + (log.end_offset - log.start_offset) * (number % 10) // 10)

    def _replicate(self, broker: Broker) -> None:
        log = broker.log
        for data in self.model:
            if base_offset(data, 0) >= log.end_offset:
                log.append(data, 0, len(data), self.epoch, REPLICATION)
        log.write()
        log.flush()

    # --- what must hold ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Whatever the head names is there, whole, and says what the log says; heads only go forwards."""
        name = PREFIX + layout.MANIFEST
        if name not in self.bucket.objects:
            assert self.seen is None, "a manifest does not disappear"
            return
        head = manifest.decode(self.bucket.objects[name])
        before = self.seen
        if head == before:
            return
        self.seen = head
        if before is not None:
            assert head.sequence > before.sequence
            assert head.leader_epoch >= before.leader_epoch
            assert head.start_offset >= before.start_offset
            assert head.end_offset >= before.end_offset
        next_offset, count, log_bytes = None, 0, 0
        for entry in walk.oldest_first(head, self.pages(head)):
            assert next_offset in (None, entry.first_offset), "no gap, no overlap"
            assert next_offset is not None or entry.first_offset <= max(head.start_offset, entry.base_offset)
            next_offset = entry.end_offset
            count += 1
            log_bytes += entry.log_size
            self.check_segment(entry)
        assert (count, log_bytes) == (head.count, head.log_bytes)

    def pages(self, head: Manifest) -> dict[str, Page]:
        pages: dict[str, Page] = {}
        while True:
            try:
                list(walk.oldest_first(head, pages))
                return pages
            except walk.PageWantedError as wanted:
                pages[wanted.ref.name] = manifest.decode_page(self.bucket.objects[PREFIX + wanted.ref.name])

    def check_segment(self, entry: SegmentEntry) -> None:
        data = self.bucket.objects[PREFIX + entry.name]
        assert len(data) == entry.size
        assert crc32c(data[: entry.log_size]) == entry.log_crc
        footer, sections = layout.parse_tail(data[entry.log_size :])
        assert (footer.base_offset, footer.end_offset) == (entry.base_offset, entry.end_offset)
        assert layout.tail_crc(data) == entry.tail_crc
        assert tuple(map(len, sections)) == entry.section_sizes
        want = [b for b in self.model if entry.base_offset <= base_offset(b, 0) < entry.end_offset]
        log = data[: entry.log_size]
        assert [log[b.position : b.position + b.size] for b in batches(log, 0, len(log))] == want

    def settle(self) -> None:
        """Good weather, one leader, time: everything that may be up there is, and nothing else."""
        for broker in self.brokers:
            broker.store.weather = Weather()
        self.change_leader(self.leader.number)
        quiet = 0
        for _ in range(2000):
            busy = self.leader.tick()
            self.clock.advance(STEP_MS if busy else ORPHAN_CHECK_MS // 4)
            self.timers.run_due()
            self.timers.run_due()
            uploader = self.leader.uploader
            assert uploader is not None and uploader.state not in (FENCED, DIVERGED), uploader and uploader.error
            quiet = 0 if busy or uploader.operation is not None else quiet + 1
            if quiet > 8:  # twice as long as it takes to look for orphans
                break
        self.check()
        log, head = self.leader.log, self.seen
        assert head is not None
        assert head.end_offset >= log.segments.items[-1].base_offset, "all sealed segments are up there"
        assert head.start_offset == log.start_offset
        pages = self.pages(head)
        named = [PREFIX + name for name in walk.named_between(head, pages, 0, 1 << 62)]
        assert sorted([*named, PREFIX + layout.MANIFEST]) == sorted(self.bucket.objects), "no orphans"
