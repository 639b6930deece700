"""A compacted log on a simulated disk beside its model: appended to, cleaned, and crashed at any disk operation."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.timers import Timers
from tapelog.log import names
from tapelog.log.compaction.cleaning import Cleaning, Job, job_of
from tapelog.log.compaction.keymap import SLOT_BYTES, KeyMap
from tapelog.log.compaction.plan import Bounds, Source, groups, plan, sources
from tapelog.log.compaction.swap import install
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR, Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import DELETE_HORIZON, Record, batches, build_batch, records_of
from tests.properties.compaction_model import (
    ABORTED,
    COMMITTED,
    OPEN,
    Entry,
    Pass,
    Stored,
    cleaned,
    last_offsets,
    table,
)

TOPIC, ROOT = "tables", "/data"
KEYS = 7
RETENTION_MS = 1000
SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "900",
    "index.interval.bytes": "150",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": str(RETENTION_MS),
}
IDEMPOTENT, TRANSACTIONAL, BUMPING = (1, 2), (3, 4), 4
"""Producers; the markers of the last have a new epoch (transaction version 2)."""


class Killed(BaseException):
    """The machine or the process stops before this disk operation."""


def stop_before(disk: SimDisk, operation: int) -> None:
    """Let a disk do so many more operations and not one after them."""
    left = [operation]

    def counted(call: Callable[..., None]) -> Callable[..., None]:
        def wrapper(*arguments: object) -> None:
            if left[0] <= 0:
                raise Killed
            left[0] -= 1
            call(*arguments)

        return wrapper

    for name in ("account", "before_sync", "rename"):
        setattr(disk, name, counted(getattr(disk, name)))


class CompactionWorld:
    """See the module."""

    def __init__(self, seed: int) -> None:
        self.chance = SimEntropy(seed)
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.disk = SimDisk(self.chance.fork(), self.timers)
        self.config = LogConfig(SETTINGS)
        self.directory = self._open_directory()
        self.log: Log = self.directory.create_many([NewLog(TOPIC, 0, b"\x07" * 16, self.config)])[0]
        self.history: list[Stored] = []
        self.model: list[Stored] = []
        self.outcomes: dict[int, str] = {}
        self.open: dict[int, int] = {}
        self.sequences = dict.fromkeys((*IDEMPOTENT, *TRANSACTIONAL), 0)
        self.epochs = dict.fromkeys(self.sequences, 0)
        self.cleaned_to: int | None = None
        self.cleanings = 0
        self.crashes = 0

    def _open_directory(self) -> LogDirectory:
        return LogDirectory.open(
            self.disk, ROOT, clock=self.clock, entropy=self.chance, cluster_id="simulated-cluster-id00", node_id=1
        )

    def step(self, name: str, number: int) -> None:
        """Do one thing, then compare."""
        steps: dict[str, Callable[[int], None]] = {
            "append": self.append,
            "transact": self.transact,
            "end": self.end,
            "roll": lambda _: self.log.roll(),
            "pass": self.let_time_pass,
            "checkpoint": lambda _: self.checkpoint(),
            "clean": self.clean,
            "crash": self.crash_while_cleaning,
            "kill": lambda _: self.restart(self.disk.kill),
            "power_cut": lambda _: self.restart(self.disk.crash),
            "forget": lambda _: self.forget(),
            "expire": lambda _: self.log.expire_producers(self.clock.wall_ms(), 2 * RETENTION_MS),
            "delete_records": self.delete_records,
            "read": self.check_read,
        }
        steps[name](number)
        self.log.invariants()
        self.check()

    # --- writing -----------------------------------------------------------------------------------------------

    def append(self, number: int, *, flush: bool = True) -> None:
        """A batch outside of transactions, sometimes idempotent."""
        producer = (-1, -1, 1, 2)[number % 4]
        if producer > 0:
            self._resume(producer)
        self._put(producer, number // 4, -1, flush)

    def transact(self, number: int) -> None:
        """A batch of a transaction, which begins with it if none is open."""
        producer = TRANSACTIONAL[number % 2]
        if producer not in self.open:
            self._resume(producer)
            self.open[producer] = len(self.outcomes)
            self.outcomes[self.open[producer]] = OPEN
        self._put(producer, number // 2, self.open[producer], True)

    def _resume(self, producer: int) -> None:
        """A producer whose last batch the log has forgotten comes back with a newer epoch."""
        entry = self.log.producers.entries.get(producer)
        if entry is None or entry.last_sequence() + 1 != self.sequences[producer]:
            self._begin_anew(producer)

    def _begin_anew(self, producer: int) -> None:
        """The next batch has a newer epoch."""
        self.epochs[producer] += 1
        self.sequences[producer] = 0

    def _put(self, producer: int, number: int, transaction: int, flush: bool) -> None:
        base, codec, count = self.log.end_offset, number % 5, number // 5 % 4 + 1
        epoch, sequence = (self.epochs[producer], self.sequences[producer]) if producer > 0 else (-1, -1)
        entries = []
        for index in range(count):
            value = None if self.chance.below(4) == 0 else b"v%d-" % (base + index) + b"x" * self.chance.below(60)
            key = b"key-%d" % self.chance.below(KEYS) if producer > 0 or self.chance.below(9) else None
            entries.append(Entry(base + index, self.clock.wall_ms() - self.chance.below(30), key, value))
        batch = build_batch(
            [Record(0, entry.timestamp, entry.key, entry.value) for entry in entries],
            compression=codec,
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transaction >= 0,
        )
        if producer > 0:
            self.sequences[producer] += count
        newest = max(entry.timestamp for entry in entries)
        stored = Stored(base, base + count - 1, producer, epoch, sequence, codec, newest, tuple(entries), transaction)
        # only a client is refused records without a key: they may be from before the topic was compacted
        self._write(batch, stored, CLIENT if producer > 0 else COORDINATOR, flush)

    def end(self, number: int) -> None:
        """A transaction is committed or aborted."""
        producer = TRANSACTIONAL[number % 2]
        transaction = self.open.pop(producer, None)
        if transaction is None:
            return
        aborted = number // 2 % 2 == 0
        self.outcomes[transaction] = ABORTED if aborted else COMMITTED
        if producer == BUMPING:
            self._begin_anew(producer)
        base, now = self.log.end_offset, self.clock.wall_ms()
        entry = Entry(base, now, b"\x00\x00\x00" + (b"\x00" if aborted else b"\x01"), bytes(6))
        batch = build_batch(
            [Record(0, now, entry.key, entry.value)],
            producer_id=producer,
            producer_epoch=self.epochs[producer],
            transactional=True,
            control=True,
        )
        stored = Stored(base, base, producer, self.epochs[producer], -1, 0, now, (entry,), transaction, True)
        self._write(batch, stored, COORDINATOR, True)

    def _write(self, batch: bytes, stored: Stored, origin: int, flush: bool) -> None:
        self.log.append(batch, 0, len(batch), 0, origin)
        self.log.write()
        if flush:
            self.log.flush()
        self.model.append(stored)
        self.history.append(stored)

    def let_time_pass(self, number: int) -> None:
        """Up to the time after which tombstones may go; jobs finish."""
        self.clock.advance(number % RETENTION_MS)
        self.timers.run_due()

    def checkpoint(self) -> None:
        """Everything written lies below the recovery point now."""
        self.directory.write_checkpoints({})

    def delete_records(self, number: int) -> None:
        """DeleteRecords somewhere below the last stable offset, then the retention run."""
        target = self.log.start_offset + number % (self.stable() - self.log.start_offset + 1)
        self.log.increment_start_offset(target)
        self.directory.write_start_offsets()
        self.log.delete_segments(self.log.retention_plan(self.clock.wall_ms(), self.log.written_end))
        self.disk.sync_dir(self.log.directory)  # else a power cut may bring them back, below the start offset
        first = self.log.segments.items[0].base_offset
        self.model = [batch for batch in self.model if batch.base >= first]

    # --- cleaning ----------------------------------------------------------------------------------------------

    def stable(self) -> int:
        """The last stable offset."""
        return self.log.last_stable_offset(self.log.durable_end)

    def bounds(self) -> Bounds:
        """How far cleaning may go."""
        log = self.log
        return Bounds(log.start_offset, log.end_offset, self.stable(), log.checkpointed_end)

    def begin(self, number: int) -> tuple[Cleaning, list[list[Stored]]] | None:
        """A cleaning of what may be cleaned, and the log as it should be after each of its groups."""
        now = self.clock.wall_ms()
        found = plan(sources(self.log, brief=True), self.config, self.bounds(), self.cleaned_to, now)
        if found is None:
            return None
        keys = KeyMap(SLOT_BYTES * (3 + number % (2 * KEYS)))
        job: Job = job_of(self.log, found)
        one = Pass(
            found.first_dirty,
            found.first_uncleanable,
            keys.capacity,
            now,
            RETENTION_MS,
            dict(job.producers),
            dict(self.outcomes),
        )
        _, covered = last_offsets(self.model, one)
        inputs = [source for source in job.segments if source.base_offset < covered]
        ends: list[int] = []
        states = [self.model]
        for group in groups(inputs, self.config, found.first_uncleanable):
            ends.append(self._end_of(group))
            states.append(cleaned(self.model, one, ends))
        return Cleaning(self.disk, job, self.config, keys, now, read_bytes=100 + number % 500), states

    def _end_of(self, group: list[Source]) -> int:
        bases = [segment.base_offset for segment in self.log.segments.items]
        return bases[bases.index(group[-1].base_offset) + 1] - 1

    def clean(self, number: int) -> None:
        """A whole cleaning in small steps, with reads and sometimes appends in between."""
        begun = self.begin(number)
        if begun is None:
            return
        cleaning, states = begun
        written, installed = len(self.history), 0
        while not cleaning.finished:
            if number // 3 % 11 == 0 and len(self.history) < written + 3:
                self.append(number // 5)
            for done in cleaning.step(700):
                install(self.log, done)
                installed += 1
                self.model = states[installed] + self.history[written:]
                self.check()
        assert installed == len(states) - 1
        self.cleaned_to = cleaning.end_offset
        self.cleanings += 1
        assert cleaning.statistics.records_kept <= cleaning.statistics.records_read

    def crash_while_cleaning(self, number: int) -> None:
        """The cleaning is cut off before some disk operation: what is found is the log after some of its groups."""
        self.crash_before(number // 7 % 60, number, self.disk.crash if number % 2 else self.disk.kill)

    def crash_before(self, operation: int, number: int, cause: Callable[[Timers], SimDisk]) -> None:
        """The same, cut off before that disk operation."""
        begun = self.begin(number)
        if begun is None:
            return
        cleaning, states = begun
        stop_before(self.disk, operation)
        finished = False
        try:
            while not cleaning.finished:
                for done in cleaning.step(200):
                    install(self.log, done)
                self.clock.advance(number % 3)
                self.timers.run_due()
            finished = True
        except Killed:
            self.crashes += 1
        except Exception as failure:
            assert isinstance(failure.__context__, Killed), failure
        self._reopen(cause)
        found = self.stored()
        assert found in [[batch.seen() for batch in state] for state in states], "neither before nor after"
        if finished:
            assert found == [batch.seen() for batch in states[-1]]
        self.model = next(state for state in states if [batch.seen() for batch in state] == found)
        leftover = (names.CLEANED, names.SWAP, names.DELETED)
        assert not [name for name in self.disk.listdir(f"{ROOT}/{TOPIC}-0") if name.endswith(leftover)]

    # --- restarts ----------------------------------------------------------------------------------------------

    def restart(self, cause: Callable[[Timers], SimDisk]) -> None:
        """The process or the machine dies between two steps."""
        known = self._sequences()
        self._reopen(cause)
        assert known.items() <= self._sequences().items()  # what had expired may be back

    def forget(self) -> None:
        """The process dies, and checkpoints, snapshots and indexes are lost: the batches must tell everything."""
        known = self._sequences()
        for name in (names.RECOVERY_POINTS, names.CLEAN_SHUTDOWN):
            self.disk.remove(f"{ROOT}/{name}")
        for name in self.disk.listdir(f"{ROOT}/{TOPIC}-0"):
            if name.endswith((names.SNAPSHOT, names.INDEX, names.TIME_INDEX, names.TXN_INDEX)):
                self.disk.remove(f"{ROOT}/{TOPIC}-0/{name}")
        first = self.log.segments.items[0].base_offset
        kept = {p: s for p, s in known.items() if self.log.producers.entries[p].last_offset() >= first}
        self._reopen(self.disk.kill)
        assert kept.items() <= self._sequences().items(), (kept, self._sequences())

    def _sequences(self) -> dict[int, tuple[int, int, int]]:
        """What the log knows of its producers' last batches."""
        entries = self.log.producers.entries.values()
        return {e.producer_id: (e.epoch, e.last_offset(), e.last_sequence()) for e in entries if e.batches}

    def _reopen(self, cause: Callable[[Timers], SimDisk]) -> None:
        start, end = self.log.start_offset, self.log.end_offset
        self.timers = Timers(self.clock)
        self.disk = cause(self.timers)
        self.directory = self._open_directory()
        (self.log,) = self.directory.open_all([(TOPIC, 0)], lambda topic: self.config)
        assert (self.log.start_offset, self.log.end_offset) == (start, end)

    # --- comparing ---------------------------------------------------------------------------------------------

    def raw(self, upper: int) -> list[bytes]:
        """What reads give, from the first offset to upper."""
        found, offset = [], self.log.start_offset
        while (region := self.log.read(offset, 300, upper, True)) is not None:
            found.append(region.read())
            assert region.next_offset > offset
            offset = region.next_offset
        return found

    def stored(self) -> list[tuple[object, ...]]:
        """The log's batches, decoded, straight from the files."""
        found = []
        for segment in self.log.segments.items:
            data = segment.file().read(0, segment.size)
            for header in batches(data, 0, len(data)):
                entries = tuple(Entry(r.offset, r.timestamp, r.key, r.value) for r in records_of(data, header))
                horizon = header.base_timestamp if header.attributes & DELETE_HORIZON else -1
                found.append(
                    Stored(
                        header.base_offset,
                        header.last_offset,
                        header.producer_id,
                        header.producer_epoch,
                        header.base_sequence,
                        header.compression,
                        header.max_timestamp,
                        entries,
                        0 if header.is_transactional else -1,
                        header.is_control,
                        horizon,
                    ).seen()
                )
        return found

    def check(self) -> None:
        """The log is what the model says, and a consumer sees the table that was written."""
        expected = [batch.seen() for batch in self.model]
        found = self.stored()
        assert found == expected, _difference(found, expected)
        stable = self.stable()
        expected_table = table(self.history, self.outcomes, self.log.start_offset, stable)
        assert self.consumed(stable) == expected_table

    def consumed(self, stable: int) -> dict[bytes, bytes]:
        """The table of a read_committed consumer, made the way clients make it."""
        start = self.log.start_offset
        aborted = sorted(self.log.aborted_transactions(start, stable), key=lambda one: one.first_offset)
        active: set[int] = set()
        found: dict[bytes, bytes] = {}
        for data in self.raw(stable):
            for header in batches(data, 0, len(data)):
                while aborted and aborted[0].first_offset <= header.last_offset:
                    active.add(aborted.pop(0).producer_id)
                records = list(records_of(data, header))
                if header.is_control:
                    if records and records[0].key is not None and records[0].key[3] == 0:
                        active.discard(header.producer_id)
                    continue
                if header.is_transactional and header.producer_id in active:
                    continue
                for record in records:
                    if record.offset < start or record.key is None:
                        continue
                    if record.value is None:
                        found.pop(record.key, None)
                    else:
                        found[record.key] = record.value
        return found

    def check_read(self, number: int) -> None:
        """A read from anywhere begins with the first batch that reaches there; a search by time finds the first."""
        start, end = self.log.start_offset, self.log.end_offset
        if start == end:
            return
        offset = start + number % (end - start)
        region = self.log.read(offset, 1, end, True)
        wanted = [batch for batch in self.model if batch.last >= offset]
        if wanted:
            assert region is not None
            assert next(batches(region.read(), 0, region.size)).base_offset == wanted[0].base
        entries = [entry for batch in self.model for entry in batch.entries if entry.offset >= start]
        if entries:
            stamp = entries[number % len(entries)].timestamp + number % 2
            first = next((entry for entry in entries if entry.timestamp >= stamp), None)
            found = self.log.offset_for_timestamp(stamp)
            assert (found and found[:2]) == (first and (first.timestamp, first.offset))
            newest = self.log.max_timestamp_offset()
            assert newest is not None
            assert newest[0] == max(entry.timestamp for entry in entries)


def _difference(found: list[tuple[object, ...]], expected: list[tuple[object, ...]]) -> str:
    """The first place where two logs differ."""
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one != other:
            return f"batch {number}: found {one}, expected {other}"
    return f"{len(found)} batches found, {len(expected)} expected: {(found + expected)[min(len(found), len(expected))]}"
