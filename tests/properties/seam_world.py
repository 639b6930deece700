"""A log whose beginning is in a simulated tier, beside a twin that has everything: both are asked the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from tapelog.base.timers import Timers
from tapelog.log.compaction.reading import first_with_records
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR, REPLICATION, Log
from tapelog.log.tier import reading
from tapelog.log.tier.pieces import NotHereError, Pieces, UnreadableError
from tapelog.log.tier.view import View
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore
from tapelog.wire.control_records import marker_batch
from tapelog.wire.errors import KafkaError
from tapelog.wire.record_batch import Record, base_offset, batch_of, build_batch
from tests.support.tiered import Copies, let_go

SETTINGS = {"segment.bytes": "1200", "index.interval.bytes": "150", "retention.ms": "-1", "local.retention.ms": "-1"}
TOPIC_ID = b"\x05" * 16
PATIENCE_MS = 120_000

R = TypeVar("R")


class SeamWorld:
    """See the module. `log` begins in the tier from `move` on; `twin` never does."""

    def __init__(self, seed: int, block_bytes: int, cache_bytes: int, parallel_max: int = 3) -> None:
        self.chance = SimEntropy(seed)
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.log = self._open("/here", {**SETTINGS, "remote.storage.enable": "true"})
        self.twin = self._open("/twin", SETTINGS)
        self.bucket = Bucket()
        self.store = SimStore(self.bucket, self.timers, self.chance.fork())
        self.copies = Copies(self.bucket, TOPIC_ID)
        self.copies.put(self.copies.head)
        self.pieces = Pieces(self.store, self.timers, cache_bytes, parallel_max, block_bytes)
        self.view = View(self.pieces, TOPIC_ID, 0)
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.open: dict[int, None] = {}

    def _open(self, directory: str, settings: dict[str, str]) -> Log:
        disk = SimDisk(SimEntropy(1))
        return Log.open(disk, directory, topic="orders", partition=0, config=LogConfig(settings), clock=self.clock)

    # --- what happens to the log -------------------------------------------------------------------------------------

    def append(self, number: int) -> None:
        """A batch of one to three records: plain, or in a transaction; perhaps in another leader epoch."""
        producer = number % 4 if number % 4 < 3 else -1
        count = number // 4 % 3 + 1
        self.clock.advance(self.chance.below(20))
        if number % 17 == 0:
            self.epoch += 1 + number % 2
        records = [
            Record(0, self.clock.wall_ms() - self.chance.below(60), b"k", b"x" * self.chance.below(160))
            for _ in range(count)
        ]
        if producer < 0:
            self._both(build_batch(records, compression=3 if number % 5 == 1 else 0), CLIENT)
            return
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + count
        self.open[producer] = None
        self._both(
            build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=sequence, transactional=True),
            CLIENT,
        )

    def compacted(self, number: int) -> None:
        """What compaction has left: a batch behind a gap, perhaps without records, as it comes to a follower."""
        base = self.log.written_end + number % 5
        if number % 3 == 0:
            now_ms = self.clock.wall_ms()
            batch = batch_of(b"", 0, number % 4, now_ms, now_ms, base_offset=base, leader_epoch=self.epoch)
        else:
            records = [Record(base + at, self.clock.wall_ms() - at * 7, b"k", b"c" * 40) for at in range(0, 6, 2)]
            batch = build_batch(records, base_offset=base, keep_offsets=True, leader_epoch=self.epoch)
        self._both(batch, REPLICATION)

    def timed(self, late_ms: int, *, empty: bool = False) -> None:
        """A batch of one record, so much later than now, as it comes to a follower; or what is left of it."""
        base, stamp = self.log.written_end, self.clock.wall_ms() + late_ms
        if empty:
            batch = batch_of(b"", 0, 0, stamp, stamp, base_offset=base, leader_epoch=self.epoch)
        else:
            batch = build_batch([Record(0, stamp, b"k", b"t")], base_offset=base, leader_epoch=self.epoch)
        self._both(batch, REPLICATION)

    def seal(self) -> None:
        """What follows goes to another segment."""
        for log in (self.log, self.twin):
            log.roll()

    def end_transaction(self, number: int) -> None:
        """A marker for one of the open transactions: abort or commit."""
        if not self.open:
            return
        producer = list(self.open)[number % len(self.open)]
        del self.open[producer]
        batch = marker_batch(
            commit=number % 3 == 0,
            producer_id=producer,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=self.clock.wall_ms(),
        )
        self._both(batch, COORDINATOR)

    def _both(self, batch: bytes, origin: int) -> None:
        for log in (self.log, self.twin):
            log.append(batch, 0, len(batch), self.epoch, origin)
            log.write()
            log.flush()
        self.log.last_stable_offset(self.log.written_end)

    def upload(self, number: int) -> None:
        """Copy some of what may be copied."""
        self.copies.copy(self.log, self.log.written_end, number % 5)

    def let_go(self, number: int) -> None:
        """Delete some local segments that the tier has."""
        let_go(self.log, number % 7)

    def trim(self, number: int) -> None:
        """The log's beginning moves, and what the tier has below it goes at once: readers may not have heard of it."""
        start = self.log.start_offset + number % 7
        if start <= self.copies.head.end_offset:
            for log in (self.log, self.twin):
                log.increment_start_offset(start)
            self.copies.trim(start)

    # --- questions ---------------------------------------------------------------------------------------------------

    def ask(self, question: Callable[[], R]) -> R:
        """Ask until there is an answer, in virtual time."""
        asker, until_ms = _Asker(), self.clock.monotonic_ms() + PATIENCE_MS
        while True:
            try:
                return question()
            except NotHereError as missing:
                missing.piece.waiters[asker] = None
            except UnreadableError as error:
                try:
                    raise self.view.unreadable(error)
                except NotHereError as missing:
                    missing.piece.waiters[asker] = None
            asker.moved = False
            while not asker.moved:
                due_ms = self.timers.next_due_ms()
                assert due_ms is not None and due_ms < until_ms, "nobody ever answered"
                self.clock.advance(max(0, due_ms - self.clock.monotonic_ms()))
                self.timers.run_due()
                self.pieces.invariants()

    def begin(self, wanted: int) -> int:
        """Where the answer to a fetch from that offset on begins. Checked against the twin, where there is one."""
        log, upper, offset = self.log, self.log.written_end, wanted
        if offset < log.local_start_offset:
            offset = self.ask(lambda: reading.first_with_records(self.view, log, offset, upper))
        if offset >= log.local_start_offset:
            offset = first_with_records(log, offset, upper)
        if offset < upper:
            known = first_with_records(self.twin, wanted, upper)
            assert self._batch(offset) == self._batch(known) or offset >= log.active.base_offset
        return offset

    def _batch(self, offset: int) -> tuple[str, int]:
        """Where the twin has the batch that is read from there."""
        region = self.twin.read(offset, 0, self.log.written_end, True)
        assert region is not None
        return region.file.path, region.position

    def read(self, wanted: int, max_bytes: int, min_one: bool) -> tuple[bytes, int]:
        """What a fetch from an offset on gets, and where the next one begins; (b"", offset) if there is nothing or no
        room. Checked against the twin."""
        upper, offset = self.log.written_end, self.begin(wanted)
        if offset >= self.log.local_start_offset:
            here = self.log.read(offset, max_bytes, upper, min_one)
            found = (here.read(), here.next_offset) if here is not None else (b"", offset)
        else:
            there = self.ask(lambda: reading.read(self.view, self.log, offset, max_bytes, upper, min_one))
            found = (there.read(), there.next_offset) if there is not None else (b"", offset)
        first = self.twin.read(offset, 0, upper, True)
        if not found[0]:
            assert first is None or (not min_one and first.size > max_bytes)
            return found
        assert first is not None
        wanted, data = first.read(), found[0]
        assert len(data) <= max_bytes or (min_one and len(data) == len(wanted))
        at = offset
        while data:
            region = self.twin.read(at, 0, upper, True)
            assert region is not None
            whole = region.read()
            assert data[: len(whole)] == whole
            data, at = data[len(whole) :], region.next_offset
        behind = self.twin.read(min(at, found[1]), 0, upper, True)
        assert at == found[1] or behind is None or base_offset(behind.read(), 0) >= max(at, found[1]), "a gap at most"
        return found

    def turn_to(self, place: int) -> None:
        """Somebody else begins to read at the beginning of some segment, and does not wait for what he asked for."""
        starts = [max(entry.first_offset, self.log.start_offset) for entry in self.copies.head.segments]
        offset = starts[place % len(starts)] if starts else self.log.local_start_offset
        if offset < self.log.local_start_offset:
            with suppress(NotHereError, UnreadableError):
                reading.read(self.view, self.log, offset, 1000, self.log.written_end, True)

    def check_aborted(self, start: int, upper: int) -> None:
        """The aborted transactions of a range that begins in the tier."""
        if start < self.log.local_start_offset:
            mine = self.ask(lambda: reading.aborted(self.view, self.log, start, upper))
            assert sorted(one.as_tuple() for one in mine) == sorted(
                one.as_tuple() for one in self.twin.aborted_transactions(start, upper)
            )

    def check_time(self, timestamp: int) -> None:
        """The first record that late, and the latest."""
        mine = self.ask(lambda: reading.first_at_or_after(self.view, self.log, timestamp))
        assert mine == self.twin.offset_for_timestamp(timestamp)

    def check_greatest(self) -> None:
        """The first record with the greatest timestamp."""
        assert self.ask(lambda: reading.greatest(self.view, self.log)) == self.twin.max_timestamp_offset()

    def refused(self, offset: int) -> int:
        """The error that a read gets."""
        try:
            self.ask(lambda: reading.read(self.view, self.log, offset, 1000, self.log.written_end, True))
        except KafkaError as error:
            return int(error.code)
        return 0


class _Asker:
    def __init__(self) -> None:
        self.moved = False

    def tier_moved(self) -> None:
        self.moved = True
