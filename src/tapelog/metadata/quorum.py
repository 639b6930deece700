"""The metadata log: replay and publish what the quorum commits; as its leader propose, append and answer.

MetadataLog does no I/O. What is committed (`on_commit`) becomes the next image, on leader and follower alike. While
this node leads (`elected`), proposals are appended through the log port; what they answer was computed from the newest
image, committed or not, and so waits until that is committed. A leader is active once everything before its epoch is
replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from tapelog.base.ports import Clock
from tapelog.metadata import records, snapshot
from tapelog.metadata.delta import ImageDelta, MetadataReplayError
from tapelog.metadata.difference import difference
from tapelog.metadata.fault import publishing, replaying
from tapelog.metadata.features import bootstrap_features
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    StateRecord,
    TransactionRecord,
)
from tapelog.metadata.snapshot import SnapshotId, SnapshotStore
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import Record

R = TypeVar("R")

READ_BYTES: Final = 1 << 20
BATCH_RECORDS_MAX: Final = 10_000
"""A larger change is several batches in a transaction: a batch is checked, sent and kept in memory in one piece."""
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
    """`image` is committed and published; `latest`, on an active leader, includes what is appended but not committed.

    Start: load() or load_snapshot(). Then on_commit() as the quorum commits, elected() and resigned() as it votes, and
    maybe_snapshot() now and then. `quorum_records`: what the quorum wants in a snapshot of that offset and time.
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
        active_changed: Callable[[bool], None] | None = None,
        quorum_records: Callable[[int, int], list[Record]] | None = None,
        batch_records_max: int = BATCH_RECORDS_MAX,
    ) -> None:
        self.port = port
        self.snapshots = snapshots
        self.node_id = node_id
        self.clock = clock
        self.publish = publish
        self.snapshot_bytes_max = snapshot_bytes_max
        self.active_changed = active_changed
        self.quorum_records = quorum_records
        self.batch_records_max = batch_records_max
        self.epoch = -1
        self.active = False
        self.image = MetadataImage(cluster_id=cluster_id)
        self.latest = self.image
        self._begins_at = -1
        self._parked: deque[_Parked] = deque()
        self._transaction: list[StateRecord] | None = None
        self._snapshot: SnapshotId = (0, 0)
        self._snapshot_size = 0
        self._snapshot_under_way = False
        self._bytes_since_snapshot = 0

    # -- start

    def load(self) -> int:
        """Replay snapshot and log: everything in them is committed. Returns the last epoch seen (0 if new)."""
        self.load_snapshot()
        self._replay_to(self.port.end_offset)
        return self.image.epoch

    def load_snapshot(self) -> None:
        """Begin with the newest snapshot that is whole; damaged ones are set aside. MetadataReplayError if the log does
        not reach back to it."""
        empty = MetadataImage(cluster_id=self.image.cluster_id)
        image = empty
        damaged: list[SnapshotId] = []
        for id in reversed(self.snapshots.list()):
            data = self.snapshots.read(id)
            try:
                image = snapshot.decode_image(data, id, empty.cluster_id)
            except WireError:
                damaged.append(id)
                continue
            self._snapshot, self._snapshot_size = id, len(data)
            break
        if self.port.start_offset > image.offset:
            names = ", ".join(snapshot.file_name(id) for id in damaged)
            raise MetadataReplayError(
                f"the metadata log begins at offset {self.port.start_offset}, and no whole snapshot reaches there"
                + (f"; damaged: {names}" if damaged else "")
            )
        for id in damaged:
            self.snapshots.set_aside(id)
        self.image = self.latest = image

    def install_snapshot(self, id: SnapshotId) -> None:
        """The leader's snapshot has taken the place of our log: publish what it says."""
        assert not self.active, "a leader has the whole log"
        data = self.snapshots.read(id)
        with replaying(id[0]):
            old, image = self.image, snapshot.decode_image(data, id, self.image.cluster_id)
        self._snapshot, self._snapshot_size, self._bytes_since_snapshot = id, len(data), 0
        self._transaction = None
        self.image = self.latest = image
        self._publish(image, difference(old, image))

    # -- replay

    def _replay_to(self, end_offset: int) -> ImageDelta | None:
        """Read and replay what is committed; None if that is nothing new."""
        offset = self.image.offset
        if offset >= end_offset:
            return None
        delta = ImageDelta(self.image)
        epoch, timestamp_ms = self.image.epoch, self.image.timestamp_ms
        while offset < end_offset:
            data = self.port.read(offset, READ_BYTES)
            before = offset
            for batch in records.decode_batches(data):
                if batch.base_offset < offset:
                    continue
                if batch.last_offset >= end_offset:
                    break
                self._replay_batch(delta, batch)
                offset, epoch, timestamp_ms = batch.last_offset + 1, batch.leader_epoch, batch.timestamp_ms
            self._bytes_since_snapshot += len(data)
            if offset == before:
                raise MetadataReplayError(f"the metadata log has nothing at offset {offset}")
        self.image = self.latest = delta.build(offset, epoch, timestamp_ms)
        return delta

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

    # -- leading

    def elected(self, epoch: int, start_offset: int) -> None:
        """This node leads; its epoch begins at start_offset with the leader change, which the quorum has appended."""
        assert not self.active, "an epoch has one leader"
        self.epoch, self._begins_at = epoch, start_offset
        self._activate()

    def resigned(self) -> None:
        """This node leads no more. What was appended may yet be committed by others; who waits must ask them."""
        self._begins_at = -1
        was_active, self.active = self.active, False
        lost, self._parked = self._parked, deque()
        self.latest = self.image
        if was_active and self.active_changed is not None:
            self.active_changed(False)
        for entry in lost:
            if entry.failed is not None:
                entry.failed(KafkaError(ErrorCode.NOT_CONTROLLER, "the active controller changed"))

    def _activate(self) -> None:
        """Propose from now on, if everything before this epoch is replayed; a new cluster gets its first records."""
        if self._begins_at < 0 or self.image.offset < self._begins_at:
            return
        self._begins_at = -1
        self.active = True
        now_ms = self.clock.wall_ms()
        if self.image.offset < self.port.end_offset:
            delta = ImageDelta(self.latest)
            delta.set_controller(self.node_id)
            self._park(self.port.end_offset, delta, now_ms, None, None)
        first: list[MetadataRecord] = []
        if self._transaction is not None:
            first.append(AbortTransactionRecord(reason="the controller changed"))
        if not self.image.features:
            first += [BeginTransactionRecord(name="Bootstrap records"), *bootstrap_features(), EndTransactionRecord()]
        if first:
            delta = ImageDelta(self.latest)
            for record in bootstrap_features() if not self.image.features else ():
                delta.replay(record)
            end = self._append(records.data_batch(first, now_ms, self.epoch))
            self._park(end, delta, now_ms, self._no_transaction, None)
        if self.active_changed is not None:
            self.active_changed(True)

    def _no_transaction(self) -> None:
        self._transaction = None

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
        if not self.active:
            failed(KafkaError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller"))
            return
        self._absorb()
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
        delta = ImageDelta(image)
        for record in outcome.records:  # before they are in the log: what cannot be replayed must not get there
            assert not isinstance(record, TransactionRecord), "what is proposed is atomic by itself"
            delta.replay(record)
        try:
            end = self._append_all(outcome.records, now_ms)
        except Exception as error:
            failed(error)
            return
        self._park(end, delta, now_ms, lambda: done(response), failed)

    def _absorb(self) -> None:
        """The quorum appended records of its own (who votes): the newest image covers them, too."""
        if self.latest.offset < self.port.end_offset:
            self._park(self.port.end_offset, ImageDelta(self.latest), self.latest.timestamp_ms, None, None)

    def _append_all(self, proposed: Sequence[MetadataRecord], now_ms: int) -> int:
        """Append a change that counts as a whole or not at all; returns the end of the log."""
        most = self.batch_records_max
        if len(proposed) <= most:
            return self._append(records.data_batch(proposed, now_ms, self.epoch))
        first: list[MetadataRecord] = [BeginTransactionRecord(name="A large change")]
        self._append(records.data_batch(first, now_ms, self.epoch))
        last: MetadataRecord = EndTransactionRecord()
        try:
            for at in range(0, len(proposed), most):
                self._append(records.data_batch(proposed[at : at + most], now_ms, self.epoch))
        except Exception:
            last = AbortTransactionRecord(reason="it could not be appended as a whole")
            raise
        finally:
            end = self._append(records.data_batch([last], now_ms, self.epoch))
        return end

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
        """Everything below end_offset is committed: publish it, in order, and let the answers go. MetadataFault if it
        cannot be replayed or followed."""
        if not self.active:
            with replaying(end_offset):
                delta = self._replay_to(end_offset)
            if delta is not None:
                self._publish(self.image, delta)
            self._activate()
            return
        self._absorb()
        while self._parked and self._parked[0].end_offset <= end_offset:
            entry = self._parked.popleft()
            if entry.delta is not None:
                self.image = entry.image
                self._publish(entry.image, entry.delta)
            if entry.answer is not None:
                entry.answer()

    def _publish(self, image: MetadataImage, delta: ImageDelta) -> None:
        with publishing(image.offset):
            self.publish(image, delta)

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
        if self._snapshot_under_way or image.offset <= self._snapshot[0] or self._transaction is not None:
            return False  # what an open transaction holds back is not in the image, but before its offset
        extra = self.quorum_records(image.offset, image.timestamp_ms) if self.quorum_records is not None else []
        data = snapshot.encode_image(image, extra)
        self._snapshot_under_way = True
        covered = self._bytes_since_snapshot

        def done(error: Exception | None) -> None:
            self._snapshot_under_way = False
            if error is not None or id <= self._snapshot:
                return  # in the latter case the leader's, which is newer, took its place
            self._bytes_since_snapshot -= covered
            old, self._snapshot, self._snapshot_size = self._snapshot, id, len(data)
            self.port.advance_start(old[0])  # should this one be damaged some day, the one before and the log will do
            for other in self.snapshots.list():
                if other < old:
                    self.snapshots.remove(other)

        self.snapshots.write(id, data, done)
        return True
