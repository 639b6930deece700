"""Opening a log: what its files say, and after a crash what of them is true.

Called by `Log.open` (and by truncation, to rebuild the producers). After a clean shutdown nothing is scanned. After
a crash everything below the recovery point is durable and trusted; from there on every batch must have the right
checksum and offsets, and the log ends before the first that has not. To begin at the recovery point and not at its
segment's start, a checkpoint leaves a producer snapshot of that offset and durable index entries below it; where
either is missing or does not agree with the batches, the scan begins earlier.
"""

from __future__ import annotations

from tapelog.base.ports import Disk
from tapelog.log import names
from tapelog.log.checkpoints import (
    CheckpointError,
    parse_epochs,
    parse_partition_metadata,
    render_partition_metadata,
)
from tapelog.log.compaction import swap
from tapelog.log.config import LogConfig
from tapelog.log.epochs import LeaderEpochs
from tapelog.log.producer_state import ProducerState
from tapelog.log.scan import Scan
from tapelog.log.segment import Segment, SegmentList
from tapelog.log.snapshots import SnapshotError, parse_snapshot, render_snapshot, write_snapshot


class Loaded:
    """What was found: the state with which a Log begins."""

    def __init__(self) -> None:
        self.segments = SegmentList()
        self.producers = ProducerState()
        self.epochs = LeaderEpochs()
        self.start_offset = 0
        self.end_offset = 0
        self.topic_id: bytes | None = None
        self.scanned_bytes = 0
        self.created = False
        self.checkpointed_end = 0


def load(
    disk: Disk,
    directory: str,
    config: LogConfig,
    recovery_point: int,
    start_offset: int,
    clean: bool,
    topic_id: bytes | None,
    sync: bool = True,
    local_start: int = -1,
) -> Loaded:
    """Open or create; see Log.open. sync=False leaves making the recovered tail durable to the caller."""
    loaded = Loaded()
    listing = disk.listdir(directory)
    for name in listing:
        if name.endswith((names.DELETED, names.CLEANED, names.TEMPORARY)):
            disk.remove(f"{directory}/{name}")
    listing = swap.complete(disk, directory, listing)
    bases = [base for name in listing if (base := names.offset_of(name, names.LOG)) is not None]
    _load_small_files(disk, directory, listing, loaded, topic_id)
    tiered = start_offset < local_start
    if tiered:
        bases = _without(disk, directory, listing, bases, local_start)
        if not _seeded(disk, directory, bases, local_start, loaded):
            for name in listing:  # there is nothing in it, and its leader will say again where it may begin
                if name != names.PARTITION_METADATA:
                    disk.remove(f"{directory}/{name}")
            bases, start_offset, loaded.epochs = [], 0, LeaderEpochs()
    if not bases:
        loaded.created = True
        loaded.start_offset = loaded.end_offset = loaded.checkpointed_end = start_offset
        loaded.segments.add(Segment.create(disk, directory, start_offset))
        loaded.segments.items[0].release()
        return loaded
    present = set(listing)
    for base in bases:
        path = f"{directory}/{names.offset_name(base, names.LOG)}"
        txn = names.offset_name(base, names.TXN_INDEX) in present
        loaded.segments.add(Segment(disk, directory, base, disk.file_size(path), txn))
    snapshots = snapshot_offsets(listing)
    if clean:
        for segment in loaded.segments.items[:-1]:
            if names.offset_name(segment.base_offset, names.TIME_INDEX) not in present:
                Scan(segment, loaded.producers, None).complete_indexes(config.index_interval_bytes)
    if not (clean and _load_clean(disk, directory, loaded, snapshots)):
        _recover(disk, directory, config, loaded, snapshots, recovery_point, sync, tiered)
    loaded.start_offset = start_offset if tiered else max(start_offset, bases[0])
    if loaded.start_offset > loaded.end_offset:
        _restart_at(disk, directory, loaded, loaded.start_offset)
    for offset in snapshots[:-1]:
        if offset not in bases and offset != loaded.checkpointed_end:
            disk.remove(_snapshot(directory, offset))
    for segment in loaded.segments.items:
        segment.release()
    loaded.epochs.truncate_from_end(loaded.end_offset + (loaded.start_offset == loaded.end_offset))
    loaded.epochs.truncate_from_start(loaded.start_offset)
    return loaded


