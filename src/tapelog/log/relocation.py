"""Another directory for an open log: its files are copied while it is in use, and then it goes on with the copies.

`Relocation` is the copy in the making, a directory `<topic>-<partition>.<token>-future`. `next_step` says on the loop
what is to be copied, `Step.run` does it on a thread. When next to nothing is missing, `complete` copies the rest, and
`install` puts the copy in the place of the log; both on the loop, blocking, with nothing appended in between. A crash
at any moment leaves the log as it was, or the copy in its place with everything the log had:

- to another directory: the copy gets its plain name there, then the old files go. In between there are two equal
  copies; a file in the newer one (FUTURE_COMPLETE) tells a start that it may go.
- within one directory: the old files go first. That file, durable before, tells a start that the copy is whole, and
  counts if there is no other (`ownership.clear_away`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tapelog.base.ports import Disk, DiskError
from tapelog.log import names
from tapelog.log.checkpoints import TopicPartition, render_epochs, render_partition_metadata
from tapelog.log.compaction import swap
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory
from tapelog.log.ownership import REPLACES_ELSEWHERE, REPLACES_IN_PLACE
from tapelog.log.segment import Segment
from tapelog.log.snapshots import render_snapshot

STEP_BYTES: Final = 4 << 20
PIECE_BYTES: Final = 1 << 20
INDEXES: Final = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)


class Step:
    """Batches [begin, end) of one segment; with `whole` its indexes as well. Done, it is durable: a sync of much more
    would be the loop's, at the end, and others on that disk would wait behind it."""

    def __init__(self, owner: Relocation, base: int, begin: int, end: int, whole: bool) -> None:
        self.base = base
        self.begin = begin
        self.end = end
        self.whole = whole
        self._source, self._from_dir = owner.log.disk, owner.log.directory
        self._target, self._to_dir = owner.home.disk, owner.path

    def run(self) -> None:
        """Copy. Blocks. DiskError, or FileNotFoundError if the segment has gone."""
        name = names.offset_name(self.base, names.LOG)
        make_directory(self._target, self._to_dir)
        source = self._source.open(f"{self._from_dir}/{name}")
        target = self._target.open(f"{self._to_dir}/{name}", create=True)
        try:
            if target.size() > self.begin:
                target.truncate(self.begin)
            position = self.begin
            while position < self.end:
                piece = source.read(position, min(PIECE_BYTES, self.end - position))
                if not piece:
                    raise FileNotFoundError(source.path)
                target.write([piece])
                position += len(piece)
            target.sync()
        finally:
            source.close()
            target.close()
        if self.whole:
            for suffix in (*INDEXES, names.SNAPSHOT):
                copy_file(
                    self._source, self._from_dir, self._target, self._to_dir, names.offset_name(self.base, suffix)
                )


def make_directory(disk: Disk, path: str) -> None:
    """For a copy, durably: a start sees that a move was under way. Blocks if there is none yet."""
    if not disk.exists(path):
        disk.mkdir(path)
        disk.sync_dir(path.rpartition("/")[0])


def copy_file(source: Disk, from_dir: str, target: Disk, to_dir: str, name: str) -> None:
    """Copy a small file durably, if there is one. Blocks."""
    try:
        data = source.read_file(f"{from_dir}/{name}")
    except FileNotFoundError:
        return
    target.write_file(f"{to_dir}/{name}", data)
    file = target.open(f"{to_dir}/{name}")
    file.sync()
    file.close()


