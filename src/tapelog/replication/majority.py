"""`tapelog.acks=quorum`: what a majority of the replicas has had for a while is not held up by the others.

Owned by a Partition that leads such a topic and has somebody waiting. Looked at by the clock.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.leadership import Leadership

PATIENCE_MS: Final = 200
"""So long may the slowest replicas hold up what a majority has."""


class Majority:
    """Up to where, and since when, a majority has what the others hold up."""

    def __init__(self) -> None:
        self._end = -1
        self._since_ms = 0

    def held_up_by(self, lead: Leadership, own_end: int, high_watermark: int, now_ms: int) -> list[int]:
        """The replicas that have held it up for too long by now; they rest for a while."""
        had, late = self._end, []
        if had > high_watermark and now_ms - self._since_ms >= PATIENCE_MS:
            late = lead.behind(had)
            if late:
                lead.rest(late, now_ms)
            self._end = -1
        elif had <= high_watermark:
            end = lead.majority_end(own_end)
            self._end, self._since_ms = (end, now_ms) if end > high_watermark else (-1, now_ms)
        return late
