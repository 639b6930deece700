"""One partition of a coordinator's topic: run an operation, append its records, replay them, park its answer.

The runtime owns the shards; only `core.Runtime` calls them. An operation's records are replayed at once, so the next
operation sees them, and wait in a batch for the end of the wake-up (`flush`). What belongs to a transaction is appended
at once, behind what was collected, as a batch of its own. The answer is parked under the log's next offset and leaves
when the high watermark gets there. If the append fails, everything back to the last good offset is taken back and the
answers that depended on it become errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tapelog.base.timers import Timers
from tapelog.coordinators.deadlines import Deadlines
from tapelog.coordinators.gate import Guards
from tapelog.coordinators.outcome import CoordinatorLog, CoordinatorRecord, Machine, Outcome, ShardContext, edge_code
from tapelog.coordinators.parking import Parking
from tapelog.wire.control_records import ended_epoch, marker_batch
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Record, build_batch

M = TypeVar("M", bound=Machine)
R = TypeVar("R")

log = logging.getLogger(__name__)

RECORD_OVERHEAD_BYTES: Final = 24
"""More than a record costs in a batch beside its key and value."""

ATOMIC_BATCHES_MAX: Final = 8
"""An outcome that is written whole or not at all may be as large as this many ordinary batches: a group of thousands
that changes its kind."""


class Shard(Generic[M]):
    """A loaded shard with its machine, its unwritten batch and its parked answers."""

    def __init__(
        self,
        partition: int,
        coordinator_log: CoordinatorLog,
        timers: Timers,
        post: Callable[[Callable[[], None]], None],
        build: Callable[[ShardContext], M],
        batch_bytes_max: int,
        commit_timeout_ms: int,
        on_dirty: Callable[[Shard[M]], None],
        leader_epoch: int = -1,
    ) -> None:
        self.partition = partition
        self.active = False
        self.closed = False
        self.log = coordinator_log
        self.timers = timers
        self.deadlines = Deadlines(timers)
        self.batch_bytes_max = batch_bytes_max
        self.atomic_bytes_max = ATOMIC_BATCHES_MAX * batch_bytes_max
        self.high_watermark = 0
        self.next_offset = 0
        self.appended_bytes = 0
        self.live_bytes = 0
        """About how much of the log a fresh one would need, when that was last known."""
        self._post = post
        self._on_dirty = on_dirty
        self._batch: list[Record] = []
        self._batch_bytes = 0
        self._parking = Parking(timers, self.deadlines, commit_timeout_ms)
        self.guards = Guards()
        self.machine = build(ShardContext(partition, timers.clock, self.deadlines, post, self._submit, leader_epoch))

    # -- operations

    def write(
        self,
        operation: Callable[[M], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
    ) -> None:
        """Run operation now; done or failed is posted once, when its records are committed or cannot be."""
        outcome = self._run(operation, failed)
        if outcome is not None:
            self._park(outcome, done, failed, self._collect(outcome))

    def write_transactional(
        self,
        producer_id: int,
        producer_epoch: int,
        operation: Callable[[M], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
    ) -> None:
        """Like write, for records of a producer's transaction: they are appended now, behind what was collected."""
        self._on_dirty(self)
        self.flush()  # first, so that the operation does not see what cannot be appended
        outcome = self._run(operation, failed)
        if outcome is not None:
            self._park(outcome, done, failed, self._append_apart(outcome.records, producer_id, producer_epoch))

    def end_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        done: Callable[[None], None],
        failed: Callable[[ErrorCode], None],
        transaction_version: int = 0,
    ) -> None:
        """Append the marker and apply it, behind what was collected."""
        self._on_dirty(self)
        self.flush()
        self.guards.break_up_to(producer_id, ended_epoch(producer_epoch, transaction_version))
        offset = self.next_offset
        self.machine.end_transaction(offset, producer_id, commit)
        self.next_offset += 1
        marker = marker_batch(
            commit=commit,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=self.timers.clock.wall_ms(),
        )
        code = self._append(lambda: marker, offset)
        self._park(Outcome([], None), done, failed, code)

    def _run(self, operation: Callable[[M], Outcome[R]], failed: Callable[[ErrorCode], None]) -> Outcome[R] | None:
        try:
            return operation(self.machine)
        except KafkaError as error:
            code = edge_code(error.code)
        except Exception:
            log.exception("a coordinator operation failed on partition %d", self.partition)
            code = ErrorCode.UNKNOWN_SERVER_ERROR
        self._post(lambda: failed(code))
        return None

    def _park(
        self,
        outcome: Outcome[R],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
        code: ErrorCode,
    ) -> None:
        """Finish at once if the records were refused or nothing is open; otherwise when the log is committed so far."""
        if code != ErrorCode.NONE or (not self._batch and self.high_watermark >= self.next_offset):
            self._finish(outcome, done, failed, code)
        else:
            self._parking.park(self.next_offset, lambda code: self._finish(outcome, done, failed, code))

    def _finish(
        self,
        outcome: Outcome[R],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
        code: ErrorCode,
    ) -> None:
        if code == ErrorCode.NONE:
            if outcome.committed is not None:
                outcome.committed()
            response = outcome.response
            self._post(lambda: done(response))
        else:
            if outcome.failed is not None:
                outcome.failed(code)
            self._post(lambda: failed(code))

    def _submit(self, operation: Callable[[], Outcome[None]]) -> None:
        """An operation the machine wants for itself: a deadline that passed, or a follow-up."""
        self._post(lambda: self._run_own(operation))

    def _run_own(self, operation: Callable[[], Outcome[None]]) -> None:
        if self.active:
            self.write(lambda _: operation(), _ignore, _ignore)

    # -- records

    def _collect(self, outcome: Outcome[R]) -> ErrorCode:
        """Replay and batch the records of an outcome; NONE, or why none (or, not atomic, not all) of them will do."""
        if not outcome.records:
            return ErrorCode.NONE
        now_ms = self.timers.clock.wall_ms()
        encoded = self._encode(outcome.records)
        if encoded is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        sizes = [_size(key, value) for key, value in encoded]
        if outcome.atomic and sum(sizes) > self.atomic_bytes_max:
            return edge_code(ErrorCode.RECORD_LIST_TOO_LARGE)
        needed = sum(sizes) if outcome.atomic else 0
        for record, (key, value), size in zip(outcome.records, encoded, sizes, strict=True):
            needed = needed if outcome.atomic else size
            if needed and self._batch and self._batch_bytes + needed > self.batch_bytes_max:
                code = self.flush()
                if code != ErrorCode.NONE:
                    return code
            needed = 0
            self.machine.replay(self.next_offset, record)
            self.next_offset += 1
            self._batch.append(Record(0, now_ms, key, value))
            self._batch_bytes += size
        self._on_dirty(self)
        return ErrorCode.NONE

    def _append_apart(self, records: list[CoordinatorRecord], producer_id: int, producer_epoch: int) -> ErrorCode:
        """Replay and append the records as one batch of the producer's transaction."""
        if not records:
            return ErrorCode.NONE
        now_ms = self.timers.clock.wall_ms()
        encoded = self._encode(records)
        if encoded is None:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        if sum([_size(key, value) for key, value in encoded]) > self.atomic_bytes_max:
            return edge_code(ErrorCode.RECORD_LIST_TOO_LARGE)
        start_offset = self.next_offset
        for record in records:
            self.machine.replay(self.next_offset, record, producer_id)
            self.next_offset += 1
        batch = [Record(0, now_ms, key, value) for key, value in encoded]
        return self._append(lambda: _build(batch, producer_id, producer_epoch), start_offset)

    def _encode(self, records: list[CoordinatorRecord]) -> list[tuple[bytes, bytes | None]] | None:
        try:
            return [self.machine.encode(record) for record in records]
        except WireError:
            log.exception("a record of partition %d cannot be written", self.partition)
            return None

    # -- the log

    def flush(self) -> ErrorCode:
        """Append what this wake-up collected, as one batch. On failure all of it is taken back."""
        if not self._batch:
            return ErrorCode.NONE
        batch = self._batch
        code = self._append(lambda: _build(batch), self.next_offset - len(batch))
        if code == ErrorCode.NONE:
            self._batch = []
            self._batch_bytes = 0
        return code

    def _append(self, build: Callable[[], bytes], start_offset: int) -> ErrorCode:
        """Append the batch of what was replayed from start_offset on. On failure that is taken back."""
        try:
            batch = build()
            end_offset = self.log.append(self.partition, batch)
        except KafkaError as error:
            code = edge_code(error.code)
            self.take_back(start_offset, code)
            return code
        except Exception:
            log.exception("appending to partition %d failed", self.partition)
            self.take_back(start_offset, ErrorCode.UNKNOWN_SERVER_ERROR)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        assert end_offset == self.next_offset, "nobody else writes to a coordinator's partition"
        self.appended_bytes += len(batch)
        return ErrorCode.NONE

    def take_back(self, offset: int, code: ErrorCode) -> None:
        """The log ends at offset: undo what was replayed beyond it and fail the answers that depend on it."""
        if offset >= self.next_offset:
            return
        self._batch = []
        self._batch_bytes = 0
        self.next_offset = offset
        self.machine.revert(offset, code)
        self._parking.fail_above(offset, code)

    def on_high_watermark(self, offset: int) -> None:
        """Records below offset are committed: their answers leave."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        self.machine.commit(offset)
        self._parking.release(offset)

    def close(self) -> None:
        """Not ours any more: everyone who waits hears NOT_COORDINATOR."""
        self.active = False
        self.closed = True
        self.deadlines.clear()
        self.machine.on_unloaded()
        self._batch = []
        self._parking.fail_all(ErrorCode.NOT_COORDINATOR)

    @property
    def parked(self) -> int:
        """How many answers wait."""
        return len(self._parking)


def _build(records: list[Record], producer_id: int = NO_PRODUCER_ID, producer_epoch: int = NO_PRODUCER_EPOCH) -> bytes:
    transactional = producer_id != NO_PRODUCER_ID
    return build_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, transactional=transactional)


def _size(key: bytes, value: bytes | None) -> int:
    return len(key) + len(value or b"") + RECORD_OVERHEAD_BYTES


def _ignore(_: object) -> None:
    """Nobody waits for this answer."""
