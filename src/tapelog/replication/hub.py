"""What happened during one wake-up, collected so that it is handled once at its end.

Partitions put themselves here when something was appended or became visible; the node core empties the
lists in `settle`. Owning no behaviour of its own, it keeps partitions and connections from knowing the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.base.ports import Disk, DiskError
    from tapelog.replication.partition import Partition
    from tapelog.replication.traffic import Traffic
    from tapelog.replication.waiting import FetchWaiter


class Hub:
    """The work lists of one wake-up, and the few facts about the cluster that partitions need."""

    def __init__(self) -> None:
        self.dirty: list[Partition] = []
        """Partitions with appended batches that are not written yet."""
        self.unflushed: list[Partition] = []
        """Partitions with written bytes that the next flush round must make durable."""
        self.unflushed_bytes = 0
        """What was written to them, and what it costs to keep those waiting who wrote it; with the round under way."""
        self.cached_bytes = 0
        """The same of topics in the page cache, since the last checkpoint that is durable."""
        self.uncheckpointed_bytes = 0
        """The same of all topics, since the last checkpoint that was begun."""
        self.advanced: list[Partition] = []
        """Watched partitions (internal topics) whose high watermark moved."""
        self.now_ms = 0
        """Monotonic time as of the last tick of the housekeeping: for deadlines that need not be precise."""
        self.ripe: list[FetchWaiter] = []
        """Parked fetches that may now be answerable."""
        self.held_bytes = 0
        """Batches that wait behind verification guards, of all partitions."""
        self.node_id = -1
        """Whom the replicas' lists call us."""
        self.isr_changes: list[Partition] = []
        """Led partitions that want another ISR of the controller."""
        self.replicated: dict[Partition, None] = {}
        """Led partitions with followers: the clock looks at them now and then."""
        self.followed: list[Partition] = []
        """Followed partitions whose own end or high watermark moved: their next fetch may go out."""
        self.alive: dict[int, int] = {}
        """Brokers that may enter an ISR (registered, not fenced, not about to stop), and their epochs."""
        self.heard_ms: dict[int, int] = {}
        """When the last fetch of each follower arrived, whatever it named."""
        self.busy: dict[Partition, Traffic] = {}
        """Partitions that are written or read here: the clock makes rates of their counters."""
        self.troubled: list[tuple[Partition, DiskError]] = []
        """Partitions whose files could not be read when something was appended."""
        self.hanging: list[Disk] = []
        """Disks, of several, that have not answered for long: what lies on others goes on without them."""
        self.full: list[Disk] = []
        """Disks with so little room that it is kept for what the node itself must write."""
        self.lag_ms_max = 30_000
        """replica.lag.time.max.ms: who has been behind for longer leaves the ISR."""
