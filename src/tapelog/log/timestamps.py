"""Finding records by time: for ListOffsets. Reads batches; not on the hot path."""

from __future__ import annotations

from tapelog.log.segment import Segment
from tapelog.wire import record_batch as rb

Found = tuple[int, int, int]


def first_at_or_after(segments: list[Segment], timestamp: int, start_offset: int) -> Found | None:
    """(timestamp, offset, leader epoch) of the first record from start_offset on that is at least as late."""
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= start_offset:
            continue
        if segment.newest_timestamp() < timestamp:
            continue
        at = segment.index.lookup(max(segment.time_index.lookup(timestamp), start_offset))
        found = _in_segment(segment, at, timestamp, start_offset)
        if found is not None:
            return found
    return None


def greatest(segments: list[Segment], start_offset: int) -> Found | None:
    """(timestamp, offset, leader epoch) of the first record that has the greatest timestamp of all."""
    best: Segment | None = None
    for segment in segments:
        if segment.size and (best is None or segment.newest_timestamp() > best.newest_timestamp()):
            best = segment
    if best is None or best.newest_timestamp() < 0:
        return None
    at = best.position_of(max(best.newest_timestamp_offset(), start_offset))
    return _in_segment(best, at, best.newest_timestamp(), start_offset)


def _in_segment(segment: Segment, at: int, timestamp: int, start_offset: int) -> Found | None:
    file = segment.file()
    while at < segment.size:
        head = file.read(at, rb.HEADER_SIZE)
        size = rb.batch_size(head, 0)
        if rb.max_timestamp(head, 0) >= timestamp and rb.last_offset(head, 0) >= start_offset:
            for record in rb.iterate(file.read(at, size), 0, size):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return record.timestamp, record.offset, rb.leader_epoch(head, 0)
        at += size
    return None
