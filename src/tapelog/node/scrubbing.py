"""Scrubbing: stored segments are read again, slowly, to find what a disk has changed by itself.

Goes through all sealed segments below the high watermark, directory by directory, in the background pool and at no
more than `tapelog.scrub.bytes.per.second`; a pass begins `tapelog.scrub.interval.ms` after the one before. Where it
stands is kept in each directory, so that a restart goes on there. What is damaged is told, not served any more, and
repaired by `node.repair` (ADR 0016).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import Disk, DiskError, File
from tapelog.log import names
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory
from tapelog.log.scrub import STEP_BYTES, Damage, SegmentCheck, forgiving, index_positions
from tapelog.log.scrub_checkpoint import ScrubCheckpoint
from tapelog.log.segment import FileRegion
from tapelog.node.repair import Repairs
from tapelog.wire import record_batch

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

START_MS: Final = 5_000
IDLE_MS: Final = 10_000
RECORD_MS: Final = 30_000

SUSPECTED: Final = "being looked at"

Key = tuple[str, int]


class Work:
    """One segment that is being checked."""

    def __init__(self, log: Log, number: int) -> None:
        segments = log.segments.items
        self.log = log
        self.generation = log.generation
        self.segment = segments[number]
        self.disk: Disk = log.disk
        self.path = self.segment.path
        self.index_path = log.path_of(self.segment.base_offset, names.INDEX)
        end_offset = segments[number + 1].base_offset if number + 1 < len(segments) else log.written_end
        self.check = SegmentCheck(self.segment.base_offset, self.segment.size, end_offset)
        self.read_bytes = 0
        self.unreadable: DiskError | None = None
        """Why some of it could not be read; that is damage like any other."""
        self._file: File | None = None

    def run(self) -> None:
        """On a thread: read a piece. FileNotFoundError if the segment has gone meanwhile."""
        if self._file is None:
            try:
                if self.disk.exists(self.index_path):
                    self.check.positions = index_positions(self.disk.read_file(self.index_path), self.check.size)
            except DiskError as error:
                self.unreadable = error
            self._file = self.disk.open(self.path)
        self.read_bytes = self.check.step(forgiving(self._file.read_cold, self._failed), STEP_BYTES)

    def _failed(self, error: DiskError) -> None:
        self.unreadable = error

    def stands(self) -> bool:
        """Whether the log still has the segment that was read."""
        log = self.log
        return not log.closed and log.generation == self.generation and self.segment in log.segments.items


class Scrubbing:
    """See the module."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.repairs = Repairs(node)
        self.found = 0
        """Damaged ranges since the start."""
        self.passes = 0
        self.checked_bytes = 0
        self._checkpoints: dict[str, ScrubCheckpoint] = {}
        self._keys: dict[str, list[Key]] = {}
        self._stopped = False
        self._recorded_ms = 0

    def start(self) -> None:
        """Begin; called once the node serves."""
        self._recorded_ms = self.node.clock.monotonic_ms()
        self.node.timers.after(START_MS, self._go_on)

    def stop(self) -> None:
        """No more work after this."""
        self._stopped = True

    def _go_on(self) -> None:
        """Take up the next segment, or wait."""
        if self._stopped or self.node.failure is not None:
            return
        work = self._next() if self.node.setting_int("tapelog.scrub.bytes.per.second") > 0 else None
        if work is None:
            self.node.timers.after(IDLE_MS, self._go_on)
        else:
            self._step(work)

    def _step(self, work: Work) -> None:
        work.disk.start_job(work.run, lambda failure: self._stepped(work, failure))

    def _stepped(self, work: Work, failure: Exception | None) -> None:
        if self._stopped:
            return
        if failure is not None:
            if isinstance(failure, DiskError) and work.stands():
                self.node.storage.suspect(failure, work.disk)
                self._pass_over(work)
            self.node.timers.after(1, self._go_on)
            return
        if work.unreadable is not None and work.stands():
            self.node.storage.suspect(work.unreadable, work.disk)
            work.unreadable = None
        self.checked_bytes += work.read_bytes
        rate = max(1, self.node.setting_int("tapelog.scrub.bytes.per.second"))
        wait_ms = 1 + work.read_bytes * 1000 // rate
        if work.check.done:
            self._finished(work)
            self.node.timers.after(wait_ms, self._go_on)
        else:
            self.node.timers.after(wait_ms, lambda: self._again(work))

    def _again(self, work: Work) -> None:
        if work.stands() and not self._stopped:
            self._step(work)
        else:
            self._go_on()

    def _finished(self, work: Work) -> None:
        if not work.stands():
            return
        for damage in work.check.damage:
            self.damaged(work.log, damage)
        self._pass_over(work)

    def _pass_over(self, work: Work) -> None:
        """It was looked at, as far as that is possible: the next one."""
        home = self.node.directory.of(work.disk)
        if home is not None:
            checkpoint = self._checkpoint(home)
            checkpoint.at(work.log.topic, work.log.partition, work.check.end_offset)
            self._record(home, checkpoint, now=False)

    def damaged(self, held: Log, damage: Damage) -> None:
        """Found in a log: nobody is given that, and it is repaired if somebody else has it."""
        if any(known.overlaps(damage) for known in held.damaged):
            return
        self.found += 1
        metadata = held.topic == names.CLUSTER_METADATA  # replayed already; whoever fetches it checks it
        if not metadata:
            held.damaged.append(damage)
        log.error(
            "%s-%d is damaged on the disk: %s (segment %d in %s, from byte %d)",
            held.topic,
            held.partition,
            damage,
            damage.base_offset,
            held.directory,
            damage.position,
        )
        if not metadata:
            self.repairs.add(held, damage)

    def suspect(self, held: Log, base_offset: int | None, region: FileRegion) -> None:
        """A reader met damage in a region of that segment: nobody is given it until it is known what is damaged."""
        if base_offset is None or held.closed or any(one.reason == SUSPECTED for one in held.damaged):
            return
        number = held.segments.floor(base_offset)
        if number < 0 or held.segments.items[number].base_offset != base_offset:
            return
        work = Work(held, number)
        try:
            first = record_batch.base_offset(region.file.read(region.begin, 8), 0)
        except DiskError:
            first = base_offset
        first = first if base_offset <= first < region.next_offset else base_offset
        doubt = Damage(base_offset, region.begin, region.end, first, region.next_offset, SUSPECTED)
        held.damaged.append(doubt)
        self._look_at(work, doubt)

    def look_at(self, held: Log, offset: int) -> None:
        """Somebody could not read the segment that has this offset: see what is damaged, now."""
        number = held.segments.floor(offset)
        if number >= 0 and not held.closed:
            self._look_at(Work(held, number), None)

    def _look_at(self, work: Work, doubt: Damage | None) -> None:
        held, check = work.log, work.check

        def step() -> None:
            work.disk.start_job(work.run, stepped)

        def stepped(failure: Exception | None) -> None:
            if failure is None and not check.done and work.stands() and not self._stopped:
                step()
                return
            if doubt is not None and doubt in held.damaged:
                held.damaged.remove(doubt)
            if failure is None and work.stands():
                for damage in check.damage:
                    self.damaged(held, damage)

        step()

    # --- what is next ----------------------------------------------------------------------------------------------

    def _next(self) -> Work | None:
        now_ms = self.node.clock.wall_ms()
        interval_ms = self.node.setting_int("tapelog.scrub.interval.ms")
        for home in self.node.directory.items:
            checkpoint = self._checkpoint(home)
            if checkpoint.complete and not 0 <= now_ms - checkpoint.began_ms < interval_ms:
                checkpoint.begin(now_ms)
                self._keys.pop(home.path, None)
            if checkpoint.complete:
                continue
            work = self._next_in(home, checkpoint)
            if work is not None:
                return work
            self.passes += 1
            self._keys.pop(home.path, None)
            begun = checkpoint.topic != ""
            checkpoint.end()
            if begun:
                self._record(home, checkpoint, now=True)
        return None

    def _next_in(self, home: LogDirectory, checkpoint: ScrubCheckpoint) -> Work | None:
        keys = self._keys.get(home.path)
        if keys is None:
            keys = self._keys[home.path] = sorted(home.logs, reverse=True)
        while keys:
            key = keys[-1]
            work = self._first_of(key, checkpoint.offset_in(*key))
            if work is not None:
                return work
            keys.pop()
        return None

    def _first_of(self, key: Key, offset: int) -> Work | None:
        """The first sealed segment from an offset on that is settled: nothing of it can be cut off any more."""
        held = self.node.directory.logs.get(key)
        if held is None or held.closed:
            return None
        items = held.segments.items
        number = max(0, held.segments.floor(offset)) if offset > 0 else 0
        if number + 1 >= len(items) or items[number].base_offset < offset:
            number += 1
        if number + 1 >= len(items) or items[number + 1].base_offset > self._settled(key, held):
            return None
        return Work(held, number)

    def _settled(self, key: Key, held: Log) -> int:
        state = self.node.topics.get(key[0])
        partition = state.partitions[key[1]] if state is not None and key[1] < len(state.partitions) else None
        known = -1 if partition is None or partition.closed else partition.high_watermark
        if partition is None and self.node.metadata.partition.log is held:
            known = self.node.metadata.partition.high_watermark
        return min(known, held.checkpointed_end)

    # --- where it stands -------------------------------------------------------------------------------------------

    def _checkpoint(self, home: LogDirectory) -> ScrubCheckpoint:
        found = self._checkpoints.get(home.path)
        if found is None:
            found = ScrubCheckpoint.load(home.disk, home.path, self.node.clock.wall_ms())
            self._checkpoints[home.path] = found
        return found

    def _record(self, home: LogDirectory, checkpoint: ScrubCheckpoint, *, now: bool) -> None:
        now_ms = self.node.clock.monotonic_ms()
        if not now and now_ms - self._recorded_ms < RECORD_MS:
            return
        self._recorded_ms = now_ms
        text, path, disk = checkpoint.render(), f"{home.path}/{names.SCRUB}", home.disk
        disk.start_job(lambda: disk.replace_file(path, text), _ignore)


def _ignore(failure: Exception | None) -> None:
    """A pass that begins anew is no harm; a disk that fails is noticed elsewhere."""
