"""One cleaning of one log, in steps: learn the keys of the dirty part, then write the segments anew without what is
superseded.

Works on values and on files of its own, so that it may run in another process or, in simulation, between any two
events. The caller puts each finished group in place with `swap.install`, in order, and records `end_offset` as the
log's cleaner checkpoint when the last one is. Until then nothing has changed, and after a failure or a crash it begins
anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import Disk
from tapelog.log.compaction.keymap import KeyMap
from tapelog.log.compaction.output import CleanedSegment
from tapelog.log.compaction.plan import CleaningPlan, Source, groups, sources
from tapelog.log.compaction.records import ALL, note_keys
from tapelog.log.compaction.retention import GONE, Judge, LastOfProducer
from tapelog.log.compaction.source import READ_BYTES, batches_of, payload_of
from tapelog.log.compaction.transactions import Transactions
from tapelog.log.config import LogConfig
from tapelog.log.stored import StoredLog
from tapelog.log.txn_index import AbortedTransaction
from tapelog.wire.record_batch import CONTROL, RECORD_COUNT_AT, attributes, last_offset

STEP_BYTES: Final = 1024 * 1024
"""What a step reads and writes unless told otherwise."""


class Job(NamedTuple):
    """Everything a cleaning needs to know, as values."""

    directory: str
    plan: CleaningPlan
    segments: list[Source]
    """From the log's first up to the plan's first uncleanable offset."""
    aborted: list[AbortedTransaction]
    producers: dict[int, LastOfProducer]
    generation: int
    """Of the log when the job was made: after a truncation its results are worth nothing."""


class Cleaned(NamedTuple):
    """Segments that became one, under the names of `CleanedSegment`."""

    directory: str
    replaced: list[Source]
    size: int
    generation: int


class Statistics:
    """What a cleaning has done so far."""

    __slots__ = ("keys", "mapped_bytes", "read_bytes", "records_kept", "records_read", "unkeyed", "written_bytes")

    def __init__(self) -> None:
        self.mapped_bytes = 0
        self.read_bytes = 0
        self.written_bytes = 0
        self.records_read = 0
        self.records_kept = 0
        self.unkeyed = 0
        self.keys = 0


def job_of(log: StoredLog, plan: CleaningPlan) -> Job:
    """The job that carries out a plan made of this log now."""
    segments = [source for source in sources(log) if source.base_offset < plan.first_uncleanable]
    aborted = log.aborted_transactions(segments[0].base_offset, plan.first_uncleanable)
    producers = {entry.producer_id: (entry.last_offset(), entry.epoch) for entry in log.producers.entries.values()}
    return Job(log.directory, plan, segments, aborted, producers, log.generation)


class Cleaning:
    """See the module. Raises UncleanableError or DiskError from `step`; then it is over, and its files are gone."""

    def __init__(
        self, disk: Disk, job: Job, config: LogConfig, keys: KeyMap, now_ms: int, read_bytes: int = READ_BYTES
    ) -> None:
        self.job = job
        self.end_offset = job.plan.first_dirty
        """Up to where the log is clean once everything is in place; known after the first pass."""
        self.statistics = Statistics()
        self.finished = False
        self._disk = disk
        self._config = config
        self._keys = keys
        self._now_ms = now_ms
        self._read_bytes = read_bytes
        self._done: list[Cleaned] = []
        self._writing: CleanedSegment | None = None
        bases = [source.base_offset for source in job.segments]
        self._ends = dict(zip(bases, [*bases[1:], job.plan.first_uncleanable], strict=True))
        self._work = self._passes()

    def step(self, budget_bytes: int = STEP_BYTES) -> list[Cleaned]:
        """Go on until about so many bytes have been read and written; returns the groups finished meanwhile."""
        spent = 0
        try:
            while spent < budget_bytes and not self.finished:
                spent += next(self._work, 0)
        except BaseException:
            self.abandon()
            raise
        done, self._done = self._done, []
        return done

    def abandon(self) -> None:
        """Stop here; files of a group that is not finished go. Finished ones stay as the caller got them."""
        self.finished = True
        self._work.close()
        if self._writing is not None:
            self._writing.discard()
            self._writing = None

    # --- the passes: each yields how many bytes it has read and written since -----------------------------------

    def _passes(self) -> Generator[int, None, None]:
        yield from self._learn()
        segments = [source for source in self.job.segments if source.base_offset < self.end_offset]
        judge = Judge(
            self._keys,
            self.end_offset,
            transactions := Transactions(self.job.aborted),
            self.job.producers,
            self._now_ms,
            self._config.delete_retention_ms,
        )
        for group in groups(segments, self._config, self.job.plan.first_uncleanable):
            yield from self._rewrite(group, judge, transactions)
            self.statistics.records_kept, self.statistics.unkeyed = judge.records_kept, judge.unkeyed
        self.finished = True

    def _learn(self) -> Iterator[int]:
        """First pass: the last offset of every key in the dirty part, as far as the map holds."""
        plan, segments, keys = self.job.plan, self.job.segments, self._keys
        keys.clear(plan.first_dirty)
        transactions = Transactions(self.job.aborted)
        for source in segments:
            end = self._ends[source.base_offset]
            if end <= plan.first_dirty:
                continue
            for located in batches_of(self._disk, source, end, self._read_bytes):
                size = 0
                for buf, start, stop in located:
                    size += stop - start
                    full = self._learn_batch(buf, start, stop, transactions)
                    if full != ALL:
                        self.end_offset = full
                        self._learnt(size)
                        return
                self._learnt(size)
                yield size
            self.end_offset = end

    def _learnt(self, size: int) -> None:
        self.statistics.mapped_bytes += size
        self.statistics.keys = self._keys.count

    def _learn_batch(self, buf: bytes, start: int, end: int, transactions: Transactions) -> int:
        """Note its keys; ALL, or where the map became full."""
        if attributes(buf, start) & CONTROL:
            transactions.is_spent(buf, start, end)
            return ALL
        first_dirty = self.job.plan.first_dirty
        if transactions.is_aborted(buf, start) or last_offset(buf, start) < first_dirty:
            return ALL
        count: int = read_i32_be(buf, start + RECORD_COUNT_AT)
        if not count:
            return ALL
        base: int = read_i64_be(buf, start)
        return note_keys(self._keys, payload_of(buf, start, end), count, base, first_dirty)

    def _rewrite(self, group: list[Source], judge: Judge, transactions: Transactions) -> Iterator[int]:
        """Second pass over one group: into one new segment."""
        self._writing = cleaned = CleanedSegment(
            self._disk, self.job.directory, group[0].base_offset, self._config.index_interval_bytes
        )
        last = max((number for number, source in enumerate(group) if source.size), default=0)
        counts = self.statistics
        for number, source in enumerate(group):
            position, end_offset = 0, self._ends[source.base_offset]
            for located in batches_of(self._disk, source, end_offset, self._read_bytes):
                before, read = cleaned.size, 0
                for buf, start, end in located:
                    read += end - start
                    counts.records_read += int(read_i32_be(buf, start + RECORD_COUNT_AT))
                    ends = number == last and position + read == source.size
                    batch = judge.what_remains(buf, start, end, ends)
                    if batch is not GONE:
                        cleaned.add(batch)
                cleaned.add_aborted(transactions.take_kept())
                position += read
                counts.read_bytes += read
                counts.written_bytes += cleaned.size - before
                yield read + cleaned.size - before
        cleaned.finish(max(self._disk.changed_ms(source.path) for source in group))
        self._writing = None
        self._done.append(Cleaned(self.job.directory, group, cleaned.size, self.job.generation))
        yield 0
