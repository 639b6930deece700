"""Whether what is in the tier is what the leader's log says: compared by leader epochs, newest first. Pure.

Two logs that have the same epoch at an offset are the same up to there. Only after an unclean election can the tier
have something that the leader's log does not share: it is cut off, if anything is shared at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from tapelog.log.tier import growth
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.manifest import Manifest, Page, SegmentEntry
from tapelog.log.tier.operations import View
from tapelog.log.tier.walk import PageWantedError

FOREIGN: Final = "foreign"
"""Nothing is shared, and cutting would take everything: not for a program to decide."""


def compare(head: Manifest, pages: Mapping[str, Page], view: View) -> Manifest | str | None:
    """None if all of it belongs to the log; the head without what does not (in the old writer's name); or FOREIGN.
    PageWantedError where a page must be seen first."""
    writer = Writer(head.broker, head.leader_epoch, head.token, head.cluster)
    shorter = head
    while shorter.end_offset > shorter.start_offset:
        if not shorter.segments:
            page = pages.get(shorter.refs[-1].name)
            if page is None:
                raise PageWantedError(shorter.refs[-1])
            shorter = growth.unsealed(shorter, page)
            continue
        if shared(shorter.segments[-1], view):
            break
        shorter = growth.cut(shorter, shorter.segments[-1], writer)
    else:
        # an emptied tier tells where the log ended once: a log that ends before began anew
        return FOREIGN if head.end_offset > min(head.start_offset, view.end_offset) else None
    return None if shorter.end_offset == head.end_offset else shorter


def shared(segment: SegmentEntry, view: View) -> bool:
    """Whether the log has that segment's last record, or had it and has forgotten of which epoch it was."""
    if segment.end_offset > view.end_offset:
        return False
    known = bisect_right(view.epochs, segment.end_offset - 1, key=lambda pair: pair[1])
    if known == 0 or not segment.epochs:
        return True
    return view.epochs[known - 1][0] == segment.epochs[-1][0]
