"""Loading a shard: replay its log from the start, a bounded piece per wake-up, until the end is reached.

Records above the high watermark are replayed too (this node leads the partition, so they will be committed or taken
back like any others); until then readers of committed state do not see them.
"""

from __future__ import annotations

import logging
from typing import Any

from tapelog.coordinators.shard import Shard
from tapelog.wire.control_records import ABORT, COMMIT, control_kind
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.primitives import WireError
from tapelog.wire.record_batch import NO_PRODUCER_ID, BatchHeader, batches, records_of

log = logging.getLogger(__name__)


class Loading:
    """The replay of one shard's log."""

    def __init__(self, shard: Shard[Any], bytes_max: int) -> None:
        self.shard = shard
        self.finished = False
        """There is nothing more to do: everything is replayed, or cannot be."""
        self.succeeded = False
        self._bytes_max = bytes_max
        self._offset = -1

    def step(self) -> int:
        """Replay one piece; returns its size in bytes."""
        shard = self.shard
        if shard.closed:
            self.finished = True
            return 0
        before = shard.appended_bytes
        try:
            if self._offset < 0:
                self._offset = shard.log.start_offset(shard.partition)
            # First of all, so that the bulk of the log is replayed without being kept for an undo.
            shard.on_high_watermark(shard.log.high_watermark(shard.partition))
            self.succeeded = self.finished = self._replay_piece()
        except (KafkaError, WireError, ValueError) as error:
            if isinstance(error, KafkaError) and error.code == ErrorCode.NOT_COORDINATOR:
                log.info("coordinator partition %d went away while it was loaded: %s", shard.partition, error)
            else:
                log.exception("coordinator partition %d cannot be loaded; it stays unavailable", shard.partition)
            self.finished = True
        if self.succeeded:
            shard.next_offset = self._offset
        return shard.appended_bytes - before

    def _replay_piece(self) -> bool:
        shard = self.shard
        if self._offset >= shard.log.end_offset(shard.partition):
            return True
        data = shard.log.read(shard.partition, self._offset, self._bytes_max)
        if not data:
            raise ValueError(f"the log of partition {shard.partition} ends before its end offset, at {self._offset}")
        for header in batches(data, 0, len(data)):
            if header.is_control:
                self._replay_control(data, header)
            else:
                self._replay_batch(data, header)
            self._offset = header.last_offset + 1
        shard.appended_bytes += len(data)
        return self._offset >= shard.log.end_offset(shard.partition)

    def _replay_batch(self, data: bytes, header: BatchHeader) -> None:
        machine = self.shard.machine
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        for record in records_of(data, header):
            if record.offset >= self._offset and record.key is not None:
                machine.load(record.offset, record.key, record.value, producer_id)

    def _replay_control(self, data: bytes, header: BatchHeader) -> None:
        for record in records_of(data, header):
            kind = control_kind(record.key)
            if record.offset >= self._offset and kind in (ABORT, COMMIT):
                self.shard.machine.end_transaction(record.offset, header.producer_id, kind == COMMIT)