class Relocation:
    """See the module. Begins with an empty directory; or, with `first`, with what lies below that offset in it."""

    def __init__(self, log: Log, source: LogDirectory, home: LogDirectory, first: int = -1) -> None:
        self.log = log
        self.source = source
        self.home = home
        self.path = f"{home.path}/{names.future_dir(log.topic, log.partition, home.entropy.token(16))}"
        self._made_of = (log.generation, log.mends)
        self.first = first
        self.copied_bytes = 0
        self._have: dict[int, int] = {}
        self._whole_below = first

    @property
    def key(self) -> TopicPartition:
        """Of the partition."""
        return self.log.topic, self.log.partition

    @property
    def outdated(self) -> bool:
        """Whether the log was cut, or mended, since: what was copied may not be what it has."""
        return (self.log.generation, self.log.mends) != self._made_of

    def next_step(self) -> Step | None:
        """What is to be copied next; None if nothing is missing now."""
        for segment in self._segments():
            have = self._have.get(segment.base_offset, 0)
            sealed = segment is not self.log.active
            if have < segment.size or sealed:
                end = min(segment.size, have + STEP_BYTES)
                return Step(self, segment.base_offset, have, end, sealed and end == segment.size)
        return None

    def stepped(self, step: Step) -> None:
        """It was done."""
        self._have[step.base] = step.end
        self.copied_bytes += step.end - step.begin
        if step.whole:
            self._whole_below = step.base + 1
            del self._have[step.base]

    def missing_bytes(self) -> int:
        """What is not copied yet, of batches."""
        return sum(segment.size - self._have.get(segment.base_offset, 0) for segment in self._segments())

    def missing_segments(self) -> int:
        """How many segments are not whole over there: each costs some syncs, however small it is."""
        return len(self._segments())

    @property
    def end_offset(self) -> int:
        """Up to where whole segments are copied."""
        return self._segments()[0].base_offset

    def _segments(self) -> list[Segment]:
        """Those that are not whole over there."""
        segments = self.log.segments
        number = max(0, segments.floor(self._whole_below))
        found = segments.items[number:]
        return found if found[0].base_offset >= self._whole_below else found[1:]

    def settling(self) -> Callable[[], None]:
        """For a thread, before `settle_source`: what that would sync, so that little is left. DiskError."""
        log, disk = self.log, self.log.disk
        paths = [segment.path for segment in self._unsettled()]

        def sync() -> None:
            for path in paths:
                with suppress(FileNotFoundError):  # retention was quicker
                    file = disk.open(path)
                    file.sync()
                    file.close()
            with suppress(FileNotFoundError):
                disk.sync_dir(log.directory)

        return sync

    def _unsettled(self) -> list[Segment]:
        """Those of the log that may have something which is not durable."""
        segments = self.log.segments
        return segments.items[max(0, segments.floor(self.log.durable_end)) :]

    def settle_source(self) -> None:
        """Before `complete`: write and sync what the log has, so that after a power cut both have the same. Blocks.
        DiskError: the log's own directory is of no use any more. What is durable is left to the flush rounds to say:
        one of them may still be syncing files of this log, which have to be synced here all the same."""
        log = self.log
        log.write()
        swap.withdraw(log)
        ticket = log.begin_flush()
        files = ticket.files
        for segment in self._unsettled():
            files.append(segment.file())
            if segment is not log.active:
                files.extend(segment.index_files())
        for file in files:
            file.sync()
        if ticket.directory is not None:
            ticket.directory.close()
        log.disk.sync_dir(log.directory)

    def complete(self, high_watermark: int) -> None:
        """Copy what is missing, make it durable and see that it can be opened. Blocks. DiskError: the log is as it
        was."""
        log, disk, path = self.log, self.home.disk, self.path
        log.active.persist_indexes()
        while (step := self.next_step()) is not None:
            step.run()
            self.stepped(step)
        make_directory(disk, path)  # of an empty log nothing was copied
        base = log.active.base_offset
        active = disk.open(f"{path}/{names.offset_name(base, names.LOG)}", create=True)
        active.sync()
        active.close()
        for suffix in (*INDEXES, names.SNAPSHOT):
            copy_file(log.disk, log.directory, disk, path, names.offset_name(base, suffix))
        self._forget_gone()
        disk.replace_file(f"{path}/{names.LEADER_EPOCHS}", render_epochs(log.leader_epoch_cache.entries()))
        if log.topic_id is not None:
            disk.replace_file(f"{path}/{names.PARTITION_METADATA}", render_partition_metadata(log.topic_id))
        disk.replace_file(f"{path}/{names.offset_name(log.end_offset, names.SNAPSHOT)}", render_snapshot(log.producers))
        disk.sync_dir(self.home.path)
        in_place = self.source is self.home
        if in_place:
            self.home.forget_cleaned(self.key)
        else:
            self.home.foretell(log, high_watermark)
        try:
            self.home.reopened(log, path).close_files()
            # last of all: a start believes it, and what comes to nothing before is removed bit by bit
            disk.replace_file(f"{path}/{names.FUTURE_COMPLETE}", REPLACES_IN_PLACE if in_place else REPLACES_ELSEWHERE)
        except DiskError:
            if not in_place:
                self.home.forget(self.key)
            raise

    def _forget_gone(self) -> None:
        """Segments that retention has taken from the log meanwhile."""
        kept = {segment.base_offset: None for segment in self.log.segments.items}
        for name in self.home.disk.listdir(self.path):
            base = names.offset_of(name, names.LOG)
            if base is not None and base not in kept and base >= self.first:
                for suffix in (names.LOG, *INDEXES, names.SNAPSHOT):
                    self.home.disk.remove(f"{self.path}/{names.offset_name(base, suffix)}")

    def install(self) -> DiskError | None:
        """Let the log go on with the copy, right after `complete`. Blocks. DiskError: the log is as it was, and the
        directory of the copy is of no use any more. Returns what went wrong with the old files: then their directory
        is of no use any more."""
        log, source, home = self.log, self.source, self.home
        plain = f"{home.path}/{names.partition_dir(*self.key)}"
        if source is home:
            aside = self._put_away()
        home.disk.rename(self.path, plain)
        home.disk.sync_dir(home.path)
        log.adopt(home.reopened(log, plain))
        log.names_unflushed = True  # the mark goes with the next round
        mark = f"{plain}/{names.FUTURE_COMPLETE}"
        if source is not home:
            home.take_from(source, log)
            try:
                aside = self._put_away()
                source.forget(self.key)
            except DiskError as error:
                home.disk.remove(mark)
                home.disk.sync_dir(plain)  # from here on this copy has more than the other
                return error
        home.disk.remove(mark)
        disk = source.disk
        disk.start_job(lambda: disk.remove_tree(aside), _ignore)
        return None

    def _put_away(self) -> str:
        """Rename the old files, durably, so that a start removes them; returns what they are called now."""
        home = self.source
        aside = f"{home.path}/{names.delete_dir(*self.key, home.entropy.token(16))}"
        home.disk.rename(f"{home.path}/{names.partition_dir(*self.key)}", aside)
        home.disk.sync_dir(home.path)
        return aside

    def discard(self) -> None:
        """It comes to nothing: remove what was copied, in the background."""
        disk, path = self.home.disk, self.path
        disk.start_job(lambda: disk.remove_tree(path), _ignore)


def _ignore(failure: Exception | None) -> None:
    """What could not be removed is removed at the next start."""
