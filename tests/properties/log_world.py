"""A data directory on a simulated disk beside a model of it: every step does the same to both and compares.

The model is a list of the batches that were written, and an offset below which they were declared durable. What may
happen is a list of (step, number) pairs, so that Hypothesis can shrink a failure; chance inside a step comes from the
seed.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.log.producer_state import WINDOW
from tapelog.log.trim import Cut
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record, base_offset, batches, build_batch, iterate, last_offset, leader_epoch

TOPIC, ROOT = "orders", "/data"
SETTINGS = {"segment.bytes": "3000", "index.interval.bytes": "200", "retention.ms": "-1"}


class Batch:
    """One batch of the model."""

    def __init__(self, data: bytes, producer_id: int, base_sequence: int, count: int, control: bool) -> None:
        self.data = data  # as stored: with its offset and epoch
        self.producer_id = producer_id
        self.base_sequence = base_sequence
        self.count = count
        self.control = control
        self.base = base_offset(data, 0)
        self.last = last_offset(data, 0)


class LogWorld:
    """One partition's log, its directory, its disk and its model."""

    def __init__(self, seed: int) -> None:
        self.entropy = SimEntropy(seed)
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.disk = SimDisk(self.entropy.fork(), self.timers)
        self.config = LogConfig(SETTINGS)
        self.model: list[Batch] = []  # written, in order
        self.queued: list[Batch] = []
        self.durable = 0
        self.start = 0
        self.epoch = 0
        self.sequences = {1: 0, 2: 0, 3: 0}
        self.open_txn: set[int] = set()
        self.flushing = False
        self.directory = self._open_directory()
        self.log = self.directory.create_many([NewLog(TOPIC, 0, b"\x07" * 16, self.config)])[0]

    def _open_directory(self) -> LogDirectory:
        return LogDirectory.open(
            self.disk, ROOT, clock=self.clock, entropy=self.entropy, cluster_id="simulated-cluster-id00", node_id=1
        )

    # --- steps -------------------------------------------------------------------------------------------------

    def step(self, name: str, number: int) -> None:
        """Do one thing, then check what must hold."""
        steps: dict[str, Callable[[int], None]] = {
            "append": self.append,
            "retry": self.retry,
            "marker": self.marker,
            "write": lambda _: self.write(),
            "flush": lambda _: self.flush(),
            "pass": self.let_time_pass,
            "checkpoint": lambda _: self.checkpoint(),
            "truncate": self.truncate,
            "start_anew": self.start_anew,
            "delete_records": self.delete_records,
            "clean_restart": lambda _: self.clean_restart(),
            "kill": lambda _: self.kill(),
            "power_cut": lambda _: self.restart(self.disk.crash),
            "full": self.disk_full,
            "read": self.check_read,
            "seek": self.check_time,
        }
        if name not in ("append", "retry", "marker", "write", "full", "pass", "flush"):
            self.disk.capacity_bytes = None
        steps[name](number)
        self.log.invariants()
        self.check_stable()

    def append(self, number: int) -> None:
        """A client's batch of one to three records, sometimes idempotent, sometimes in a transaction."""
        count, producer_id = number % 3 + 1, number // 3 % 5
        if producer_id not in self.sequences:
            producer_id = -1
        idempotent = producer_id > 0
        transactional = producer_id == 3
        sequence = self.sequences[producer_id] if idempotent else -1
        records = [
            Record(0, self.clock.wall_ms() - self.entropy.below(50), b"k", b"x" * self.entropy.below(120))
            for _ in range(count)
        ]
        data = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=0 if idempotent else -1,
            base_sequence=sequence,
            transactional=transactional,
            compression=(0, 0, 0, 3)[number % 4],
        )
        self._append(data, producer_id, sequence, count, CLIENT)
        if idempotent:
            self.sequences[producer_id] += count
        if transactional:
            self.open_txn.add(producer_id)

    def _append(self, data: bytes, producer_id: int, sequence: int, count: int, origin: int) -> None:
        frame = b"frame" + data + b"tail"
        expected = self.end()
        appended = self.log.append(frame, 5, 5 + len(data), self.epoch, origin)
        assert not appended.duplicate
        assert appended.base_offset == expected
        stored = appended.base_offset.to_bytes(8, "big") + data[8:12] + self.epoch.to_bytes(4, "big") + data[16:]
        self.queued.append(Batch(stored, producer_id, sequence, count, origin == COORDINATOR))
        assert appended.last_offset == self.queued[-1].last

    def retry(self, number: int) -> None:
        """A client that got no answer sends one of its last five batches again: the original's offsets come back."""
        producer_id = number % 3 + 1
        kept = self.log.segments.items[0].base_offset
        known = [b for b in self.model + self.queued if b.producer_id == producer_id and not b.control][-WINDOW:]
        known = [b for b in known if b.base >= kept]
        if not known:
            return
        again = known[number // 3 % len(known)]
        data = bytes(8) + again.data[8:12] + b"\xff\xff\xff\xff" + again.data[16:]
        appended = self.log.append(data, 0, len(data), self.epoch, CLIENT)
        assert appended.duplicate
        assert (appended.base_offset, appended.last_offset) == (again.base, again.last)

    def marker(self, number: int) -> None:
        """The coordinator ends the open transaction."""
        if 3 not in self.open_txn:
            return
        key = b"\x00\x00" + (0 if number % 2 else 1).to_bytes(2, "big")
        data = build_batch(
            [Record(0, self.clock.wall_ms(), key, b"\x00\x00\x00\x00\x00\x05")],
            producer_id=3,
            producer_epoch=0,
            transactional=True,
            control=True,
        )
        self._append(data, 3, -1, 1, COORDINATOR)
        self.open_txn.discard(3)

    def write(self) -> None:
        """What the node core does at the end of a wake-up; a full disk undoes the lot."""
        try:
            self.log.write()
        except DiskFullError:
            self.queued.clear()
            self._forget_lost()
            assert self.log.end_offset == self.end()
            self.log.flush()  # else what was taken back might come back after a power cut, which is nobody's promise
            return
        self.model += self.queued
        self.queued.clear()

    def flush(self) -> None:
        """A flush round in the background."""
        if self.flushing:
            return
        log, ticket = self.log, self.log.begin_flush()
        self.flushing = True

        def done(failure: DiskError | None) -> None:
            assert failure is None
            self.flushing = False
            log.end_flush(ticket)
            self.durable = max(self.durable, log.durable_end)

        self.disk.start_flush(ticket.files, done)

    def let_time_pass(self, number: int) -> None:
        """Timers fire: flushes and jobs finish."""
        self.clock.advance(number % 20)
        self.timers.run_due()

    def checkpoint(self) -> None:
        """A checkpoint in the background."""
        log = self.log

        def done(failure: Exception | None) -> None:
            assert failure is None or self.disk.capacity_bytes is not None, failure
            self.durable = max(self.durable, log.durable_end)

        self.directory.start_checkpoint({(TOPIC, 0): self.durable}, done)

    def truncate(self, number: int) -> None:
        """As a follower does. What is cut off is not promised any more."""
        self.write()
        if not self.model:
            return
        target = self.model[number % len(self.model)].base + number % 2
        if target < self.start:
            return
        done: list[bool] = []
        self.directory.truncate(self.log, target, lambda: done.append(True))
        while not done:  # a checkpoint is under way
            self.let_time_pass(1)
        self.model = [batch for batch in self.model if batch.last < target]
        self._forget_lost()
        self.durable = min(self.durable, self.end())
        self.start = min(self.start, self.end())
        assert self.log.end_offset == self.end(), (self.log.end_offset, self.end())
        # what the next leader has may have been written in an epoch older than what was cut off
        self.epoch = (leader_epoch(self.model[-1].data, 0) if self.model else 0) + number % 3
        self.check_epochs()

    def start_anew(self, number: int) -> None:
        """As a follower does whose leader has nothing of what it has."""
        self.write()
        target = max(0, self.end() + number % 40 - 20)
        done: list[DiskError | None] = []
        self.directory.truncate_many([Cut(self.log, target, start_anew=True)], done.append)
        while not done:
            self.let_time_pass(1)
        self.log.flush()
        self.model.clear()
        self._forget_lost()
        self.durable = self.start = target
        self.epoch += number % 3
        assert (self.log.start_offset, self.log.end_offset) == (target, target)
        self.check_epochs()

    def delete_records(self, number: int) -> None:
        """DeleteRecords up to something written, then the retention run."""
        self.write()
        target = self.start + number % (max(self.start, self.durable) - self.start + 1)
        self.log.increment_start_offset(target)
        self.directory.write_start_offsets()
        self.start = max(self.start, target)
        self.log.delete_segments(self.log.retention_plan(self.clock.wall_ms(), self.log.written_end))
        assert self.log.start_offset == self.start

    def clean_restart(self) -> None:
        """Shutdown and start: nothing is lost, nothing is scanned."""
        self.write()
        if self.queued:
            return
        self.directory.close({(TOPIC, 0): self.end()}, 5)
        self.durable = self.end()
        self.restart(self.disk.kill)
        assert self.directory.clean
        assert self.log.recovered_bytes == 0

    def kill(self) -> None:
        """The process dies, the machine lives on: only what lies behind the last checkpoint is read again."""
        checkpointed = self.log.checkpointed_end
        # a truncation takes the snapshot with it, and then the segment is read from its start
        resumable = self.disk.exists(self.log.path_of(checkpointed, ".snapshot"))
        self.restart(self.disk.kill)
        tail = sum(len(batch.data) for batch in self.model if batch.base >= checkpointed)
        read = self.log.recovered_bytes
        assert read <= tail or not resumable, f"{read} read for a tail of {tail} bytes"

    def restart(self, cause: Callable[[Timers], SimDisk]) -> None:
        """The process or the machine dies; what is found afterwards is a prefix that holds everything declared
        durable."""
        self.clock.advance(1)
        self.timers = Timers(self.clock)
        self.disk = cause(self.timers)
        self.flushing = False
        self.queued.clear()
        self.directory = self._open_directory()
        assert self.directory.partitions() == [(TOPIC, 0)]
        (self.log,) = self.directory.open_all([(TOPIC, 0)], lambda topic: self.config)
        assert self.log.topic_id == b"\x07" * 16
        end = self.log.end_offset
        assert end >= self.durable, f"durable to {self.durable}, found {end}"
        assert self.log.start_offset == self.start
        self.model = [batch for batch in self.model if batch.last < end]
        assert self.end() == end, f"the log ends at {end}, which was never a boundary"
        self._forget_lost()
        self.durable = end
        self.epoch += 1
        self.check_all()
        self.check_producers()
        self.check_aborted()
        self.check_epochs()

    def disk_full(self, number: int) -> None:
        """The disk has only so much room for a while."""
        if self.disk.capacity_bytes is None:
            self.disk.capacity_bytes = 1 << 40
            self.disk.capacity_bytes -= self.disk.free_bytes() - number % 400
        else:
            self.disk.capacity_bytes = None

    # --- comparing ---------------------------------------------------------------------------------------------

    def end(self) -> int:
        """The model's end offset, queued batches included."""
        last = (self.model + self.queued)[-1:]
        return last[0].last + 1 if last else self.floor()

    def floor(self) -> int:
        """Where an emptied log goes on."""
        return self.log.end_offset if not self.model and not self.queued else 0

    def _forget_lost(self) -> None:
        """Producers go on behind what is left of their batches."""
        for producer_id in self.sequences:
            left = [b for b in self.model if b.producer_id == producer_id and not b.control]
            self.sequences[producer_id] = left[-1].base_sequence + left[-1].count if left else 0
        mine = [b for b in self.model if b.producer_id == 3]
        self.open_txn = {3} if mine and not mine[-1].control else set()

    def check_all(self) -> None:
        """Every batch is there, byte for byte, in order."""
        found, offset = [], self.log.start_offset
        while offset < self.log.written_end:
            region = self.log.read(offset, 700, self.log.written_end, True)
            assert region is not None, f"nothing at {offset} of {self.log.written_end}"
            data = region.read()
            assert len(data) == region.size
            for header in batches(data, 0, len(data)):
                found.append(data[header.position : header.end])
            offset = last_offset(found[-1], 0) + 1
        expected = [batch.data for batch in self.model if batch.last >= self.start]
        assert found == expected, f"{len(found)} batches found, {len(expected)} expected"

    def check_epochs(self) -> None:
        """Leader epochs are what the batches say, and nothing is said of batches that are gone."""
        expected: list[tuple[int, int]] = []
        for batch in self.model:
            epoch = leader_epoch(batch.data, 0)
            if not expected or epoch > expected[-1][0]:
                expected.append((epoch, batch.base))
        while len(expected) > 1 and expected[1][1] <= self.start:
            expected.pop(0)
        if expected:
            expected[0] = (expected[0][0], max(expected[0][1], self.start))
        found = self.log.leader_epoch_cache.entries()
        if self.start == self.end():
            assert not found or found == expected[-1:], (found, expected)
        else:
            assert found == expected, (found, expected)

    def check_producers(self) -> None:
        """The producers are remembered as the batches tell."""
        for producer_id in self.sequences:
            mine = [b for b in self.model if b.producer_id == producer_id and not b.control]
            entry = self.log.producers.entries.get(producer_id)
            remembered = [] if entry is None else [seen.last_offset for seen in entry.batches]
            kept = self.log.segments.items[0].base_offset
            expected = [b.last for b in mine][-WINDOW:]
            assert remembered == expected[len(expected) - len(remembered) :], (producer_id, remembered)
            assert len(remembered) >= sum(b.base >= kept for b in mine[-WINDOW:]), (producer_id, remembered)
        assert bool(self.log.producers.open_txns) == bool(self.open_txn)

    def check_read(self, number: int) -> None:
        """A read from anywhere, bounded anyhow, begins with the right batch and holds only whole ones."""
        offset = self.start + number % (self.end() - self.start + 3)
        upper = self.start + number // 7 % (self.end() - self.start + 3)
        try:
            region = self.log.read(offset, number % 900, upper, number % 2 == 0)
        except KafkaError as error:
            assert error.code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert offset > self.log.end_offset
            return
        written = [batch for batch in self.model if offset <= batch.last < upper]
        if region is None:
            if number % 2 == 0:
                assert offset >= upper or not written
            return
        data = region.read()
        assert data == b"".join(batch.data for batch in written)[: len(data)]
        got = [data[h.position : h.end] for h in batches(data, 0, len(data))]
        assert sum(map(len, got)) == len(data)
        if len(got) > 1:
            assert len(data) <= number % 900

    def check_time(self, number: int) -> None:
        """Looking for a time finds what a search through all records finds."""
        records = [
            record
            for batch in self.model
            for record in iterate(batch.data, 0, len(batch.data))
            if record.offset >= self.start
        ]
        if not records:
            return
        wanted = records[number % len(records)].timestamp + number % 3 - 1
        first = next((record for record in records if record.timestamp >= wanted), None)
        found = self.log.offset_for_timestamp(wanted)
        assert (found and found[:2]) == (first and (first.timestamp, first.offset))
        newest = max(record.timestamp for record in records)
        found = self.log.max_timestamp_offset()
        assert found is not None
        assert found[0] == newest

    def check_stable(self) -> None:
        """The last stable offset is where the open transaction begins, or the high watermark."""
        expected = self.log.written_end
        if self.open_txn:
            mine = [b for b in self.model + self.queued if b.producer_id == 3]
            markers = [number for number, batch in enumerate(mine) if batch.control]
            expected = min(expected, max(self.start, mine[markers[-1] + 1 if markers else 0].base))
        if not self.queued:
            assert self.log.last_stable_offset(self.log.written_end) == expected

    def check_aborted(self) -> None:
        """Aborted transactions are found for every stretch that has records of one."""
        begun, aborted = -1, []
        for batch in self.model:
            if batch.producer_id == 3:
                if not batch.control:
                    begun = batch.base if begun < 0 else begun
                elif begun >= 0:
                    (record,) = iterate(batch.data, 0, len(batch.data))
                    if record.key is not None and record.key[3] == 0:
                        aborted.append((begun, batch.base))
                    begun = -1
        kept = self.log.segments.items[0].base_offset
        found = [
            (one.first_offset, one.last_offset) for one in self.log.aborted_transactions(kept, self.log.written_end)
        ]
        assert found == [pair for pair in aborted if pair[1] >= kept]
