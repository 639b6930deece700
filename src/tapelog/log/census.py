"""Questions to all logs of a directory at once. There may be very many, and the loop waits: hence compiled."""

from __future__ import annotations

from tapelog.log.log import Log


def unrecorded(logs: list[Log]) -> list[Log]:
    """Those with something new since their last checkpoint, and nothing queued."""
    found: list[Log] = []
    for log in logs:
        if log.written_end != log.end_offset or log.closed:
            continue
        if log.written_end != log.checkpointed_end or log.leader_epoch_cache.dirty:
            found.append(log)
    return found


def checkpointed_ends(logs: list[Log]) -> list[int]:
    """The recovery point of each."""
    return [log.checkpointed_end for log in logs]


def late_starts(logs: list[Log]) -> list[Log]:
    """Those that start later than their first segment, or may start earlier in a tier."""
    found: list[Log] = []
    for log in logs:
        if log.config.remote or log.start_offset != log.segments.items[0].base_offset:
            found.append(log)
    return found
