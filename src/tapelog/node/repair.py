"""Damaged batches are got back from another replica or from the tier: exactly these offsets, written in place.

A replica of a log has the same batches, byte for byte, unless it was compacted by itself; the tier has what went up.
What comes from there counts only if its offsets, leader epochs, length and every checksum are right; it is synced, and
read again, before anybody is given it. A crash in between leaves the range damaged, as it was. Where nobody has it,
readers are told that it is corrupt, and it is asked for again now and then.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log.log import Log
from tapelog.log.scrub import Damage, replaces
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.primitives import Slice
from tapelog.wire.record_batch import HEADER_SIZE, base_offset, batch_size, last_offset, leader_epoch

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore
    from tapelog.replication.partition import Partition
    from tapelog.server.tier import TierReading

log = logging.getLogger("tapelog.node")

LANE: Final = "repair"
VERSION: Final = 12
TIMEOUT_MS: Final = 10_000
RETRY_MS: Final = 10_000
LOST_MS: Final = 600_000
REPAIR_BYTES_MAX: Final = 64 << 20
"""A larger range is not held in memory: it stays damaged."""


class Repairs:
    """What is being repaired; a few ranges at a time would gain nothing, so one after the other."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.repaired = 0
        """Ranges since the start."""
        self._waiting: list[Repair] = []
        self._busy = False

    def add(self, held: Log, damage: Damage) -> None:
        """Repair this, when its turn comes."""
        self._waiting.append(Repair(self, held, damage))
        self._go_on()

    def _go_on(self) -> None:
        if not self._busy and self._waiting:
            self._busy = True
            self._waiting.pop(0).start()

    def ended(self, repair: Repair, retry_ms: int) -> None:
        """It is done, or (retry_ms > 0) to be tried again after a while."""
        self._busy = False
        if retry_ms and not repair.outdated:
            self.node.timers.after(retry_ms, lambda: self._again(repair))
        self._go_on()

    def _again(self, repair: Repair) -> None:
        if not repair.outdated:
            self._waiting.append(repair)
            self._go_on()


