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
        if segment is not segments[-1]:
            segment.release()
        if found is not None:
            return found
    return None


def greatest(segments: list[Segment], start_offset: int) -> Found | None:
    """(timestamp, offset, leader epoch) of the first record that has the greatest timestamp from start_offset on."""
    best: Found | None = None
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= start_offset:
            continue
        newest, newest_offset = segment.newest_timestamp(), segment.newest_timestamp_offset()
        if segment.size == 0 or newest < 0 or (best is not None and newest <= best[0]):
            continue
        if segment.base_offset < start_offset and newest_offset < segment.base_offset + _reach(segment, start_offset):
            newest = _greatest_behind(segment, start_offset)
            newest_offset = start_offset
        found = _in_segment(segment, segment.position_of(newest_offset), newest, start_offset)
        if found is None:  # a batch that compaction has emptied
            newest = _greatest_behind(segment, start_offset)
            found = _in_segment(segment, segment.position_of(start_offset), newest, start_offset)
        if segment is not segments[-1]:
            segment.release()
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best


def _reach(segment: Segment, start_offset: int) -> int:
    """How many offsets of the segment lie in batches that begin before start_offset."""
    at = segment.position_of(start_offset)
    if at >= segment.size:
        return start_offset - segment.base_offset
    return rb.last_offset(segment.file().read(at, rb.HEADER_SIZE), 0) + 1 - segment.base_offset


def _greatest_behind(segment: Segment, start_offset: int) -> int:
    """The greatest timestamp of records from start_offset on, where the segment's own may lie before it."""
    at, newest, file = segment.position_of(start_offset), -1, segment.file()
    while at < segment.size:
        head = file.read(at, rb.HEADER_SIZE)
        size = rb.batch_size(head, 0)
        if size < rb.HEADER_SIZE:
            break  # damaged
        if rb.record_count(head, 0) and rb.base_offset(head, 0) >= start_offset:
            newest = max(newest, rb.max_timestamp(head, 0))
        else:
            for record in rb.iterate(file.read(at, size), 0, size):
                if record.offset >= start_offset:
                    newest = max(newest, record.timestamp)
        at += size
    return newest


def _in_segment(segment: Segment, at: int, timestamp: int, start_offset: int) -> Found | None:
    file = segment.file()
    while at < segment.size:
        head = file.read(at, rb.HEADER_SIZE)
        size = rb.batch_size(head, 0)
        if size < rb.HEADER_SIZE:
            break  # damaged
        if rb.max_timestamp(head, 0) >= timestamp and rb.last_offset(head, 0) >= start_offset:
            for record in rb.iterate(file.read(at, size), 0, size):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return record.timestamp, record.offset, rb.leader_epoch(head, 0)
        at += size
    return None
