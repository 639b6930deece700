"""How much one partition is written and read here: counters that grow, and rates smoothed over one and five minutes.

A partition gets its counters with its first batch or read and loses them again when nothing has happened for so long
that every rate has died down: idle partitions cost nothing. Whoever serves adds whole numbers; the clock makes rates.
A rate is an exponentially weighted mean. It is corrected for its youth: right after a role begins it is the mean since
then, so a leader that has just moved shows its load at once.
"""

from __future__ import annotations

from itertools import islice
from math import exp
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tapelog.replication.hub import Hub

SPANS_S: Final = (60, 300)
"""What rates are smoothed over: the time constants of the two means."""
FORGOTTEN_MS: Final = 3_600_000
"""Twelve long spans without any traffic: what is left of the rates is less than a hundred-thousandth."""
LOOK_MS: Final = 5_000
"""By the clock, every partition is looked at so often."""
LOOKS_PER_STEP: Final = 1_000
"""And no more than so many in a wake-up: a millisecond."""
KINDS: Final = 5
"""Bytes in, records in, bytes out, bytes out to replicas, requests: the order of `Traffic.rates`."""


class Traffic:
    """The counters of one partition, since its role here began (or since they were last forgotten)."""

    def __init__(self, since_ms: int, now_ms: int) -> None:
        self.bytes_in = 0
        self.records_in = 0
        self.bytes_out = 0
        self.replica_bytes_out = 0
        self.requests = 0
        """Batches written and reads that gave something."""
        self.since_ms = since_ms
        self.moved_ms = now_ms
        """When a look found that something had happened since the one before."""
        self.looked_ms = now_ms
        self._means: list[float] = [0.0] * (KINDS * len(SPANS_S))
        self._seen: list[int] = [0] * KINDS

    def wrote(self, size: int, records: int) -> None:
        """A client's batch was appended."""
        self.bytes_in += size
        self.records_in += records
        self.requests += 1

    def sent(self, size: int) -> None:
        """A consumer was given so many bytes."""
        self.bytes_out += size
        self.requests += 1

    def copied(self, size: int) -> None:
        """A follower was given so many bytes."""
        self.replica_bytes_out += size
        self.requests += 1

    def look(self, now_ms: int) -> None:
        """Let the time since the last look count."""
        elapsed_ms = now_ms - self.looked_ms
        if elapsed_ms <= 0:
            return
        self.looked_ms = now_ms
        counts = [self.bytes_in, self.records_in, self.bytes_out, self.replica_bytes_out, self.requests]
        if counts[KINDS - 1] != self._seen[KINDS - 1]:
            self.moved_ms = now_ms
        at = 0
        for span in SPANS_S:
            kept = exp(-elapsed_ms / (span * 1000.0))
            for kind in range(KINDS):
                rate = (counts[kind] - self._seen[kind]) * 1000.0 / elapsed_ms
                self._means[at] = kept * self._means[at] + (1.0 - kept) * rate
                at += 1
        self._seen = counts

    def rates(self, span: int) -> list[float]:
        """Per second over SPANS_S[span], in the order of KINDS, as of the last look."""
        age_ms = max(1, self.looked_ms - self.since_ms)
        weight = 1.0 - exp(-age_ms / (SPANS_S[span] * 1000.0))
        first = span * KINDS
        return [mean / weight for mean in self._means[first : first + KINDS]]

    def forgettable(self, now_ms: int) -> bool:
        """Nothing has happened for so long that nothing is left to tell."""
        return now_ms - self.moved_ms >= FORGOTTEN_MS


def look(hub: Hub, now_ms: int) -> None:
    """Before somebody is told: bring the rates of all that is busy up to now."""
    for traffic in hub.busy.values():
        traffic.look(now_ms)


def look_on(hub: Hub, now_ms: int) -> None:
    """By the clock, often: the next of those that were not looked at for long; what is idle is forgotten.

    Who was looked at longest ago is first in `hub.busy`."""
    busy = hub.busy
    for traffic in busy.values():
        if now_ms - traffic.looked_ms < LOOK_MS:
            return
        break
    for partition in list(islice(busy, LOOKS_PER_STEP)):
        traffic = busy[partition]
        if now_ms - traffic.looked_ms < LOOK_MS:
            return
        traffic.look(now_ms)
        if traffic.forgettable(now_ms):
            partition.forget_traffic()
        else:
            del busy[partition]
            busy[partition] = traffic
