"""Where two logs part: pure decisions of a follower about its own log. Carried out by `log.manager` in bulk.

A record is known by its offset and the leader epoch that wrote it: two logs that have the same epoch at the same offset
are the same up to there. So a leader that is asked for what follows (offset, epoch of the last record) can say that it
has no such thing, and up to where it knows that epoch or the one before it.
"""

from __future__ import annotations

from tapelog.log.log import Log


def truncation_point(log: Log, epoch: int, end_offset: int) -> int:
    """The leader knows nothing of our last record; its last epoch at or below that record's is `epoch`, which ends
    there at `end_offset`. Where to cut before asking again: never below what both logs share."""
    if epoch < 0:
        return min(end_offset, log.end_offset)
    own_epoch, own_end = log.epoch_end_offset(epoch)
    if own_epoch < 0:  # our epochs are all newer, or we know of none
        return min(end_offset, log.end_offset)
    if own_epoch == epoch:
        return min(own_end, end_offset)
    return own_end  # the leader's epoch is unknown here: what we have of the one before may be shared, nothing else


class Meeting:
    """How a log that its leader calls out of range gets back into it: cut to offset, or begin anew there."""

    __slots__ = ("offset", "start_anew")

    def __init__(self, offset: int, start_anew: bool) -> None:
        self.offset = offset
        self.start_anew = start_anew


def meeting_point(own_end: int, leader_start: int, leader_end: int) -> Meeting | None:
    """None if our end lies within the leader's log after all."""
    if own_end > leader_end:
        return Meeting(leader_end, False)
    if own_end < leader_start:
        return Meeting(leader_start, True)
    return None
