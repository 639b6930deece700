"""What the active controller does by the clock, not on request.

- Brokers that were not heard of for a session are fenced, all that are due at once.
- Every leader.imbalance.check.interval.seconds, preferred leaders get their partitions back.
- Every unclean.leader.election.interval.ms, leaderless partitions of topics that allow it get an unclean leader.
- With eligible leader replicas, min.insync.replicas of the cluster is written down and those of single brokers are
  removed: it must be the same everywhere.

`tick` decides on an image and gives records like every other operation of the controller; `due_ms` says when to call
it next. Both are for the active controller alone.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.config import BrokerSettings
from tapelog.metadata import eligible
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import MetadataRecord
from tapelog.metadata.sessions import NEVER_MS, BrokerSessions

ELECTIONS_PER_TICK_MAX: Final = 1000
SOON_MS: Final = 100
"""Between two ticks of which the first left something to do."""


class Upkeep:
    """The controller's chores and when they are due."""

    def __init__(self, settings: BrokerSettings, sessions: BrokerSessions) -> None:
        self.settings = settings
        self.sessions = sessions
        self._balance_ms = 0
        self._unclean_ms = 0
        self._minimum_due = False

    def begin(self, image: MetadataImage) -> None:
        """A new active controller: intervals start now."""
        now_ms = self.sessions.now_ms()
        self._balance_ms = now_ms + self._balance_interval_ms()
        self._unclean_ms = now_ms
        self._minimum_due = eligible.minimum_due(image, self.settings)

    def due_ms(self, image: MetadataImage) -> int:
        """When the next tick has something to do, in monotonic milliseconds; never without a clock."""
        if not self.sessions.timed:
            return NEVER_MS
        if self._minimum_due or eligible.minimum_unwritten(image):
            return self.sessions.now_ms()
        return min(self.sessions.next_end_ms(image), self._balance_ms, self._unclean_ms)

    def unclean_soon(self) -> None:
        """Somebody allowed unclean elections: do not wait for the interval."""
        self._unclean_ms = self.sessions.now_ms()

    def tick(self, image: MetadataImage) -> Outcome[None]:
        """Records for whatever is due; fencing first, since it decides who may lead."""
        from tapelog.metadata import elect_leaders, heartbeat

        if self._minimum_due or eligible.minimum_unwritten(image):
            self._minimum_due = False
            return eligible.write_minimum(image, self.settings)
        silent = self.sessions.silent(image)
        if silent:
            return Outcome(heartbeat.fence(image, self.settings, silent), None)
        records: list[MetadataRecord] = []
        now_ms = self.sessions.now_ms()
        if now_ms >= self._unclean_ms:
            records += elect_leaders.unclean_leaders(image, self.settings, ELECTIONS_PER_TICK_MAX)
            more = len(records) >= ELECTIONS_PER_TICK_MAX
            interval_ms = self.settings.whole("unclean.leader.election.interval.ms")
            self._unclean_ms = now_ms + (SOON_MS if more else interval_ms)
        elif now_ms >= self._balance_ms:
            if self.settings.flag("auto.leader.rebalance.enable"):
                records += elect_leaders.preferred_leaders(image, self.settings, ELECTIONS_PER_TICK_MAX)
            more = len(records) >= ELECTIONS_PER_TICK_MAX
            self._balance_ms = now_ms + (SOON_MS if more else self._balance_interval_ms())
        return Outcome(records, None)

    def _balance_interval_ms(self) -> int:
        return 1000 * self.settings.whole("leader.imbalance.check.interval.seconds")
