"""One partition on its leader: appends, the high watermark, and the queues that wait for it.

Called by the produce and fetch handlers and by the node core (`write`, `flushed`). Promises: nobody is
answered before the bytes are as durable as the acknowledgement says, answers keep the order of appends, and
the high watermark never goes back. With one replica the high watermark is the leader's own durable end
(`page_cache` topics: what has been written).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tapelog.log.log import CLIENT, COORDINATOR, Appended, FlushTicket, Log
from tapelog.replication.guards import Guards
from tapelog.replication.hub import Hub
from tapelog.replication.waiting import AppendWaiter, FetchWaiter
from tapelog.wire.control_records import ended_epoch, marker_batch
from tapelog.wire.errors import ErrorCode

ORIGIN_CLIENT: Final = CLIENT
ORIGIN_COORDINATOR: Final = COORDINATOR
_STORAGE_ERROR: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_TIMED_OUT: Final = int(ErrorCode.REQUEST_TIMED_OUT)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_INVALID_TXN_STATE: Final = int(ErrorCode.INVALID_TXN_STATE)


class Parked:
    """An append that waits until `end_offset` is committed."""

    def __init__(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        self.end_offset = end_offset
        self.waiter = waiter
        self.index = index


class Partition:
    """A partition this node leads."""

    def __init__(self, hub: Hub, log: Log, topic: str, topic_id: bytes, index: int, leader_epoch: int) -> None:
        self.hub = hub
        self.log = log
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.high_watermark: int = log.durable_end
        self.page_cache = log.config.page_cache
        self.replicas = 1
        self.min_insync_replicas = 1
        self.watched = False
        self.offline = False
        self.closed = False
        self._queued = False
        self._unflushed = False
        self._parked: deque[Parked] = deque()
        self._parked_markers: deque[Parked] = deque()
        self._waiters: dict[FetchWaiter, None] = {}
        self.guards = Guards(hub)
        self.bytes_in = 0
        self.bytes_out = 0
        self.batches_in = 0

    def append(self, buf: bytes, start: int, end: int, origin: int) -> Appended:
        """Validate, give offsets to, and queue one batch; raises KafkaError and changes nothing when it is refused."""
        appended = self.log.append(buf, start, end, self.leader_epoch, origin)
        if not appended.duplicate:
            self.bytes_in += end - start
            self.batches_in += 1
            if not self._queued:
                self._queued = True
                self.hub.dirty.append(self)
        return appended

    def append_marker(
        self, producer_id: int, producer_epoch: int, commit: bool, coordinator_epoch: int, transaction_version: int
    ) -> Appended:
        """Queue the marker that ends a producer's transaction here; raises KafkaError and changes nothing when the
        producer or the coordinator is fenced. Batches that wait for this transaction's admission are refused."""
        self.log.producers.check_marker(producer_id, producer_epoch, coordinator_epoch, transaction_version)
        batch = marker_batch(
            commit=commit,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=self.log.clock.wall_ms(),
        )
        appended = self.append(batch, 0, len(batch), ORIGIN_COORDINATOR)
        self.guards.break_up_to(producer_id, ended_epoch(producer_epoch, transaction_version), _INVALID_TXN_STATE)
        return appended

    def park(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        """Tell the waiter when everything below end_offset is committed; at once if it already is."""
        if end_offset <= self.high_watermark:
            waiter.committed(index)
        else:
            self._parked.append(Parked(end_offset, waiter, index))

    def park_marker(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        """Like park, but on `page_cache` topics, too, not before the disk has it: its transaction is over then for the
        coordinator, and a marker that a power cut takes back would never be written again."""
        if self.page_cache:
            self._parked_markers.append(Parked(end_offset, waiter, index))
        else:
            self.park(end_offset, waiter, index)

    def add_fetch(self, waiter: FetchWaiter) -> None:
        """Tell the waiter when the high watermark moves."""
        self._waiters[waiter] = None

    def remove_fetch(self, waiter: FetchWaiter) -> None:
        """Forget the waiter; harmless if it is not waiting here."""
        self._waiters.pop(waiter, None)

    def write(self) -> None:
        """Hand what was appended to the file system. Raises DiskError after failing everybody who waits for it."""
        self._queued = False
        if self.closed:
            return
        try:
            self.log.write()
        except Exception:
            self.fail_parked_above(self.log.written_end, _STORAGE_ERROR)
            raise
        if self.page_cache:
            self._advance(self.log.written_end)
            unflushed = self.log.written_end - self.log.durable_end
            flush = unflushed >= self.log.config.flush_messages or len(self._parked_markers) > 0
        else:
            flush = True
        if flush and not self._unflushed:
            self._unflushed = True
            self.hub.unflushed.append(self)

    def begin_flush(self) -> FlushTicket:
        """What the coming flush round must sync for this partition."""
        self._unflushed = False
        return self.log.begin_flush()

    def flushed(self, ticket: FlushTicket) -> None:
        """The round of this ticket is on disk."""
        if self.closed:
            return
        self.log.end_flush(ticket)
        if not self.page_cache:
            self._advance(self.log.durable_end)
        _release(self._parked_markers, self.log.durable_end)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch <= epoch, where it ended); (-1, -1) if unknown. The log learns of an epoch with its
        first record; one in which nothing was written ended where the log ends."""
        latest = self.log.leader_epoch_cache.latest
        if latest < epoch <= self.leader_epoch:
            known = epoch if latest < 0 or epoch == self.leader_epoch else latest
            return known, self.log.end_offset
        return self.log.epoch_end_offset(epoch)

    def use_config(self) -> None:
        """The log's configuration changed: take over what concerns acknowledgements."""
        self.page_cache = self.log.config.page_cache
        self.min_insync_replicas = min(self.log.config.min_insync_replicas, self.replicas)  # as Kafka has it
        if self.page_cache:
            self._advance(self.log.written_end)

    def wake_fetches(self) -> None:
        """Let every parked fetch look again (the start offset moved, or the partition went away)."""
        for waiter in self._waiters:
            if not waiter.ripe:
                waiter.ripe = True
                self.hub.ripe.append(waiter)

    def close(self, code: int = _NOT_LEADER) -> None:
        """Stop leading: everybody who waits is told so."""
        self.closed = True
        self.guards.close(code)
        self.fail_parked_above(-1, code)
        self.wake_fetches()

    def fail_parked_above(self, offset: int, code: int) -> None:
        """Fail every parked append that needs more than `offset`."""
        parked, self._parked = self._parked, deque()
        markers, self._parked_markers = self._parked_markers, deque()
        self._parked.extend([entry for entry in parked if entry.end_offset <= offset])
        self._parked_markers.extend([entry for entry in markers if entry.end_offset <= offset])
        for entry in (*parked, *markers):
            if entry.end_offset > offset:
                entry.waiter.failed(entry.index, code)

    def expire_parked(self, now_ms: int) -> None:
        """The disk takes its time: tell those whose time is over. Their batches stay, and may yet become visible."""
        parked, self._parked = self._parked, deque()
        markers, self._parked_markers = self._parked_markers, deque()
        self._parked.extend([entry for entry in parked if not entry.waiter.overdue(now_ms)])
        self._parked_markers.extend([entry for entry in markers if not entry.waiter.overdue(now_ms)])
        for entry in (*parked, *markers):
            if entry.waiter.overdue(now_ms):
                entry.waiter.failed(entry.index, _TIMED_OUT)

    def _advance(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        _release(self._parked, offset)
        if self._waiters:
            self.wake_fetches()
        if self.watched:
            self.hub.advanced.append(self)

    def invariants(self) -> None:
        """What must hold after every step."""
        log = self.log
        assert self.high_watermark <= log.end_offset, (self.high_watermark, log.end_offset)
        if not self.page_cache:
            assert self.high_watermark <= log.durable_end, (self.high_watermark, log.durable_end)


def _release(parked: deque[Parked], offset: int) -> None:
    """Tell those who wait for no more than offset."""
    while parked and parked[0].end_offset <= offset:
        entry = parked.popleft()
        entry.waiter.committed(entry.index)
