"""One partition of a coordinator's topic: run an operation, append its records, replay them, park its answer.

The runtime owns the shards; only `core.Runtime` calls them. An operation's records are replayed at once, so the next
operation sees them, and wait in a batch for the end of the wake-up (`flush`). The answer is parked under the log's
next offset and leaves when the high watermark gets there. If the append fails, everything back to the last good
offset is taken back and the answers that depended on it become errors.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tapelog.base.timers import Timers
from tapelog.coordinators.deadlines import Deadlines
from tapelog.coordinators.outcome import CoordinatorLog, CoordinatorRecord, Machine, Outcome, ShardContext, edge_code
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import Record, build_batch

M = TypeVar("M", bound=Machine)
R = TypeVar("R")

log = logging.getLogger(__name__)

RECORD_OVERHEAD_BYTES: Final = 24
"""More than a record costs in a batch beside its key and value."""

COMMIT_TIMEOUT: Final = "commit-timeout"


class Parked:
    """An answer that waits for the high watermark to reach its offset."""

    __slots__ = ("deadline_ms", "finish", "offset")

    def __init__(self, offset: int, deadline_ms: int, finish: Callable[[ErrorCode], None]) -> None:
        self.offset = offset
        self.deadline_ms = deadline_ms
        self.finish = finish


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
    ) -> None:
        self.partition = partition
        self.active = False
        self.closed = False
        self.log = coordinator_log
        self.timers = timers
        self.deadlines = Deadlines(timers)
        self.batch_bytes_max = batch_bytes_max
        self.commit_timeout_ms = commit_timeout_ms
        self.high_watermark = 0
        self.next_offset = 0
        self.appended_bytes = 0
        self._post = post
        self._on_dirty = on_dirty
        self._batch: list[Record] = []
        self._batch_bytes = 0
        self._parked: deque[Parked] = deque()
        self.machine = build(ShardContext(partition, timers.clock, self.deadlines, post, self._submit))

    # -- operations

    def write(
        self,
        operation: Callable[[M], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
    ) -> None:
        """Run operation now; done or failed is posted once, when its records are committed or cannot be."""
        try:
            outcome = operation(self.machine)
        except KafkaError as error:
            code = edge_code(error.code)
            self._post(lambda: failed(code))
            return
        except Exception:
            log.exception("a coordinator operation failed on partition %d", self.partition)
            self._post(lambda: failed(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        code = self._take(outcome)
        if code != ErrorCode.NONE:
            self._finish(outcome, done, failed, code)
        elif not self._batch and self.high_watermark >= self.next_offset:
            self._finish(outcome, done, failed, ErrorCode.NONE)
        else:
            deadline_ms = self.timers.clock.monotonic_ms() + self.commit_timeout_ms
            self._parked.append(
                Parked(self.next_offset, deadline_ms, lambda code: self._finish(outcome, done, failed, code))
            )
            self._arm_commit_timeout()

    def _take(self, outcome: Outcome[R]) -> ErrorCode:
        """Replay and batch the records of an outcome; NONE, or why none (or, not atomic, not all) of them will do."""
        if not outcome.records:
            return ErrorCode.NONE
        now_ms = self.timers.clock.wall_ms()
        try:
            encoded = [self.machine.encode(record) for record in outcome.records]
        except WireError:
            log.exception("a record of partition %d cannot be written", self.partition)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        sizes = [len(key) + len(value or b"") + RECORD_OVERHEAD_BYTES for key, value in encoded]
        if outcome.atomic and sum(sizes) > self.batch_bytes_max:
            return edge_code(ErrorCode.RECORD_LIST_TOO_LARGE)
        needed = sum(sizes) if outcome.atomic else 0
        for record, (key, value), size in zip(outcome.records, encoded, sizes, strict=True):
            if self._batch and self._batch_bytes + max(needed, size) > self.batch_bytes_max:
                code = self.flush()
                if code != ErrorCode.NONE:
                    return code
            needed = 0
            self._apply(record)
            self._batch.append(Record(0, now_ms, key, value))
            self._batch_bytes += size
        self._on_dirty(self)
        return ErrorCode.NONE

    def _apply(self, record: CoordinatorRecord) -> None:
        self.machine.replay(self.next_offset, record)
        self.next_offset += 1

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

    # -- the log

    def flush(self) -> ErrorCode:
        """Append what this wake-up collected, as one batch. On failure all of it is taken back."""
        if not self._batch:
            return ErrorCode.NONE
        start_offset = self.next_offset - len(self._batch)
        try:
            batch = build_batch(self._batch)
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
        self._batch = []
        self._batch_bytes = 0
        return ErrorCode.NONE

    def take_back(self, offset: int, code: ErrorCode) -> None:
        """The log ends at offset: undo what was replayed beyond it and fail the answers that depend on it."""
        if offset >= self.next_offset:
            return
        self._batch = []
        self._batch_bytes = 0
        self.next_offset = offset
        self.machine.revert(offset, code)
        failed: list[Parked] = []
        while self._parked and self._parked[-1].offset > offset:
            failed.append(self._parked.pop())
        for parked in reversed(failed):
            parked.finish(code)

    def on_high_watermark(self, offset: int) -> None:
        """Records below offset are committed: their answers leave."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        self.machine.commit(offset)
        while self._parked and self._parked[0].offset <= offset:
            self._parked.popleft().finish(ErrorCode.NONE)

    def close(self) -> None:
        """Not ours any more: everyone who waits hears NOT_COORDINATOR."""
        self.active = False
        self.closed = True
        self.deadlines.clear()
        self.machine.on_unloaded()
        self._batch = []
        while self._parked:
            self._parked.popleft().finish(ErrorCode.NOT_COORDINATOR)

    # -- answers that wait too long

    def _arm_commit_timeout(self) -> None:
        if COMMIT_TIMEOUT not in self.deadlines and self._parked:
            delay_ms = self._parked[0].deadline_ms - self.timers.clock.monotonic_ms()
            self.deadlines.set(COMMIT_TIMEOUT, delay_ms, self._expire_parked)

    def _expire_parked(self) -> None:
        now_ms = self.timers.clock.monotonic_ms()
        while self._parked and self._parked[0].deadline_ms <= now_ms:
            self._parked.popleft().finish(edge_code(ErrorCode.REQUEST_TIMED_OUT))
        self._arm_commit_timeout()

    @property
    def parked(self) -> int:
        """How many answers wait."""
        return len(self._parked)


def _ignore(_: object) -> None:
    """Nobody waits for this answer."""
