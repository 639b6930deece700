"""Compaction by rewriting: keeps a coordinator's log in proportion to its state.

When a shard's log has grown far beyond what its state needs, every live record is appended again, a bounded piece at
a time, as ordinary records. Once the last piece is committed the log may start where the rewriting began: whatever was
live then has been written again or changed since. A crash or a resignation half-way leaves a log that is merely longer.

An offset about which a transaction has yet to decide is not written again: its record would come after the pending one
and win against it. It gets a second chance at the end; if the transaction is still open then, the log keeps everything
from its records on.
"""

from __future__ import annotations

from typing import Any, Final

from tapelog.coordinators.outcome import CoordinatorRecord, Held, Machine, Outcome
from tapelog.coordinators.shard import Shard
from tapelog.wire.errors import ErrorCode

REWRITE_BYTES_MIN: Final = 4 * 1024 * 1024
"""A log smaller than this is never rewritten."""

GROWTH: Final = 4
"""A log is rewritten when it is so many times as large as its state needs."""

RECORDS_PER_STEP: Final = 500
KEYS_PER_STEP: Final = 2000


class Rewrite:
    """One rewriting of one shard's log."""

    def __init__(self, shard: Shard[Any]) -> None:
        self.finished = False
        self._shard = shard
        self._keys: list[object] = []
        self._held: list[object] = []
        self._again = False
        self._start_offset = 0
        self._begin_bytes = 0

    def start(self) -> None:
        """Note what is live and write the first piece."""
        self._start_offset = self._shard.next_offset
        self._begin_bytes = self._shard.appended_bytes
        self._keys = self._shard.machine.live_keys()
        self._keys.reverse()
        self._step()

    def _step(self) -> None:
        self._shard.write(self._piece, self._on_committed, self._on_failed)

    def _piece(self, machine: Machine) -> Outcome[None]:
        records: list[CoordinatorRecord] = []
        looked = 0
        while self._keys and len(records) < RECORDS_PER_STEP and looked < KEYS_PER_STEP:
            key = self._keys.pop()
            looked += 1
            record = machine.live_record(key)
            if isinstance(record, Held):
                if self._again:
                    self._start_offset = min(self._start_offset, record.offset)
                else:
                    self._held.append(key)
            elif isinstance(record, list):
                self._keys.extend(reversed(record))
            elif record is not None:
                records.append(record)
        return Outcome(records, None, atomic=False)

    def _on_committed(self, _: None) -> None:
        if self._shard.closed:
            return
        if not self._keys and self._held:
            self._keys, self._held, self._again = self._held, [], True
        if self._keys:
            self._step()
            return
        self.finished = True
        self._shard.appended_bytes -= self._begin_bytes
        self._shard.live_bytes = self._shard.appended_bytes
        if self._start_offset > self._shard.log.start_offset(self._shard.partition):
            self._shard.log.advance_start(self._shard.partition, self._start_offset)

    def _on_failed(self, _: ErrorCode) -> None:
        """The log was taken back or lost; the next flush considers anew."""
        self.finished = True
