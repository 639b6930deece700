"""The coordinator runtime: one shard per partition of a coordinator's topic, driven by the node core.

The node core tells it which partitions it leads (`on_elected`, `on_resigned`), how far they are committed
(`on_high_watermark`), when the log took appends back (`on_append_failed`), and when a wake-up ends (`flush`). A facade
such as `groups.GroupCoordinator` schedules writes and reads. Promises: an answer leaves only when everything it is
based on is committed; a failed append leaves no trace; after `on_resigned` every waiting answer has been given.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from tapelog.base.timers import Timers
from tapelog.coordinators.gate import TransactionGuard
from tapelog.coordinators.loading import Loading
from tapelog.coordinators.outcome import CoordinatorLog, Machine, Outcome, ShardContext, edge_code
from tapelog.coordinators.rewrite import GROWTH, REWRITE_BYTES_MIN, Rewrite
from tapelog.coordinators.shard import Shard
from tapelog.wire.errors import ErrorCode, KafkaError

M = TypeVar("M", bound=Machine)
R = TypeVar("R")

log = logging.getLogger(__name__)

BATCH_BYTES_MAX: Final = 512 * 1024
LOAD_BYTES_MAX: Final = 256 * 1024
COMMIT_TIMEOUT_MS: Final = 5000


class Runtime(Generic[M]):
    """Shards by partition, and the queue through which all their answers leave."""

    def __init__(
        self,
        coordinator_log: CoordinatorLog,
        timers: Timers,
        build: Callable[[ShardContext], M],
        *,
        batch_bytes_max: int = BATCH_BYTES_MAX,
        load_bytes_max: int = LOAD_BYTES_MAX,
        commit_timeout_ms: int = COMMIT_TIMEOUT_MS,
        rewrite_bytes_min: int = REWRITE_BYTES_MIN,
    ) -> None:
        self.log = coordinator_log
        self.timers = timers
        self._build = build
        self._batch_bytes_max = batch_bytes_max
        self._load_bytes_max = load_bytes_max
        self._commit_timeout_ms = commit_timeout_ms
        self._rewrite_bytes_min = rewrite_bytes_min
        self._shards: dict[int, Shard[M]] = {}
        self._rewrites: dict[int, Rewrite] = {}
        self._dirty: dict[int, Shard[M]] = {}
        self._loading: deque[Loading] = deque()
        self._load_armed = False
        self._loaded_bytes = 0
        self._outbox: deque[Callable[[], None]] = deque()
        self._draining = False

    # -- what the node core calls

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """This node leads the partition from now on: replay its log, a bounded piece per wake-up, then serve it.

        One partition is loaded after the other: each is served as early as it can be, and no wake-up takes long.
        """
        if partition in self._shards:
            self.on_resigned(partition)
        shard = Shard(
            partition,
            self.log,
            self.timers,
            self._outbox.append,
            self._build,
            self._batch_bytes_max,
            self._commit_timeout_ms,
            self._mark_dirty,
            leader_epoch,
        )
        self._shards[partition] = shard
        log.debug("loading coordinator partition %d in epoch %d", partition, leader_epoch)
        self._loading.append(Loading(shard, self._load_bytes_max))
        if not self._load_armed:
            self._load()
        self._drain()

    def on_resigned(self, partition: int) -> None:
        """This node does not lead the partition any more: fail whoever waits, forget the state."""
        shard = self._shards.pop(partition, None)
        self._dirty.pop(partition, None)
        self._rewrites.pop(partition, None)
        if shard is not None:
            shard.close()
        self._drain()

    def on_high_watermark(self, partition: int, offset: int) -> None:
        """Records of the partition below offset are committed."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.on_high_watermark(offset)
            self._drain()

    def on_append_failed(self, partition: int, end_offset: int, code: ErrorCode) -> None:
        """Appends that had been accepted were taken back (a full disk): the log ends at end_offset again."""
        shard = self._shards.get(partition)
        if shard is not None:
            self._dirty.pop(partition, None)
            shard.take_back(end_offset, edge_code(code))
            self._rewrites.pop(partition, None)
            self._drain()

    def flush(self) -> None:
        """The wake-up ends: append one batch per shard that has records, and give every answer that is due."""
        self._loaded_bytes = 0
        self._drain()
        while self._dirty:
            dirty, self._dirty = self._dirty, {}
            for shard in dirty.values():
                shard.flush()
                self._consider_rewrite(shard)
            self._drain()

    # -- what a facade calls

    def write(
        self,
        partition: int,
        operation: Callable[[M], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
    ) -> None:
        """Run operation on the partition's machine. Calls done when its records are committed, or failed; once."""
        try:
            shard = self._serving(partition)
        except KafkaError as error:
            failed(error.code)
            return
        shard.write(operation, done, failed)
        self._drain()

    def write_transactional(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        operation: Callable[[M], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
        guard: TransactionGuard | None = None,
    ) -> None:
        """Like write; the records become a transactional batch of that producer, apart from all others.

        With a guard: fails with INVALID_TXN_STATE if the transaction ended since the guard was taken, and with
        NOT_COORDINATOR if the partition was led elsewhere meanwhile.
        """
        try:
            shard = self._serving(partition)
            if guard is not None and not shard.guards.let_go(guard):
                raise KafkaError(ErrorCode.INVALID_TXN_STATE if guard.broken else ErrorCode.NOT_COORDINATOR)
        except KafkaError as error:
            failed(error.code)
            return
        shard.write_transactional(producer_id, producer_epoch, operation, done, failed)
        self._drain()

    def end_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        done: Callable[[None], None],
        failed: Callable[[ErrorCode], None],
        transaction_version: int = 0,
    ) -> None:
        """Write the marker that ends the producer's transaction here. Calls done when it is committed, or failed."""
        try:
            shard = self._serving(partition)
        except KafkaError as error:
            failed(error.code)
            return
        shard.end_transaction(producer_id, producer_epoch, coordinator_epoch, commit, done, failed, transaction_version)
        self._drain()

    def guard(self, partition: int, producer_id: int, producer_epoch: int) -> TransactionGuard:
        """To be taken before the gate is asked, for `write_transactional` or `let_go`. KafkaError as for read."""
        return self._serving(partition).guards.hold(producer_id, producer_epoch)

    def let_go(self, partition: int, guard: TransactionGuard) -> None:
        """The gate refused: there will be no write."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.guards.let_go(guard)

    def read(self, partition: int, query: Callable[[M], R]) -> R:
        """Ask the partition's machine. NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS if it cannot be asked."""
        return query(self._serving(partition).machine)

    def partitions(self) -> list[int]:
        """The partitions this node coordinates or is loading, in order."""
        return sorted(self._shards)

    @property
    def busy(self) -> bool:
        """There are answers to give or records to append: flush has work."""
        return bool(self._outbox or self._dirty)

    def post(self, answer: Callable[[], None]) -> None:
        """Queue an answer behind those already due."""
        self._outbox.append(answer)

    def flush_answers(self) -> None:
        """Give every answer that is due."""
        self._drain()

    def machine(self, partition: int) -> M | None:
        """The machine of a partition that is being served; for tests and inspection."""
        shard = self._shards.get(partition)
        return shard.machine if shard is not None and shard.active else None

    # -- inside

    def _serving(self, partition: int) -> Shard[M]:
        shard = self._shards.get(partition)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if not shard.active:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def _mark_dirty(self, shard: Shard[M]) -> None:
        self._dirty[shard.partition] = shard

    def _load(self) -> None:
        """Go on loading, one partition after the other, up to the bound of a wake-up; the rest waits for the next."""
        self._load_armed = False
        while self._loading and self._loaded_bytes < self._load_bytes_max:
            loading = self._loading[0]
            self._loaded_bytes += loading.step()
            if loading.finished:
                self._loading.popleft()
                if loading.succeeded:
                    self._on_loaded(loading.shard)
        if self._loading:
            self._load_armed = True
            self.timers.after(0, self._load_next)

    def _load_next(self) -> None:
        self._loaded_bytes = 0
        self._load()

    def _on_loaded(self, shard: Shard[M]) -> None:
        shard.active = True
        shard.machine.on_loaded()
        written = shard.next_offset - self.log.start_offset(shard.partition)
        if written:
            shard.live_bytes = shard.appended_bytes * min(shard.machine.live_count(), written) // written
        self._consider_rewrite(shard)

    def _consider_rewrite(self, shard: Shard[M]) -> None:
        if not shard.active or shard.appended_bytes <= max(self._rewrite_bytes_min, GROWTH * shard.live_bytes):
            return
        rewrite = self._rewrites.get(shard.partition)
        if rewrite is None or rewrite.finished:
            self._rewrites[shard.partition] = Rewrite(shard)
            self._rewrites[shard.partition].start()

    def _drain(self) -> None:
        """Give the answers that are due, in order; answers may lead to new requests, whose answers queue up behind."""
        if self._draining:
            return
        self._draining = True
        try:
            while self._outbox:
                answer = self._outbox.popleft()
                try:
                    answer()
                except Exception:
                    log.exception("giving a coordinator's answer failed")
        finally:
            self._draining = False