class Repair:
    """One damaged range."""

    def __init__(self, owner: Repairs, held: Log, damage: Damage) -> None:
        self.owner = owner
        self.node = owner.node
        self.log = held
        self.damage = damage
        self.generation = held.generation
        self._askable: list[int] = []
        self._tier: tuple[TierReading, Partition] | None = None
        self._got = b""

    @property
    def outdated(self) -> bool:
        """Whether the log has become another one, or the range is as it should be."""
        held = self.log
        return held.closed or held.generation != self.generation or self.damage not in held.damaged

    def start(self) -> None:
        """Ask those who are in sync, one by one, and then the tier."""
        image = self.node.image.partition(self.log.topic, self.log.partition)
        me = self.node.node_id
        others = [] if image is None else [id for id in (*image.isr, *image.replicas) if id != me]
        self._askable = list(dict.fromkeys(others))
        self._tier = tier_of(self.node, self.log)
        hope = others or self._tier is not None
        self.damage.code = int(ErrorCode.KAFKA_STORAGE_ERROR if hope else ErrorCode.CORRUPT_MESSAGE)
        if self.outdated:
            self.owner.ended(self, 0)
        elif self.damage.end - self.damage.position > REPAIR_BYTES_MAX:
            self._lost("the range is too large to be repaired")
        else:
            self._ask_next()

    def _ask_next(self) -> None:
        self._got = b""
        if self._askable:
            self._ask(self._askable.pop(0), self.damage.first_offset)
        elif self._tier is not None:
            from tapelog.node.repair_tier import TierRange

            tier, self._tier = self._tier, None
            TierRange(self.node, *tier, self.damage, self._told_by_tier).tier_moved()
        elif self._rebuilt():
            self.owner.ended(self, RETRY_MS)
        else:
            self._lost("nobody else has it as it was")

    def _rebuilt(self) -> bool:
        """Whether the log is being made anew: where replicas were compacted differently nothing else helps."""
        state = self.node.topics.get(self.log.topic)
        partition = state.partitions[self.log.partition] if state is not None else None
        return partition is not None and partition.log is self.log and self.node.moves.mend(partition)

    def _ask(self, node_id: int, offset: int) -> None:
        left = self.damage.end - self.damage.position - len(self._got)
        part = FetchPartition(partition=self.log.partition, fetch_offset=offset, partition_max_bytes=max(left, 1))
        request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=self.log.topic, partitions=[part])])

        def told(response: Message | None) -> None:
            self._told(node_id, offset, response)

        self.node.to_broker(node_id, LANE, request, VERSION, TIMEOUT_MS, told)

    def _told(self, node_id: int, offset: int, response: Message | None) -> None:
        if self.outdated:
            self.owner.ended(self, 0)
            return
        batches, next_offset = _batches(response, offset, self.damage.next_offset)
        self._got += batches
        if not batches or len(self._got) > self.damage.end - self.damage.position:
            self._ask_next()
        elif next_offset < self.damage.next_offset:
            self._ask(node_id, next_offset)
        elif self._fits():
            self._write(f"node {node_id}")
        else:
            self._ask_next()

    def _told_by_tier(self, batches: bytes) -> None:
        self._got = batches
        if self.outdated:
            self.owner.ended(self, 0)
        elif self._fits():
            self._write("the tier")
        else:
            self._ask_next()

    def _fits(self) -> bool:
        return replaces(self.damage, self._got) and same_history(self.log, self._got)

    def _write(self, source: str) -> None:
        """Here and now, into the file that the log has: by its name, or later, it might be another one."""
        held, damage, data = self.log, self.damage, self._got
        segment = next((one for one in held.segments.items if one.base_offset == damage.base_offset), None)
        if segment is None or damage.end > segment.size:
            self.owner.ended(self, 0)
            return
        try:
            file = segment.file()
            held.mends += 1
            file.write_at(damage.position, data)
        except DiskError as error:
            self._written(source, error)
            return

        def keep() -> None:
            file.sync()
            if file.read_cold(damage.position, len(data)) != data:
                raise DiskError(f"{file.path}: what was written cannot be read back")

        def kept(failure: Exception | None) -> None:
            self._written(source, failure)

        held.disk.start_job(keep, kept)

    def _written(self, source: str, failure: Exception | None) -> None:
        held, damage = self.log, self.damage
        if isinstance(failure, DiskError) and not isinstance(failure, DiskFullError) and not self.outdated:
            self.node.storage_broke(failure, held.disk)
        if failure is not None:
            self.owner.ended(self, RETRY_MS)
            return
        if not self.outdated:
            held.damaged.remove(damage)
            self.owner.repaired += 1
            log.warning("%s-%d is repaired with what %s has: %s", held.topic, held.partition, source, damage)
            state = self.node.topics.get(held.topic)
            partition = state.partitions[held.partition] if state is not None else None
            if partition is not None:
                partition.wake_fetches()
        self.owner.ended(self, 0)

    def _lost(self, why: str) -> None:
        """Nobody could help. Others may be able to later."""
        held, damage = self.log, self.damage
        image = self.node.image.partition(held.topic, held.partition)
        alone = (image is None or len(image.replicas) < 2) and tier_of(self.node, held) is None
        damage.code = int(ErrorCode.CORRUPT_MESSAGE)
        log.error(
            "%s-%d cannot be repaired now: %s (%s). Consumers get CORRUPT_MESSAGE there%s",
            held.topic,
            held.partition,
            why,
            damage,
            "; without other replicas, seek past it or delete records up to it" if alone else " and it is tried again",
        )
        self.owner.ended(self, LOST_MS if alone else RETRY_MS)


def records_of(response: Message | None) -> bytes:
    """What was fetched of one partition; nothing if it was not."""
    if not isinstance(response, FetchResponse) or not response.responses:
        return b""
    part = response.responses[0].partitions[0]
    records = part.records
    if part.error_code or records is None:
        return b""
    if isinstance(records, Slice):
        return records.buf[records.start : records.end]
    return records if isinstance(records, bytes) else records.read()


def _batches(response: Message | None, offset: int, below: int) -> tuple[bytes, int]:
    """The whole batches of an answer within [offset, below), and the offset behind them; nothing if they do not begin
    there."""
    data = records_of(response)
    position = 0
    while position + HEADER_SIZE <= len(data):
        size = batch_size(data, position)
        if size < HEADER_SIZE or position + size > len(data) or base_offset(data, position) < offset:
            break
        if base_offset(data, position) >= below:
            break
        offset = last_offset(data, position) + 1
        position += size
    return data[:position], offset


def tier_of(node: NodeCore, held: Log) -> tuple[TierReading, Partition] | None:
    """Who reads a log's part of the tier, and for which partition; None if it has none."""
    state = node.topics.get(held.topic)
    partition = state.partitions[held.partition] if state is not None else None
    if node.tier_reads is None or partition is None or partition.log is not held or not held.config.remote:
        return None
    return node.tier_reads, partition


def same_history(held: Log, batches: bytes) -> bool:
    """Whether these batches were written in the leader epochs that the log has for their offsets: after an unclean
    election others may have had the same offsets."""
    position = 0
    while position + HEADER_SIZE <= len(batches):
        known = held.leader_epoch_cache.epoch_for(base_offset(batches, position))
        if known >= 0 and known != leader_epoch(batches, position):
            return False
        position += batch_size(batches, position)
    return True
