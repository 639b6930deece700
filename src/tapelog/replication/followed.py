"""One partition as its fetcher sees it, and what the fetcher needs from the node around it.

States: a partition is *fetching* (its lane's requests cover it), *settling* (what it was sent is on its way to the
disk), *cutting* (its log is being truncated), or *away* for a while: backing off after an error, asking its leader for
the range of its log, or throttled. A partition that follows somebody else, or in another epoch, is another `Followed`:
answers to the one before find it stopped and are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from tapelog.replication.fetch_memory import Key
from tapelog.replication.partition import Partition
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.log.trim import Seed
    from tapelog.replication.fetch_lane import Lane

FETCHING: Final = 0
SETTLING: Final = 1
CUTTING: Final = 2
AWAY: Final = 3


class Followed:
    """A partition followed in one leader epoch."""

    __slots__ = ("failures", "in_session", "key", "lane", "leader_epoch", "partition", "state", "stopped", "throttled")

    def __init__(self, partition: Partition, leader_epoch: int, throttled: bool = False) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.key: Key = (partition.topic_id, partition.index)
        self.state = AWAY
        self.lane: Lane | None = None
        self.in_session = False
        """The leader was told of it in the lane's session."""
        self.failures = 0
        self.stopped = False
        self.throttled = throttled
        """May be held back when replication takes more than it should."""

    @property
    def settled(self) -> bool:
        """Everything it has counts: on disk (`page_cache` topics: written)."""
        return self.partition.own_end == self.partition.log.end_offset

    def position(self) -> tuple[int, int]:
        """What it asks for: the offset behind its last record, and that record's epoch; of a log from which everything
        was deleted the last epoch it had: where it ends is a claim about what lay before, which the leader must bear
        out."""
        log = self.partition.log
        end, epochs = log.end_offset, log.leader_epoch_cache
        return end, epochs.epoch_for(end - 1) if end > log.start_offset else epochs.latest

    def __repr__(self) -> str:
        return f"Followed({self.partition.topic}-{self.partition.index}, epoch {self.leader_epoch})"


class Limits:
    """The settings of a fetcher, by Kafka's names (`replica.fetch.…`), and who we are."""

    def __init__(
        self,
        replica_id: int,
        *,
        fetchers: int = 1,
        wait_ms: int = 500,
        min_bytes: int = 1,
        bytes_max: int = 10 * 1024 * 1024,
        partition_bytes_max: int = 1024 * 1024,
        backoff_ms: int = 1000,
        timeout_ms: int = 30_000,
    ) -> None:
        self.replica_id = replica_id
        self.fetchers = fetchers
        self.wait_ms = wait_ms
        self.min_bytes = min_bytes
        self.bytes_max = bytes_max
        self.partition_bytes_max = partition_bytes_max
        self.backoff_ms = backoff_ms
        self.timeout_ms = timeout_ms


class Surroundings(Protocol):
    """What a fetcher asks of its node."""

    @property
    def limits(self) -> Limits:
        """The settings as they are now."""
        ...

    @property
    def broker_epoch(self) -> int:
        """Of our registration; -1 while there is none."""
        ...

    def send(
        self,
        leader: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """Send to that broker; done gets the answer or None, once, and never before send returns."""
        ...

    def truncate(self, followed: Followed, offset: int, start_anew: bool, done: Callable[[bool], None]) -> None:
        """Cut the log (start_anew: drop all of it and begin at offset) unless it was stopped meanwhile. done, unless
        stopped: whether that worked."""
        ...

    def seed(
        self, followed: Followed, start: int, local_start: int, done: Callable[[tuple[int, Seed] | None], None]
    ) -> None:
        """Learn from the tier what a replica must know of a log that begins at start, and on its leader at local_start,
        and from which offset on it can go on itself; None if that cannot be had now."""
        ...

    def begin_in_tier(self, followed: Followed, offset: int, seed: Seed, done: Callable[[bool], None]) -> None:
        """As truncate with start_anew, for a log that begins in the tier."""
        ...

    def pump_soon(self, fetcher: object) -> None:
        """Call its `pump` at the end of this wake-up."""
        ...

    def complain(self, text: str) -> None:
        """Say it in the node's log, not too often."""
        ...
