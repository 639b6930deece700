"""Finding records by time in a segment that is in the tier: for ListOffsets. As `log.timestamps` does it on disk, but
that bytes come from elsewhere: whatever an answer rests on is checked as it is before it is served.

A walk may lead through more than the cache can hold: how far it has come is kept with the segment, so that who asks
again goes on from there. May raise NotHereError and KafkaError, as all of `remote`.
"""

from __future__ import annotations

from tapelog.log.tier.remote import RemoteSegment
from tapelog.log.timestamps import Found
from tapelog.wire import record_batch as rb


def first_at_or_after(remote: RemoteSegment, timestamp: int, start_offset: int) -> Found | None:
    """(timestamp, offset, leader epoch) of its first record from start_offset on that is at least as late."""
    if remote.entry.max_timestamp < timestamp:
        return None
    return _first(remote, max(remote.segment.time_index.lookup(timestamp), start_offset), timestamp, start_offset)


def greatest(remote: RemoteSegment, start_offset: int) -> Found | None:
    """(timestamp, offset, leader epoch) of its first record from start_offset on than which none is later."""
    newest, newest_offset = remote.entry.max_timestamp, remote.entry.max_timestamp_offset
    found = None
    if newest >= 0 and newest_offset >= start_offset:
        found = _first(remote, newest_offset, newest, start_offset)
    if found is None:  # that one lies before it, or compaction has removed it
        newest = _newest(remote, start_offset)
        found = _first(remote, start_offset, newest, start_offset) if newest >= 0 else None
    return found


def _first(remote: RemoteSegment, offset: int, timestamp: int, start_offset: int) -> Found | None:
    """The same of a record that is not before the batch with that offset."""
    walk = remote.walk((offset, timestamp, start_offset), offset)
    while walk.at < remote.size:
        end, following = remote.sound(walk.at, walk.least)
        batch = remote.read(walk.at, end - walk.at)
        if rb.max_timestamp(batch, 0) >= timestamp and following > start_offset:
            for record in rb.iterate(batch, 0, len(batch)):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return record.timestamp, record.offset, rb.leader_epoch(batch, 0)
        walk.at, walk.least = end, following
    return None


def _newest(remote: RemoteSegment, start_offset: int) -> int:
    """The greatest timestamp from start_offset on; -1 if there is none."""
    walk = remote.walk((start_offset,), start_offset)
    while walk.at < remote.size:
        end, following = remote.sound(walk.at, walk.least)
        batch = remote.read(walk.at, end - walk.at)
        if following > start_offset and rb.max_timestamp(batch, 0) > walk.best:
            if rb.base_offset(batch, 0) >= start_offset and rb.record_count(batch, 0):
                walk.best = rb.max_timestamp(batch, 0)
            else:
                later = (one.timestamp for one in rb.iterate(batch, 0, len(batch)) if one.offset >= start_offset)
                walk.best = max(walk.best, *later, -1)
        walk.at, walk.least = end, following
    return walk.best
