"""What a node does on its own, by the clock: checkpoints, retention, expiry of idle producers, metadata snapshots."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log.log import Log
from tapelog.log.manager import CHECKPOINT_BYTES, LogDirectory
from tapelog.log.segment import Segment
from tapelog.replication.partition import Partition
from tapelog.replication.traffic import look_on

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

CHECKPOINT_MS: Final = 5_000
WATCH_MS: Final = 250
PARTITIONS_PER_STEP: Final = 200
MARKS_PER_STEP: Final = 2_000
CHECKPOINT_PATIENCE_MS: Final = 30_000
"""After that the checkpoints of other directories do not wait any more for one whose disk hangs."""
LATE_MS: Final = 300_000
"""A transaction is late when it is open for this much longer than any may be: its coordinator must have lost it."""


class Housekeeping:
    """Timers of one node. Long lists are worked on a bounded piece at a time."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._checkpointed_ms = 0
        self._collecting = False
        self._batch = 0
        self._under_way = 0
        """Checkpoints: one per directory."""
        self._began_ms = 0
        self._cached_bytes = 0
        self._stopped = False

    def start(self) -> None:
        """Begin; called once the node serves."""
        node = self.node
        self._checkpointed_ms = node.hub.now_ms = node.clock.monotonic_ms()
        node.timers.after(WATCH_MS, self._watch_checkpoint)
        node.timers.after(node.setting_int("log.retention.check.interval.ms"), self._retention)
        node.timers.after(node.setting_int("producer.id.expiration.check.interval.ms"), self._producers)
        node.cleaner.start()
        node.scrubbing.start()

    def stop(self) -> None:
        """No more work after this."""
        self._stopped = True

    def _watch_checkpoint(self) -> None:
        if self._stopped:
            return
        node = self.node
        now_ms = node.clock.monotonic_ms()
        self._watch_flush(now_ms)
        look_on(node.hub, now_ms)
        node.storage.space.look()
        if node.partitions.missing:
            node.partitions.retry_missing()
        due = node.hub.uncheckpointed_bytes > CHECKPOINT_BYTES or node.pressure.checkpoint_due
        if now_ms - self._checkpointed_ms >= CHECKPOINT_MS or due:
            self._checkpointed_ms = now_ms
            self._checkpoint()
            node.metadata.log.maybe_snapshot()
        node.timers.after(WATCH_MS, self._watch_checkpoint)

    def _checkpoint(self) -> None:
        """Record what is durable, if something is new: records, or what a follower heard of its leader."""
        node = self.node
        waited_ms = node.clock.monotonic_ms() - self._began_ms
        if self._collecting or (self._under_way and waited_ms < CHECKPOINT_PATIENCE_MS):
            return
        self._collecting = True
        self._collect({}, node.partitions.all(), 0)

    def _collect(self, marks: dict[tuple[str, int], int], held: list[Partition], first: int) -> None:
        """The high watermarks, of a bounded number of partitions at a time; then the checkpoint begins."""
        if self._stopped:
            return
        after = first + MARKS_PER_STEP
        for partition in held[first:after]:
            marks[partition.topic, partition.index] = partition.high_watermark
        if after < len(held):
            self.node.timers.after(1, lambda: self._collect(marks, held, after))
            return
        for partition in held:
            if partition.closed or partition.offline:  # deleted meanwhile: a new one of that name must not inherit it
                del marks[partition.topic, partition.index]
        self._collecting = False
        self._record(self.node.partitions.with_unheld(marks))

    def _record(self, high_watermarks: dict[tuple[str, int], int]) -> None:
        node, directories = self.node, self.node.directory
        written = node.hub.uncheckpointed_bytes > 0 or node.hub.cached_bytes > 0
        node.hub.uncheckpointed_bytes = 0
        self._began_ms, self._cached_bytes = node.clock.monotonic_ms(), node.hub.cached_bytes
        self._under_way, self._batch = 0, self._batch + 1
        moved = False
        for directory in directories.every:
            share = directories.share(directory, high_watermarks)
            if written or directory.left_out or share != directory.high_watermarks or directory.cleaned_offsets_moved():
                self._under_way += directory.start_checkpoint(share, self._recorder(directory))
            moved = moved or directory.start_offsets_moved()
        if moved:
            node.start_offsets_moved(_ignore)

    def _watch_flush(self, now_ms: int) -> None:
        """The same round since the last look: a disk is slow, or hangs. Producers are not left without an answer."""
        node = self.node
        node.hub.now_ms = now_ms
        for partition in node.rounds.stuck():
            partition.expire_parked(now_ms - WATCH_MS)

    def _recorder(self, directory: LogDirectory) -> Callable[[Exception | None], None]:
        """What is called when a checkpoint of that directory has ended."""
        batch = self._batch

        def checkpointed(error: Exception | None) -> None:
            if batch == self._batch:
                self._under_way -= 1
            if batch == self._batch and not self._under_way:
                took_ms = self.node.clock.monotonic_ms() - self._began_ms
                self.node.pressure.checkpointed(self._cached_bytes, took_ms if error is None else -1)
            if isinstance(error, DiskFullError):
                self.node.dispatcher.complain(
                    f"no room for a checkpoint: {error}. The next start will read more of the logs"
                )
            elif error is not None:
                failure = error if isinstance(error, DiskError) else DiskError(str(error))
                self.node.storage_broke(failure, directory.disk)

        return checkpointed

    def _retention(self) -> None:
        if self._stopped:
            return
        node = self.node
        self._retain_metadata()
        self._in_steps(self.retain, self._announce)
        node.timers.after(node.setting_int("log.retention.check.interval.ms"), self._retention)

    def _retain_metadata(self) -> None:
        held = self.node.metadata.partition
        plan = held.log.retention_plan(self.node.clock.wall_ms(), held.high_watermark)
        if plan:
            held.log.delete_segments(plan)

    def _announce(self, keys: list[tuple[str, int]]) -> None:
        """What these partitions are about to let go of, and the tier has, is written down for all of them at once."""
        now_ms, homes = self.node.clock.wall_ms(), dict[str, tuple[LogDirectory, list[tuple[Log, list[Segment]]]]]()
        for name, index in keys:
            state = self.node.topics.get(name)
            partition = state.partitions[index] if state is not None and index < len(state.partitions) else None
            if partition is not None and not partition.closed and partition.log.config.remote:
                plan = partition.log.retention_plan(now_ms, partition.high_watermark)
                home = self.node.directory.of(partition.log.disk)
                if plan and home is not None:
                    homes.setdefault(home.path, (home, []))[1].append((partition.log, plan))
        for home, plans in homes.values():
            try:
                home.before_letting_go(plans)
            except DiskError as error:
                if not isinstance(error, DiskFullError):
                    self.node.storage_broke(error, home.disk)

    def retain(self, key: tuple[str, int]) -> None:
        """Let go of what retention or DeleteRecords has made superfluous in one partition."""
        state = self.node.topics.get(key[0])
        partition = state.partitions[key[1]] if state is not None and key[1] < len(state.partitions) else None
        if partition is None or partition.closed:
            return
        held, now_ms = partition.log, self.node.clock.wall_ms()
        plan = held.retention_plan(now_ms, partition.high_watermark)
        if plan:
            home = self.node.directory.of(held.disk) if held.config.remote else None
            if home is not None:
                home.before_letting_go([(held, plan)])
            held.delete_segments(plan)
            partition.wake_fetches()
        reads = self.node.tier_reads
        if reads is not None and not partition.leading and held.waits_for_tier(now_ms, partition.high_watermark):
            reads.learn(partition)

    def _producers(self) -> None:
        if self._stopped:
            return
        node = self.node
        self._in_steps(self._expire_one)
        node.timers.after(node.setting_int("producer.id.expiration.check.interval.ms"), self._producers)

    def _expire_one(self, key: tuple[str, int]) -> None:
        node = self.node
        held = node.directory.logs.get(key)
        if held is None:
            return
        now_ms = node.clock.wall_ms()
        held.expire_producers(now_ms, node.setting_int("producer.id.expiration.ms"))
        late = held.producers.late_transactions(now_ms, node.setting_int("transaction.max.timeout.ms") + LATE_MS)
        if late:
            node.dispatcher.complain(
                f"{key[0]}-{key[1]}: a transaction of producer {late[0]} hangs ({len(late)} such), read_committed "
                f"consumers wait at offset {held.producers.first_open_offset()}; abort it with an administrator's tool"
            )

    def _in_steps(
        self, work: Callable[[tuple[str, int]], None], before: Callable[[list[tuple[str, int]]], None] | None = None
    ) -> None:
        keys = [(partition.topic, partition.index) for partition in self.node.partitions.all()]

        def step() -> None:
            if before is not None:
                before(keys[-PARTITIONS_PER_STEP:])
            for _ in range(min(PARTITIONS_PER_STEP, len(keys))):
                key = keys.pop()
                held = self.node.directory.logs.get(key)
                try:
                    work(key)
                except DiskFullError as error:
                    self.node.dispatcher.complain(f"the disk is full: {error}")
                except DiskError as error:
                    if held is not None:
                        self.node.storage_broke(error, held.disk)
            if keys and not self._stopped:
                self.node.timers.after(1, step)

        step()


def _ignore(_: object) -> None:
    pass
