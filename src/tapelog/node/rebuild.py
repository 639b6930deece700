"""A compacted log that is damaged is made anew, in its own directory, with what another replica has.

Replicas compact on their own, so a damaged range cannot be replaced alone: what one has removed because of a later
record, another may still have, and a tombstone that one has removed may have hidden it. But everything that anybody may
have compacted can, which is all but the active segment: that has every record that was ever written. So [start, point)
is fetched from a replica in sync, the leader first, into a new log beside this one, the segments from there on are
copied, and the copy takes the log's place (`log.relocation`). Until then the log stays as it is, in sync and in use;
compaction begins anew afterwards.
"""

from __future__ import annotations

import logging
from struct import Struct
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError
from tapelog.log.log import RELATIVE_MAX, REPLICATION, Log
from tapelog.log.relocation import Relocation
from tapelog.node.moves import LATER_MS, Move
from tapelog.node.repair import LANE, TIMEOUT_MS, VERSION, records_of
from tapelog.wire.errors import KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.record_batch import HEADER_SIZE, base_offset, batch_size, last_offset, sealed

if TYPE_CHECKING:
    from tapelog.replication.partition import Partition

log = logging.getLogger("tapelog.node")

FETCH_BYTES: Final = 1 << 20
HOPELESS_MS: Final = 600_000
EMPTY: Final = Struct(">hiqqqhii")
"""Of a batch, what its checksum covers: attributes, last offset, timestamps, producer, count."""


