"""What of a log is worth cleaning, and which of its segments become one: pure, from sizes, timestamps and offsets.

Kafka's rules. The node asks `plan` for each compacted log now and then, takes the filthiest, and hands its plan to a
Cleaning. Offsets below `first_dirty` have been cleaned before: a key occurs there once at most.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tapelog.log.config import LONG_MAX, LogConfig
from tapelog.log.index import OFFSET_ENTRY, TIME_ENTRY
from tapelog.log.log import RELATIVE_MAX
from tapelog.log.stored import StoredLog

UNKNOWN: Final = -1


class Source(NamedTuple):
    """What is known of one segment; the last one of a log is the one being appended to."""

    base_offset: int
    size: int
    path: str = ""
    newest_timestamp: int = UNKNOWN
    first_timestamp: int = UNKNOWN
    index_bytes: int = 0
    time_index_bytes: int = 0


class Bounds(NamedTuple):
    """How far a log may be cleaned at all."""

    start_offset: int
    end_offset: int
    last_stable_offset: int
    """Everything below belongs to no transaction that is still undecided, and is below the high watermark."""
    recovery_point: int
    """As it is on disk: what lies above is checked batch by batch after a crash, and is left alone until then."""


class CleaningPlan(NamedTuple):
    """Clean [first_dirty, first_uncleanable), and everything before it once more."""

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    overdue_ms: int
    """For how long max.compaction.lag.ms has been exceeded; 0 if it has not."""
    reset: bool
    """The checkpoint was of no use: the caller records first_dirty in its place."""

    @property
    def ratio(self) -> float:
        """Which part of the bytes is dirty; the log with the greatest is cleaned first."""
        return self.dirty_bytes / (self.clean_bytes + self.dirty_bytes)


def sources(log: StoredLog, *, brief: bool = False) -> list[Source]:
    """A log's segments, as a job needs them: with the sizes of their indexes; brief: as `plan` does, with timestamps
    where it asks for them, which for most logs touches no file. Leaves no files open that were not."""
    config = log.config
    lagging = brief and config.min_compaction_lag_ms > 0
    limited = brief and config.max_compaction_lag_ms != LONG_MAX
    found = []
    for segment in log.segments.items:
        was_open = segment.has_open_files() or segment is log.active
        found.append(
            Source(
                segment.base_offset,
                segment.size,
                segment.path,
                segment.newest_timestamp() if lagging else UNKNOWN,
                segment.first_timestamp() if limited else UNKNOWN,
                0 if brief else segment.index.count() * OFFSET_ENTRY,
                0 if brief else segment.time_index.count() * TIME_ENTRY,
            )
        )
        if not was_open:
            segment.release()
    return found


def plan(
    segments: list[Source], config: LogConfig, bounds: Bounds, checkpoint: int | None, now_ms: int
) -> CleaningPlan | None:
    """What to clean of a log that was cleaned up to checkpoint (None: never); None if it is not worth it."""
    first_dirty, reset = _first_dirty(bounds, checkpoint)
    dirty = segments[_containing(segments, first_dirty) : -1]
    limit = min(bounds.last_stable_offset, bounds.recovery_point, segments[-1].base_offset)
    lag_ms = config.min_compaction_lag_ms
    if lag_ms > 0:
        for source in dirty:
            if source.newest_timestamp > now_ms - lag_ms:
                limit = min(limit, source.base_offset)
                break
    limit = max(limit, first_dirty)
    first_uncleanable = segments[_containing(segments, limit)].base_offset
    dirty_bytes = sum(source.size for source in dirty if source.base_offset < first_uncleanable)
    clean_bytes = sum(source.size for source in segments[:-1] if source.base_offset < first_dirty)
    overdue_ms = _overdue_ms(dirty, config.max_compaction_lag_ms, now_ms)
    found = CleaningPlan(first_dirty, first_uncleanable, clean_bytes, dirty_bytes, overdue_ms, reset)
    if dirty_bytes == 0 or first_uncleanable <= first_dirty:
        return None
    return found if overdue_ms > 0 or found.ratio > config.min_cleanable_dirty_ratio else None


def _first_dirty(bounds: Bounds, checkpoint: int | None) -> tuple[int, bool]:
    """Where the dirty part begins, and whether that contradicts the checkpoint."""
    if checkpoint is None:
        return bounds.start_offset, False
    if bounds.start_offset <= checkpoint <= bounds.end_offset:
        return checkpoint, False
    return bounds.start_offset, True


def _containing(segments: list[Source], offset: int) -> int:
    """Number of the segment that holds an offset; the first if it lies before all of them."""
    number = len(segments) - 1
    while number > 0 and segments[number].base_offset > offset:
        number -= 1
    return number


def _overdue_ms(dirty: list[Source], max_lag_ms: int, now_ms: int) -> int:
    """For how long the oldest dirty segment should have been cleaned already."""
    stamps = [source.first_timestamp for source in dirty if source.first_timestamp > 0]
    return max(0, now_ms - max(max_lag_ms, 0) - min(stamps)) if stamps else 0


def groups(segments: list[Source], config: LogConfig, end_offset: int) -> list[list[Source]]:
    """Neighbours that become one segment each: as many as fit segment.bytes, the indexes, and offsets of 31 bits.
    end_offset: where the last of them ends."""
    found: list[list[Source]] = []
    size = index_bytes = time_bytes = 0
    for number, source in enumerate(segments):
        end = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        fits = (
            bool(found)
            and size + source.size <= config.segment_bytes
            and index_bytes + source.index_bytes <= config.segment_index_bytes
            and time_bytes + source.time_index_bytes <= config.segment_index_bytes
            and (source.size == 0 or end - 1 - found[-1][0].base_offset <= RELATIVE_MAX)
        )
        if fits:
            found[-1].append(source)
        else:
            found.append([source])
            size = index_bytes = time_bytes = 0
        size += source.size
        index_bytes += source.index_bytes
        time_bytes += source.time_index_bytes
    return found
