"""What the quorum needs of the world: its log, its vote file, its snapshots, a way to other nodes, somebody to tell.

The node implements them on a partition, a disk and connections (`node/raft.py`), the simulation in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tapelog.base.ports import DiskError
from tapelog.raft.values import Endpoint, OffsetEpoch
from tapelog.wire.message import Message

SnapshotId = tuple[int, int]
"""(end offset, epoch) of the part of the log that a snapshot stands for."""


class RaftLog(Protocol):
    """The replica's own log. What was appended is readable once written, and counts once durable."""

    @property
    def start_offset(self) -> int:
        """The first offset there is; what lies before is in a snapshot."""
        ...

    @property
    def end_offset(self) -> int:
        """The next offset, after everything appended."""
        ...

    @property
    def written_end(self) -> int:
        """Below this, `read` finds what was appended."""
        ...

    @property
    def durable_end(self) -> int:
        """Below this, nothing is lost by a power cut."""
        ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, 0 if there is none; of the snapshot before it if the log is empty."""
        ...

    def append(self, batch: bytes, epoch: int) -> int:
        """As leader: queue one batch, giving it its offsets; returns the new end. Raises KafkaError or DiskError."""
        ...

    def append_replicated(self, data: bytes, epoch: int) -> int:
        """As follower in that epoch: queue the leader's batches as they are; returns the new end. KafkaError if they
        do not fit."""
        ...

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole written batches from the one that holds offset, at least one; b'' at the end."""
        ...

    def end_of_epoch(self, epoch: int) -> OffsetEpoch:
        """The largest known epoch <= epoch and where it ended; (start offset, epoch before it) if none is known."""
        ...

    def truncate(self, offset: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]) -> None:
        """Cut off everything from offset on, now or soon, unless it is not wanted any more by then."""
        ...

    def restart_at(
        self, offset: int, epoch: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]
    ) -> None:
        """Drop everything, now or soon: the log begins and ends where a snapshot of that id ends."""
        ...


class QuorumStore(Protocol):
    """The `quorum-state` file."""

    def read(self) -> bytes | None:
        """What was written last; None if nothing was."""
        ...

    def write(self, data: bytes) -> None:
        """Replace it, atomically; durable on return. Raises DiskError."""
        ...


class Snapshots(Protocol):
    """Where snapshots are kept."""

    def list(self) -> list[SnapshotId]:
        """Every complete snapshot, oldest first."""
        ...

    def read(self, id: SnapshotId) -> bytes:
        """Its bytes."""
        ...

    def write(self, id: SnapshotId, data: bytes, done: Callable[[Exception | None], None]) -> None:
        """Keep it durably and atomically; done is called later, or at once."""
        ...


class Send(Protocol):
    """How requests reach other replicas."""

    def __call__(
        self,
        node_id: int,
        endpoint: Endpoint,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """done is called once, after this returned: with the response, or with None if none came."""
        ...


class Listener(Protocol):
    """Who is told what the quorum decided."""

    def elected(self, epoch: int, start_offset: int) -> None:
        """This replica leads; its epoch begins at start_offset, where the leader change stands."""
        ...

    def resigned(self) -> None:
        """This replica leads no more."""
        ...

    def leader_is(self, node_id: int, epoch: int) -> None:
        """The leader changed; -1 while there is none."""
        ...

    def committed(self, high_watermark: int) -> None:
        """Everything below is committed."""
        ...

    def install_snapshot(self, id: SnapshotId) -> None:
        """The log was replaced by this snapshot, which is in the store."""
        ...
