"""The metadata log of a quorum of one: propose, append, commit, replay, publish, snapshot.

MetadataLog does no I/O. It appends batches to a log port (the node core keeps `__cluster_metadata-0` behind it), is
told when they are durable, and then publishes the next image and lets the waiting answers go. Everything a proposer
is told was computed from the newest image, committed or not, and so waits until that is committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from tapelog.base.ports import Clock
from tapelog.metadata import records, snapshot
from tapelog.metadata.delta import ImageDelta, MetadataReplayError
from tapelog.metadata.features import bootstrap_features
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    StateRecord,
)
from tapelog.metadata.snapshot import SnapshotId, SnapshotStore
from tapelog.wire.errors import KafkaError
from tapelog.wire.primitives import WireError

R = TypeVar("R")

READ_BYTES: Final = 1 << 20
SNAPSHOT_BYTES_MIN: Final = 256 * 1024
"""No snapshot before the log has grown by this much."""


class MetadataLogPort(Protocol):
    """The log behind it, as the node core provides it."""

    @property
    def start_offset(self) -> int:
        """The first offset there is."""
        ...

    @property
    def end_offset(self) -> int:
        """The next offset, after everything appended."""
        ...

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Queue one batch, giving it its offsets; returns the new end offset. Raises KafkaError or DiskError."""
        ...

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds offset, at least one; b'' at the end."""
        ...

    def advance_start(self, offset: int) -> None:
        """Everything below is in a snapshot and may go."""
        ...


class _Parked:
    """Something that waits for its records, or for those its answer was computed from."""

    __slots__ = ("answer", "delta", "end_offset", "failed", "image")

    def __init__(
        self,
        end_offset: int,
        image: MetadataImage,
        delta: ImageDelta | None,
        answer: Callable[[], None] | None,
        failed: Callable[[Exception], None] | None,
    ) -> None:
        self.end_offset = end_offset
        self.image = image
        self.delta = delta
        self.answer = answer
        self.failed = failed


class MetadataLog:
    """`image` is committed and published; `latest` includes what is appended but not yet durable.

    Start: load(), then lead(epoch) with an epoch above the one load() returned. Then propose(); the node core calls
    on_commit() after each flush, and maybe_snapshot() now and then.
    """

    def __init__(
        self,
        port: MetadataLogPort,
        snapshots: SnapshotStore,
        *,
        node_id: int,
        cluster_id: str,
        clock: Clock,
        publish: Callable[[MetadataImage, ImageDelta], None],
        snapshot_bytes_max: int = 20 * 1024 * 1024,
    ) -> None:
        self.port = port
        self.snapshots = snapshots
        self.node_id = node_id
        self.clock = clock
        self.publish = publish
        self.snapshot_bytes_max = snapshot_bytes_max
        self.epoch = -1
        self.image = MetadataImage(cluster_id=cluster_id)
        self.latest = self.image
        self._parked: deque[_Parked] = deque()
        self._transaction: list[StateRecord] | None = None
        self._snapshot: SnapshotId = (0, 0)
        self._snapshot_size = 0
        self._snapshot_under_way = False
        self._bytes_since_snapshot = 0

    # -- start

    def load(self) -> int:
        """Replay snapshot and log: everything in them is committed. Returns the last epoch seen (0 if new)."""
        image = self._load_snapshot(self.image)
        if self.port.start_offset > image.offset:
            raise MetadataReplayError(
                f"the metadata log begins at {self.port.start_offset}, but the snapshots end at {image.offset}"
            )
        offset = image.offset
        delta = ImageDelta(image)
        epoch, timestamp_ms = image.epoch, image.timestamp_ms
        while True:
            data = self.port.read(offset, READ_BYTES)
            if not data:
                break
            self._bytes_since_snapshot += len(data)
            before = offset
            for batch in records.decode_batches(data):
                if batch.base_offset < offset:
                    continue
                self._replay_batch(delta, batch)
                offset, epoch, timestamp_ms = batch.last_offset + 1, batch.leader_epoch, batch.timestamp_ms
            if offset == before:
                raise MetadataReplayError(f"the metadata log has nothing at offset {offset}")
        self.image = self.latest = delta.build(offset, epoch, timestamp_ms)
        return epoch

    def _load_snapshot(self, empty: MetadataImage) -> MetadataImage:
        """The image of the newest snapshot that is whole; a damaged one is passed over."""
        for id in reversed(self.snapshots.list()):
            data = self.snapshots.read(id)
            try:
                image = snapshot.decode_image(data, id, empty.cluster_id)
            except WireError:
                continue
            self._snapshot, self._snapshot_size = id, len(data)
            return image
        return empty

    def _replay_batch(self, delta: ImageDelta, batch: records.DecodedBatch) -> None:
        if batch.control_type == records.CONTROL_LEADER_CHANGE:
            delta.set_controller(records.leader_of(batch))
        for record in batch.records:
            self._replay(delta, record)

    def _replay(self, delta: ImageDelta, record: MetadataRecord) -> None:
        """Apply a record, or keep it until its transaction ends."""
        if isinstance(record, BeginTransactionRecord):
            self._transaction = []
        elif isinstance(record, EndTransactionRecord):
            for held in self._transaction or ():
                delta.replay(held)
            self._transaction = None
        elif isinstance(record, AbortTransactionRecord):
            self._transaction = None
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            delta.replay(record)

    def lead(self, epoch: int) -> None:
        """Begin an epoch as its leader; a new cluster gets its first records. Nothing counts before on_commit."""
        assert epoch > self.latest.epoch or self.latest.offset == 0, "an epoch has one leader"
        self.epoch = epoch
        new = self.latest.offset == 0
        now_ms = self.clock.wall_ms()
        delta = ImageDelta(self.latest)
        delta.set_controller(self.node_id)
        end = self._append(records.leader_change_batch(self.node_id, now_ms, epoch))
        first: list[MetadataRecord] = []
        if self._transaction is not None:
            first.append(AbortTransactionRecord(reason="the controller restarted"))
        if new:
            first += [BeginTransactionRecord(name="Bootstrap records"), *bootstrap_features(), EndTransactionRecord()]
        if first:
            end = self._append(records.data_batch(first, now_ms, epoch))
            for record in first:
                self._replay(delta, record)
        self._park(end, delta, now_ms, None, None)

    # -- proposals

    def propose(
        self,
        operation: Callable[[MetadataImage], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Run an operation of the controller on the newest image and commit its records.

        Exactly one of done and failed is called, once, perhaps at once: done with the response when the records are
        committed and the new image is published; failed with the KafkaError the operation raised, or with what kept
        the records from being appended.
        """
        image = self.latest
        try:
            outcome = operation(image)
        except KafkaError as refusal:
            error = refusal  # computed from the newest image: it waits like an answer
            self._answer_when_committed(image, lambda: failed(error), failed)
            return
        response = outcome.response
        if not outcome.records:
            self._answer_when_committed(image, lambda: done(response), failed)
            return
        now_ms = self.clock.wall_ms()
        try:
            end = self._append(records.data_batch(outcome.records, now_ms, self.epoch))
        except Exception as error:
            failed(error)
            return
        delta = ImageDelta(image)
        for record in outcome.records:
            self._replay(delta, record)
        self._park(end, delta, now_ms, lambda: done(response), failed)

    def _append(self, batch: bytes) -> int:
        end = self.port.append(batch, self.epoch)
        self._bytes_since_snapshot += len(batch)
        return end

    def _park(
        self,
        end: int,
        delta: ImageDelta,
        now_ms: int,
        answer: Callable[[], None] | None,
        failed: Callable[[Exception], None] | None,
    ) -> None:
        self.latest = delta.build(end, self.epoch, now_ms)
        self._parked.append(_Parked(end, self.latest, delta, answer, failed))

    def _answer_when_committed(
        self, image: MetadataImage, answer: Callable[[], None], failed: Callable[[Exception], None]
    ) -> None:
        if not self._parked:
            answer()
        else:
            self._parked.append(_Parked(image.offset, image, None, answer, failed))

    def on_commit(self, end_offset: int) -> None:
        """Everything below end_offset is durable: publish it, in order, and let the answers go."""
        while self._parked and self._parked[0].end_offset <= end_offset:
            entry = self._parked.popleft()
            if entry.delta is not None:
                self.image = entry.image
                self.publish(entry.image, entry.delta)
            if entry.answer is not None:
                entry.answer()

    def revert(self, error: Exception) -> None:
        """The log took back what it could not write: forget what lies beyond its end, and say so to who waits."""
        end_offset = self.port.end_offset
        lost: list[_Parked] = []
        while self._parked and self._parked[-1].end_offset > end_offset:
            lost.append(self._parked.pop())
        self.latest = self._parked[-1].image if self._parked else self.image
        for entry in reversed(lost):
            if entry.failed is not None:
                entry.failed(error)

    # -- snapshots

    def maybe_snapshot(self) -> bool:
        """Begin to write a snapshot if the log has grown enough since the last; whether one was begun.

        The bound follows the size of the state, so that a start replays no more than about three times the state.
        """
        bound = min(self.snapshot_bytes_max, max(SNAPSHOT_BYTES_MIN, 2 * self._snapshot_size))
        if self._snapshot_under_way or self._bytes_since_snapshot < bound:
            return False
        return self.snapshot()

    def snapshot(self) -> bool:
        """Begin to write a snapshot of the committed image; whether one was begun."""
        image = self.image
        id = (image.offset, image.epoch)
        if self._snapshot_under_way or image.offset <= self._snapshot[0]:
            return False
        data = snapshot.encode_image(image)
        self._snapshot_under_way = True
        covered = self._bytes_since_snapshot

        def done(error: Exception | None) -> None:
            self._snapshot_under_way = False
            if error is not None:
                return
            self._bytes_since_snapshot -= covered
            old, self._snapshot, self._snapshot_size = self._snapshot, id, len(data)
            self.port.advance_start(id[0])
            for other in self.snapshots.list():
                if other < old:
                    self.snapshots.remove(other)

        self.snapshots.write(id, data, done)
        return True


def quorum_state(node_id: int, epoch: int) -> bytes:
    """The content of the `quorum-state` file while this node leads."""
    return (
        f'{{"clusterId":"","leaderId":{node_id},"leaderEpoch":{epoch},"votedId":-1,"appliedOffset":0,'
        f'"currentVoters":[{{"voterId":{node_id}}}],"data_version":0}}'
    ).encode()


def quorum_epoch(data: bytes) -> int:
    """The epoch that a `quorum-state` file speaks of; ValueError if it is not one."""
    import json

    content = json.loads(data)
    epoch = content.get("leaderEpoch") if isinstance(content, dict) else None
    if not isinstance(epoch, int):
        raise ValueError("quorum-state has no leaderEpoch")
    return epoch
