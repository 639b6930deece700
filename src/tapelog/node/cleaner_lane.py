"""One log at a time of those that `node/cleaner` has compacted: its order, and what comes back, put in place.

A few renames at a time on the loop, a sync in the background between them: see `compaction.swap`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log.checkpoints import TopicPartition
from tapelog.log.compaction import order as orders
from tapelog.log.compaction import swap
from tapelog.log.compaction.cleaning import Cleaned, Job, job_of
from tapelog.log.compaction.order import CleaningWorker, Done, Failed, Order, Report, settings_of
from tapelog.log.compaction.plan import CleaningPlan
from tapelog.log.compaction.plan import groups as groups_of
from tapelog.log.compaction.schedule import CleanerSettings, Record
from tapelog.log.log import Log
from tapelog.node.space import reserve_of
from tapelog.replication.partition import Partition

if TYPE_CHECKING:
    from tapelog.node.cleaner import Cleaner

log = logging.getLogger("tapelog.cleaner")


class Lane:
    """See the module."""

    def __init__(self, cleaner: Cleaner, worker: CleaningWorker) -> None:
        self.cleaner = cleaner
        self.worker = worker
        self.node = cleaner.node
        self.held: Log | None = None
        """The log being cleaned."""
        self.since_ms = self.node.clock.monotonic_ms()
        """When it began, or when the last one ended."""
        self._generation = 0
        self._key: TopicPartition = ("", 0)
        self._partition: Partition
        self._record: Record
        self._groups: deque[Cleaned] = deque()
        self._installing = False
        self._turn = 0
        """Which log it is, counted: what comes back from the disk later is not for the next one."""
        self._end: Done | Failed | None = None

    def begin(self, partition: Partition, found: CleaningPlan, settings: CleanerSettings) -> None:
        """Have a log cleaned; put off if its files cannot be read."""
        held = partition.log
        self._key, self._partition = (partition.topic, partition.index), partition
        self._record = self.cleaner.schedule.record_of(self._key, held, held.config)
        try:
            job = job_of(held, found)
            fits = self._has_room(held, job)
        except (DiskError, OSError) as error:
            self.cleaner.schedule.put_off(self._record, self.node.clock.monotonic_ms())
            self.node.storage.suspect(DiskError(str(error)), held.disk)
            return
        if not fits:
            self.cleaner.schedule.put_off(self._record, self.node.clock.monotonic_ms())
            return
        self._record.under_way = True
        self.held, self._generation, self._end = held, held.generation, None
        self.since_ms = self.node.clock.monotonic_ms()
        order = Order(
            job,
            settings_of(held.config),
            settings.map_share,
            settings.load_factor,
            settings.read_bytes,
            self.node.clock.wall_ms(),
        )
        self.worker.throttle(settings.rate_share)
        self.cleaner.courtesies.begin(self, held.disk)
        self.worker.clean(order, self._told)

    def _has_room(self, held: Log, job: Job) -> bool:
        """What is written beside the old files must leave the disk's reserve alone."""
        groups = groups_of(job.segments, held.config, job.plan.first_uncleanable)
        needed = max(sum(source.size for source in group) for group in groups)
        reserve = reserve_of(self.node.setting_int("tapelog.disk.reserve.bytes"), held.disk.total_bytes())
        free = held.disk.free_bytes()
        if held.disk in self.node.hub.full or free < reserve + needed:
            self.node.dispatcher.complain(
                f"no room to compact {self._key[0]}-{self._key[1]}: {free} bytes are free, {needed} are needed beside "
                f"the reserve of {reserve}. Free some space"
            )
            return False
        return True

    @property
    def key(self) -> TopicPartition | None:
        """What it is at; None if nothing."""
        return self._key if self.held is not None else None

    def look(self) -> None:
        """Now and then: is it still worth it?"""
        held = self.held
        if held is None:
            return
        if self._partition.offline:  # a disk that hangs must not keep others waiting
            self._come_to_nothing("its directory is offline")
        elif self._installing:
            return
        elif held.closed or held.generation != self._generation:
            self._come_to_nothing("the log is gone, or was cut")
        elif held.disk in self.node.hub.full:
            self._come_to_nothing("the disk is full")
        elif held.moving:
            self._come_to_nothing("the log is being copied")
        elif not held.config.compact or held.config.hold:
            self._come_to_nothing("its topic is not to be compacted any more")

    def _told(self, report: Report) -> None:
        if isinstance(report, Cleaned):
            self._groups.append(report)
        else:
            self._end = report
        self._go_on()

    # --- putting groups in place -----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """The next group, unless one is on its way; after the last of them the end."""
        held = self.held
        if self._installing or held is None:
            return
        if self._is_unwanted(held):
            return
        if not self._groups:
            if isinstance(self._end, Done):
                self._finished(held, self._end)
            elif self._end is not None:
                self._failed(held, self._end)
            return
        self._installing = True
        turn = self._turn
        self._between_rounds(held, lambda: self._begin_swap(held, turn))

    def _is_unwanted(self, held: Log) -> bool:
        """Whether it has become so; then it is over."""
        unwanted = self._partition.offline or held.moving or not held.config.compact or held.config.hold
        if unwanted:
            self._come_to_nothing("its directory is offline, it is copied, or its topic not to be compacted any more")
        return unwanted

    def _between_rounds(self, held: Log, action: Callable[[], None]) -> None:
        """In the middle of a sync each rename may wait for the journal, and the loop with it."""
        rounds = self.node.rounds.of(held.disk)
        if rounds is None:
            action()
        else:
            rounds.between(action)

    def _begin_swap(self, held: Log, turn: int) -> None:
        """Stage the next group."""
        if self.cleaner.stopped or turn != self._turn:
            return
        self._installing = False
        if self._is_unwanted(held):
            return
        group = self._groups[0]
        try:
            swap.begin(held, group)
        except swap.StaleCleaningError as stale:
            self._come_to_nothing(str(stale))
            return
        except DiskError as error:  # nothing has changed yet
            self.node.storage.suspect(error, held.disk)
            self._come_to_nothing(str(error))
            return
        self._groups.popleft()  # from here on a restart completes it, unless the log takes it back
        self._installing = True
        disk, directory = held.disk, held.directory
        disk.start_job(lambda: disk.sync_dir(directory), lambda failure: self._staged(held, group, turn, failure))

    def _staged(self, held: Log, group: Cleaned, turn: int, failure: Exception | None) -> None:
        """The swap counts now: finish it."""
        self._between_rounds(held, lambda: self._finish_swap(held, group, turn, failure))

    def _finish_swap(self, held: Log, group: Cleaned, turn: int, failure: Exception | None) -> None:
        """Put a staged group in place, unless the log has taken it back."""
        if self.cleaner.stopped or turn != self._turn:
            return
        self._installing = False
        if self._partition.offline:
            self._come_to_nothing("its directory is offline")
            return
        if failure is not None and not held.closed:
            self._broke(failure if isinstance(failure, DiskError) else DiskError(str(failure)))
            return
        try:
            swap.finish(held, group, lambda failure: self._removed(held, failure))
        except swap.StaleCleaningError as stale:
            self._come_to_nothing(str(stale))
            return
        except DiskError as error:
            self._broke(error)
            return
        self._go_on()

    def _removed(self, held: Log, failure: Exception | None) -> None:
        """The old files are gone, or a sync before it has failed: such a disk is not believed any more."""
        full = isinstance(failure, DiskFullError)
        if isinstance(failure, DiskError) and not full and not held.closed and not self.cleaner.stopped:
            self.node.storage_broke(failure, held.disk)

    # --- how it ends -----------------------------------------------------------------------------------------------

    def _finished(self, held: Log, done: Done) -> None:
        node, counts = self.node, done.statistics
        home = node.directory.of(held.disk)
        if home is None or held.closed or held.generation != self._generation:
            self._come_to_nothing("the log was cut")
            return
        home.cleaned_offsets[self._key] = done.end_offset
        self.cleaner.schedule.finished(self._record, counts, node.clock.wall_ms())
        log.info(
            "%s-%d: compacted up to offset %d: %d of %d records stay, %.1f MB of %.1f, %d keys, "
            "%.1f s, at work %.0f %% of the time",
            *self._key,
            done.end_offset,
            counts.records_kept,
            counts.records_read,
            counts.written_bytes / 1e6,
            counts.read_bytes / 1e6,
            counts.keys,
            (node.clock.monotonic_ms() - self.since_ms) / 1000,
            100 * self.cleaner.courtesies.share_of(held.disk),
        )
        self._free(cleaned=True)

    def _failed(self, held: Log, report: Failed) -> None:
        changed = held.closed or held.generation != self._generation
        if report.kind == orders.DISK and not changed:
            self.node.storage.suspect(DiskError(report.reason), held.disk)
            self._come_to_nothing(report.reason)
        elif report.kind == orders.UNCLEANABLE and not changed:
            self.cleaner.schedule.condemned(self._record, report.reason)
            log.error(
                "%s-%d cannot be compacted and is left as it is: %s. Have a look with `tape dump`; "
                "it is tried again when the node restarts or the topic's settings change",
                *self._key,
                report.reason,
            )
            self._free(cleaned=False)
        elif report.kind == orders.DISK_FULL:
            self.node.dispatcher.complain(f"no room to compact {self._key[0]}-{self._key[1]}: {report.reason}")
            self._come_to_nothing(report.reason)
        elif report.kind == orders.DIED:
            log.warning("%s-%d: compaction was cut short: %s", *self._key, report.reason)
            self._come_to_nothing(report.reason)
        else:
            self._come_to_nothing(report.reason)

    def _come_to_nothing(self, reason: str) -> None:
        """Whatever was done is of no use; try again in a while."""
        self._give_up()
        pause_ms = self.cleaner.schedule.put_off(self._record, self.node.clock.monotonic_ms())
        log.info("%s-%d: not compacted this time (%s); again in %.0f s", *self._key, reason, pause_ms / 1000)
        self._free(cleaned=False)

    def _broke(self, error: DiskError) -> None:
        """The disk let us down."""
        held = self.held
        assert held is not None
        self._give_up()
        self.cleaner.schedule.put_off(self._record, self.node.clock.monotonic_ms())
        self._free(cleaned=False)
        self.node.storage_broke(error, held.disk)

    def _give_up(self) -> None:
        """Nothing more is written, and what waits to be put in place goes."""
        held = self.held
        assert held is not None
        if held.closed or self._partition.offline:
            self.worker.stop()  # at once: another log may have its name already, or it hangs on a disk
            return
        self.worker.abandon()
        try:
            for group in self._groups:
                swap.discard(held.disk, held.directory, group.replaced[0].base_offset)
        except DiskError:
            pass  # at the next start

    def _free(self, cleaned: bool) -> None:
        self.held = None
        self.cleaner.courtesies.end(self)
        self._installing = False
        self._turn += 1
        self._groups.clear()
        self._end = None
        self.since_ms = self.node.clock.monotonic_ms()
        self.cleaner.lane_ended(cleaned)