def _without(disk: Disk, directory: str, listing: list[str], bases: list[int], start: int) -> list[int]:
    """Remove the segments that begin below start: those that do not are returned."""
    stems = tuple(names.offset_name(base, "") for base in bases if base < start)
    for name in listing:
        if stems and name.startswith(stems):
            disk.remove(f"{directory}/{name}")
    return [base for base in bases if base >= start]


def _seeded(disk: Disk, directory: str, bases: list[int], local_start: int, loaded: Loaded) -> bool:
    """Whether a log whose beginning only the tier has knows what it must know of it. One that is empty may have been
    about to learn it from there when the power went."""
    if not bases:
        return False
    if len(bases) > 1 or disk.file_size(f"{directory}/{names.offset_name(bases[0], names.LOG)}"):
        return True
    try:
        parse_snapshot(disk.read_file(_snapshot(directory, bases[0])))
    except (SnapshotError, FileNotFoundError):
        return False
    return loaded.epochs.epoch_for(local_start - 1) >= 0


def snapshot_offsets(listing: list[str]) -> list[int]:
    """Offsets of the producer snapshots among these names, ascending."""
    return sorted(o for name in listing if (o := names.offset_of(name, names.SNAPSHOT)) is not None)


def rebuild_producers(disk: Disk, directory: str, segments: SegmentList, producers: ProducerState, end: int) -> None:
    """The producers' state at end (the log's end), from the newest good snapshot and the batches behind it."""
    at = _restore_snapshot(disk, directory, snapshot_offsets(disk.listdir(directory)), producers, end)
    first = segments.items[0].base_offset
    _replay(segments, max(0, segments.floor(max(at, first))), len(segments.items), producers, at, end)


def _replay(segments: SegmentList, first: int, past: int, producers: ProducerState, start: int, stop: int) -> None:
    """Note the producers of batches in [start, stop) of the segments numbered [first, past)."""
    for segment in segments.items[first:past]:
        if segment.base_offset >= stop:  # what lies there is not checked yet
            break
        position = segment.position_of(max(start, segment.base_offset))
        Scan(segment, producers, None).replay_producers(position, start, stop)
    producers.commit()


def _load_small_files(disk: Disk, directory: str, listing: list[str], loaded: Loaded, topic_id: bytes | None) -> None:
    if names.LEADER_EPOCHS in listing:
        try:
            data = disk.read_file(f"{directory}/{names.LEADER_EPOCHS}")
            loaded.epochs = LeaderEpochs(parse_epochs(data, names.LEADER_EPOCHS))
        except CheckpointError:
            loaded.epochs.dirty = True  # what the batches still tell is learnt from them
    metadata = f"{directory}/{names.PARTITION_METADATA}"
    if names.PARTITION_METADATA in listing:
        try:
            loaded.topic_id = parse_partition_metadata(disk.read_file(metadata))
        except CheckpointError:
            loaded.topic_id = None
    if not listing:
        disk.mkdir(directory)
    if topic_id is not None and loaded.topic_id is None:
        disk.write_file(metadata, render_partition_metadata(topic_id))
        loaded.topic_id = topic_id


def _load_clean(disk: Disk, directory: str, loaded: Loaded, snapshots: list[int]) -> bool:
    """After a clean shutdown the indexes lead to the end. False if they do not: then it was not that clean."""
    active = loaded.segments.items[-1]
    scan = Scan(active, loaded.producers, None)
    if not scan.to_end():
        return False
    loaded.end_offset = loaded.checkpointed_end = scan.next_offset
    end = loaded.end_offset
    if snapshots and snapshots[-1] == end:
        try:
            loaded.producers.restore(parse_snapshot(disk.read_file(_snapshot(directory, end))))
            return True
        except SnapshotError:
            pass
    if loaded.segments.size_bytes():
        rebuild_producers(disk, directory, loaded.segments, loaded.producers, end)
    return True


