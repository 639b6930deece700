"""What a lag is: values and arithmetic, without any client. Made by `measure`, read by whoever asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Place = tuple[str, int]
"""Topic and partition."""

Isolation = Literal["read_committed", "read_uncommitted"]
"""How the group reads. A read_committed group is behind up to the last stable offset only."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What a group has committed for one partition, with what it wrote beside it (`metadata`: the client library does
    not know where that ends, and may have put something behind it)."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The first record at or after an offset. Offsets have gaps (markers, compaction), so it may lie further on.

    `timestamp_ms` is None for a record without one; `appended` says that the broker set it (LogAppendTime).
    `is_end` says that there was no record up to the end of what may be read: only gaps were left.
    """

    offset: int
    timestamp_ms: int | None = None
    appended: bool = False
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition of one group, as measured at `measured_ms`.

    `end` is where the group could have read to: the high watermark, or the last stable offset under read_committed;
    `held` is the number of offsets after it that open transactions hold back. `oldest` is None when it was not looked
    for (nothing to look for) or not found in time.
    """

    topic: str
    partition: int
    committed: int | None
    start: int
    end: int
    held: int = 0
    oldest: Oldest | None = None
    measured_ms: int = 0
    metadata: str = ""
    leader_epoch: int | None = None

    @property
    def next_offset(self) -> int | None:
        """Where the group goes on reading; None where it has never committed."""
        return None if self.committed is None else max(self.committed, self.start)

    @property
    def records(self) -> int | None:
        """Offsets not yet committed, 0 if only gaps are left; None where the group has never committed.

        What retention has removed does not count (see `lost`). In a compacted or transactional topic this is the most
        that there can be: offsets are counted, and some have no record.
        """
        following = self.next_offset
        if following is None:
            return None
        return 0 if self.oldest is not None and self.oldest.is_end else max(0, self.end - following)

    @property
    def lost(self) -> int:
        """Offsets that were removed before the group committed them."""
        return 0 if self.committed is None else max(0, self.start - self.committed)

    @property
    def beyond(self) -> int:
        """How far the committed offset lies after the log's end: the topic was made anew, or truncated."""
        return 0 if self.committed is None else max(0, self.committed - (self.end + self.held))

    @property
    def age_ms(self) -> int | None:
        """Age of the oldest record not consumed: 0 when there is none, None when it cannot be told (see `why`)."""
        if self.records == 0:
            return 0
        if self.committed is None or self.oldest is None or self.oldest.timestamp_ms is None:
            return None
        return max(0, self.measured_ms - self.oldest.timestamp_ms)

    @property
    def seconds(self) -> float | None:
        """`age_ms` in seconds."""
        return None if self.age_ms is None else self.age_ms / 1000

    @property
    def why(self) -> str:
        """Why the age cannot be told, or what should be known beside it; empty when all is plain."""
        if self.committed is None:
            return "no commit yet"
        if self.beyond:
            return f"committed {self.beyond} beyond the end"
        if self.records and self.oldest is None:
            return "not read in time"
        if self.records and self.oldest is not None and self.oldest.timestamp_ms is None:
            return "record has no timestamp"
        if self.lost:
            return f"{self.lost} removed before they were read"
        return f"{self.held} held back by open transactions" if self.held else ""


@dataclass(frozen=True, slots=True)
class GroupLag:
    """A whole group. `missing` names partitions it has committed of topics that are not there any more.

    `markers`: it holds markers of Spark's exactly-once sink, and nobody reads through it: its lag means nothing.
    """

    group: str
    partitions: tuple[PartitionLag, ...] = ()
    missing: tuple[Place, ...] = ()
    markers: bool = False

    @property
    def records(self) -> int:
        """The sum over partitions with a commit."""
        return sum(lag.records or 0 for lag in self.partitions)

    @property
    def seconds(self) -> float | None:
        """The worst partition's age; None where something is unread and no age can be told."""
        return worst_seconds(self.partitions)


def worst_seconds(lags: Iterable[PartitionLag]) -> float | None:
    """The greatest known age: 0 when nothing is unread, None when something is and no age is known."""
    entries = [lag for lag in lags if lag.committed is not None]
    known = [lag.seconds for lag in entries if lag.seconds is not None and lag.records]
    if known:
        return max(known)
    return None if any(lag.records for lag in entries) else 0.0