class Rebuild(Move):
    """See the module."""

    in_place = True

    @staticmethod
    def possible(partition: Partition) -> bool:
        """Whether all that is damaged lies in segments that are complete."""
        held = partition.log
        return held.config.compact and bool(held.damaged) and _damage_end(held) <= held.active.base_offset

    def _new_copy(self) -> Relocation:
        held = self.log
        self.point = held.active.base_offset
        self._start = self._next = held.start_offset
        self._fetched = False
        self._new: Log | None = None
        image = self.node.image.partition(held.topic, held.partition)
        me = self.node.node_id
        others = [] if image is None else [id for id in image.isr if id != me]
        self._askable = sorted(others, key=lambda id: image is None or id != image.leader)
        return Relocation(held, self.home, self.home, first=self.point)

    @property
    def needed_bytes(self) -> int:
        return self.log.size_bytes - self.copy.copied_bytes

    def _ready(self) -> bool:
        if not self._fetched:
            self._ask_next()
        return self._fetched

    # --- what another replica has ------------------------------------------------------------------------------------

    def _ask_next(self) -> None:
        """Begin with the next replica."""
        held = self.log
        if not self._askable:
            self._give_up("no replica in sync has it")
            return
        try:
            if self._new is not None:
                self._new.close_files()
                self.home.disk.remove_tree(self.copy.path)
            self._next = self._start
            self._new = Log.open(
                self.home.disk,
                self.copy.path,
                topic=held.topic,
                partition=held.partition,
                config=held.config,
                clock=self.node.clock,
                start_offset=self._start,
                topic_id=held.topic_id,
                sync=False,
            )
        except DiskError as error:
            self._failed(error)
            return
        self._ask(self._askable.pop(0))

    def _ask(self, node_id: int) -> None:
        part = FetchPartition(partition=self.log.partition, fetch_offset=self._next, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=self.log.topic, partitions=[part])])
        copy = self.copy

        def told(response: Message | None) -> None:
            if copy is self.copy and not self.over and not self.owner.stopped:
                self._told(node_id, response)

        self.node.to_broker(node_id, LANE, request, VERSION, TIMEOUT_MS, told)

    def _told(self, node_id: int, response: Message | None) -> None:
        if not self._stands():
            return
        if self.copy.outdated:
            self.end("the log was cut, or mended")
            return
        data = records_of(response)
        size, next_offset, beyond = _below(data, self._next, self.point)
        try:
            self._append(data, size)
            if beyond or next_offset >= self.point:
                self._fill()
        except KafkaError:
            self._ask_next()
            return
        except DiskError as error:
            self._failed(error)
            return
        self._next = next_offset
        if beyond or next_offset >= self.point:
            self._complete()
        elif size == 0:
            self._ask_next()
        else:
            self._ask(node_id)

    def _append(self, data: bytes, size: int) -> None:
        new = self._new
        assert new is not None
        if size:
            first = base_offset(data, 0)
            if first < new.end_offset == self._start:  # records were deleted up to the middle of a batch
                new.truncate_fully_and_start_at(first)
            new.append(data, 0, size, self.partition.leader_epoch, REPLICATION)
            new.write()

    def _fill(self) -> None:
        """What the other has removed before the point leaves no gap there: recovery would take what lies behind one
        for lost."""
        new, held = self._new, self.log
        assert new is not None
        epoch = max(new.leader_epoch_cache.latest, held.leader_epoch_cache.epoch_for(self.point - 1), 0)
        while new.end_offset < self.point:
            last = min(self.point - 1, new.end_offset + RELATIVE_MAX - 1)
            batch = empty_batch(new.end_offset, last, epoch)
            new.append(batch, 0, len(batch), max(epoch, self.partition.leader_epoch), REPLICATION)
        new.write()

    def _complete(self) -> None:
        """All of it is there: make it durable in the background, then the rest is copied."""
        new, disk = self._new, self.home.disk
        assert new is not None
        try:
            new.active.seal()
            ticket = new.begin_flush()
            files = [*ticket.files, *new.active.index_files()]
        except DiskError as error:
            self._failed(error)
            return

        def flush() -> None:
            for file in files:
                file.sync()

        def flushed(failure: Exception | None) -> None:
            if self.over or self.owner.stopped:
                return
            if failure is not None:
                self._failed(failure)
                return
            new.close_files()
            if ticket.directory is not None:
                ticket.directory.close()
            self._new, self._fetched = None, True
            self._go_on()

        disk.start_job(flush, flushed)

    # --- how it ends -----------------------------------------------------------------------------------------------

    def _installed(self) -> None:
        held = self.log
        mended = [damage for damage in held.damaged if damage.next_offset <= self.point]
        held.damaged = [damage for damage in held.damaged if damage.next_offset > self.point]
        self.node.scrubbing.repairs.repaired += len(mended)
        log.warning(
            "%s-%d is repaired: up to offset %d it has what another replica has", held.topic, held.partition, self.point
        )
        self.partition.wake_fetches()

    def _give_up(self, reason: str) -> None:
        key = (self.log.topic, self.log.partition)
        self.owner.hopeless_until_ms[key] = self.node.clock.monotonic_ms() + HOPELESS_MS
        self.end(reason)

    def _anew(self, after_ms: int, reason: str) -> None:
        """Not by itself: what is damaged then is asked for again."""
        if after_ms >= LATER_MS:
            self._give_up(reason)
        else:
            self.end(reason)


def empty_batch(first_offset: int, last_offset: int, leader_epoch: int) -> bytes:
    """A batch without records, such as compaction leaves at the end of a segment."""
    return sealed(EMPTY.pack(0, last_offset - first_offset, -1, -1, -1, -1, -1, 0), first_offset, leader_epoch)


def _damage_end(held: Log) -> int:
    return max((damage.next_offset for damage in held.damaged), default=0)


def _below(data: bytes, offset: int, point: int) -> tuple[int, int, bool]:
    """Of batches that were fetched from offset on: how many bytes lie below the point, the offset behind them, and
    whether what follows lies behind the point."""
    position = 0
    while position + HEADER_SIZE <= len(data):
        size = batch_size(data, position)
        if size < HEADER_SIZE or position + size > len(data):
            break
        if base_offset(data, position) >= point:
            return position, offset, True
        offset = last_offset(data, position) + 1
        position += size
    return position, offset, False