def _recover(
    disk: Disk,
    directory: str,
    config: LogConfig,
    loaded: Loaded,
    snapshots: list[int],
    recovery_point: int,
    sync: bool,
    tiered: bool,
) -> None:
    """After a crash: trust what lies below the recovery point, check the rest, cut where it stops making sense."""
    segments, interval = loaded.segments, config.index_interval_bytes
    recovery_point = max(recovery_point, segments.items[0].base_offset)
    number = segments.floor(recovery_point)
    segment = segments.items[number]
    scan = Scan(segment, loaded.producers, loaded.epochs)
    resumable = recovery_point > segment.base_offset and recovery_point in snapshots
    if not (resumable and scan.resume_at(recovery_point)):
        if resumable:  # never again: what it relied on is about to be rebuilt
            disk.remove(_snapshot(directory, recovery_point))
            disk.sync_dir(directory)
        recovery_point = segment.base_offset
        scan.from_start()
    _forget_beyond(disk, directory, loaded, snapshots, recovery_point, tiered)
    known = _restore_snapshot(disk, directory, snapshots, loaded.producers, recovery_point)
    for older in segments.items[:number]:
        Scan(older, loaded.producers, None).complete_indexes(interval)
    if known < recovery_point:
        _replay(segments, max(0, segments.floor(known)), number + 1, loaded.producers, known, recovery_point)
        if recovery_point == segment.base_offset:
            write_snapshot(disk, _snapshot(directory, recovery_point), render_snapshot(loaded.producers))
    while True:
        whole = scan.check_rest(interval)
        loaded.scanned_bytes += scan.checked_bytes
        loaded.end_offset = scan.next_offset
        number += 1
        if not whole:
            segment.cut_file(scan.position)
            _drop(disk, directory, segments, number)
        if number == len(segments.items):
            break
        segment = segments.items[number]
        if segment.base_offset != loaded.end_offset:  # something in between was lost, and it with that
            _drop(disk, directory, segments, number)
            break
        segments.items[number - 1].seal()
        write_snapshot(disk, _snapshot(directory, segment.base_offset), render_snapshot(loaded.producers))
        scan = Scan(segment, loaded.producers, loaded.epochs)
        scan.from_start()
    loaded.producers.commit()
    loaded.checkpointed_end = min(recovery_point, loaded.end_offset)
    if sync and loaded.scanned_bytes:
        for scanned in segments.items[max(0, segments.floor(recovery_point)) :]:
            scanned.file().sync()
            if scanned is not segments.items[-1]:
                for file in scanned.index_files():
                    file.sync()
        disk.sync_dir(directory)


def _forget_beyond(
    disk: Disk, directory: str, loaded: Loaded, snapshots: list[int], recovery_point: int, tiered: bool
) -> None:
    """Producers and leader epochs from the recovery point on are learnt from the batches: what files say of them may
    be about records that were cut off since. Of what only the tier has, the files alone tell."""
    known = recovery_point > loaded.segments.items[0].base_offset or tiered
    loaded.epochs.truncate_from_end(recovery_point if known else 0)
    for offset in snapshots:
        if offset > recovery_point:
            disk.remove(_snapshot(directory, offset))


def _drop(disk: Disk, directory: str, segments: SegmentList, number: int) -> None:
    """Remove that segment and all newer ones, newest first."""
    for segment in reversed(segments.items[number:]):
        for path in segment.mark_deleted():
            disk.remove(path)
        disk.remove(_snapshot(directory, segment.base_offset))
    segments.remove_from(number)


def _restore_snapshot(disk: Disk, directory: str, offsets: list[int], producers: ProducerState, limit: int) -> int:
    """Load the newest good snapshot at or below limit; returns its offset, 0 (and no producers) if there is none."""
    for offset in reversed(offsets):
        if offset > limit:
            continue
        try:
            producers.restore(parse_snapshot(disk.read_file(_snapshot(directory, offset))))
            return offset
        except (SnapshotError, FileNotFoundError):
            disk.remove(_snapshot(directory, offset))
    producers.restore([])
    return 0


def _restart_at(disk: Disk, directory: str, loaded: Loaded, offset: int) -> None:
    """The log's start lies beyond everything found: begin there, empty."""
    _drop(disk, directory, loaded.segments, 0)
    loaded.segments.add(Segment.create(disk, directory, offset))
    loaded.producers.restore([])
    loaded.end_offset = loaded.checkpointed_end = offset


def _snapshot(directory: str, offset: int) -> str:
    return f"{directory}/{names.offset_name(offset, names.SNAPSHOT)}"
