"""What happened during one wake-up, collected so that it is handled once at its end.

Partitions put themselves here when something was appended or became visible; the node core empties the
lists in `settle`. Owning no behaviour of its own, it keeps partitions and connections from knowing the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.replication.partition import Partition
    from tapelog.replication.waiting import FetchWaiter


class Hub:
    """The work lists of one wake-up."""

    def __init__(self) -> None:
        self.dirty: list[Partition] = []
        """Partitions with appended batches that are not written yet."""
        self.unflushed: list[Partition] = []
        """Partitions with written bytes that the next flush round must make durable."""
        self.advanced: list[Partition] = []
        """Watched partitions (internal topics) whose high watermark moved."""
        self.now_ms = 0
        """Monotonic time as of the last tick of the housekeeping: for deadlines that need not be precise."""
        self.ripe: list[FetchWaiter] = []
        """Parked fetches that may now be answerable."""
        self.held_bytes = 0
        """Batches that wait behind verification guards, of all partitions."""
