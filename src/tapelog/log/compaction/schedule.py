"""Whose turn it is to be cleaned: the filthiest log that is due and that nobody is cleaning. Pure.

Kept by `node/cleaner`, which tells it what became of each cleaning. What it knows of a log goes with the log: one that
was deleted and made anew under the same name begins afresh.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tapelog.log.checkpoints import TopicPartition
from tapelog.log.compaction.cleaning import Statistics
from tapelog.log.compaction.plan import CleaningPlan
from tapelog.log.config import LogConfig

RETRY_MS: Final = 1_000
RETRY_MS_MAX: Final = 300_000
"""A cleaning that came to nothing for reasons that may pass is tried again after a pause that doubles up to this."""
UNLIMITED: Final = 1e300
SHARE_BYTES_MAX: Final = 2**31 - 1
"""Of memory for keys per cleaning, as in Kafka."""


class CleanerSettings(NamedTuple):
    """log.cleaner.*, as they are now."""

    enabled: bool
    workers: int
    map_bytes: int
    """For all of them together."""
    load_factor: float
    read_bytes: int
    bytes_per_second: float
    """For all of them together; 0: as fast as it goes."""
    backoff_ms: int

    @staticmethod
    def of(text: Callable[[str], str | None]) -> CleanerSettings:
        """From the broker's effective settings by name."""

        def number(name: str) -> float:
            return float(text(f"log.cleaner.{name}") or 0)

        rate = number("io.max.bytes.per.second")
        return CleanerSettings(
            enabled=(text("log.cleaner.enable") or "").lower() == "true",
            workers=int(number("threads")),
            map_bytes=int(number("dedupe.buffer.size")),
            load_factor=number("io.buffer.load.factor"),
            read_bytes=max(1, int(number("io.buffer.size"))),
            bytes_per_second=0.0 if rate >= UNLIMITED else max(1.0, rate),
            backoff_ms=int(number("backoff.ms")),
        )

    @property
    def map_share(self) -> int:
        """Bytes of memory for the keys of one cleaning."""
        return min(self.map_bytes // max(1, self.workers), SHARE_BYTES_MAX)

    @property
    def rate_share(self) -> float:
        """Bytes per second of one cleaning."""
        return self.bytes_per_second / max(1, self.workers)


class Record:
    """What is remembered of one log's cleanings."""

    def __init__(self, owner: object, config: LogConfig) -> None:
        self.owner = owner
        """The log: another one under that name knows nothing of this."""
        self.config = config
        self.under_way = False
        self.uncleanable = ""
        """Why it cannot be cleaned; empty if it can."""
        self.cleanings = 0
        self.cleaned_ms = -1
        """When the last cleaning ended, by the wall clock."""
        self.statistics: Statistics | None = None
        """What the last one did."""
        self.failures = 0
        self.retry_ms = 0
        """Not before then, by the monotonic clock."""


class Schedule:
    """See the module."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, Record] = {}

    def record_of(self, key: TopicPartition, owner: object, config: LogConfig) -> Record:
        """What is known of a log; begins anew with another log, and forgets a verdict when its settings change."""
        found = self.records.get(key)
        if found is None or found.owner is not owner:
            found = self.records[key] = Record(owner, config)
        if found.config is not config:
            found.config, found.uncleanable, found.failures, found.retry_ms = config, "", 0, 0
        return found

    def may_clean(self, key: TopicPartition, owner: object, config: LogConfig, now_ms: int) -> bool:
        """Whether a cleaning of that log may begin now."""
        found = self.records.get(key)
        if found is None or found.owner is not owner:
            return True
        found = self.record_of(key, owner, config)
        return not found.under_way and not found.uncleanable and now_ms >= found.retry_ms

    def retry_ms(self) -> int | None:
        """When the first of those that wait may be tried again; None if none waits."""
        waits = [record.retry_ms for record in self.records.values() if record.retry_ms and not record.uncleanable]
        return min(waits) if waits else None

    def finished(self, record: Record, statistics: Statistics, wall_ms: int) -> None:
        """A log is clean."""
        record.under_way = False
        record.cleanings += 1
        record.cleaned_ms = wall_ms
        record.statistics = statistics
        record.failures = record.retry_ms = 0

    def condemned(self, record: Record, reason: str) -> None:
        """A log cannot be cleaned as it is."""
        record.under_way = False
        record.uncleanable = reason

    def put_off(self, record: Record, now_ms: int) -> int:
        """It came to nothing this time; returns how long it waits."""
        pause_ms: int = min(RETRY_MS << min(record.failures, 20), RETRY_MS_MAX)
        record.under_way = False
        record.failures += 1
        record.retry_ms = now_ms + pause_ms
        return pause_ms

    def forget_others(self, present: dict[TopicPartition, object]) -> None:
        """Only these logs are there: nothing is remembered of any other."""
        for key in list(self.records):
            if present.get(key) is not self.records[key].owner:
                del self.records[key]


def filthiest_first(due: dict[TopicPartition, CleaningPlan]) -> list[TopicPartition]:
    """In which order logs that are due get cleaned."""
    return sorted(due, key=lambda key: (-due[key].ratio, key))
