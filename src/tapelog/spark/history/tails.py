"""What lies behind the batches of a segment's object: where an offset is, and what became of transactions.

A tail is read whole and its checksum is compared with the manifest's before anything in it is believed.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from tapelog.log.tier import layout
from tapelog.spark.history.store import Objects, StoreError
from tapelog.spark.plan.stored import Stored
from tapelog.wire.crc import crc32c

_ABORTED: Final = struct.Struct(">hqqqq")
_INDEXED: Final = struct.Struct(">ii")
_SNAPSHOT: Final = struct.Struct(">hIi")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SUMMED_FROM: Final = 6
_SNAPSHOT_VERSION: Final = 1


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted: its producer, and its first and last offset."""

    producer_id: int
    first: int
    last: int


class Tail:
    """The tail of one object, checked."""

    def __init__(self, stored: Stored, sections: Sequence[bytes]) -> None:
        self._base = stored.base
        self._size = stored.log_size
        self._index = sections[layout.OFFSET_INDEX]
        self._entries = range(len(self._index) // _INDEXED.size)
        self.aborted = [
            AbortedTransaction(producer, first, last)
            for _, producer, first, last, _ in _ABORTED.iter_unpack(sections[layout.TXN_INDEX])
        ]

    def position_of(self, offset: int) -> int:
        """A position at or before the batch that holds offset, where a batch begins."""
        number = bisect_right(self._entries, offset, key=self._offset) - 1
        return self._position(number) if number >= 0 else 0

    def end_of(self, until: int) -> int:
        """A position at or behind the last batch that holds an offset below until."""
        number = bisect_left(self._entries, until - 1, key=self._offset) + 1  # an entry's offset is its batch's last
        return self._position(number) if number < len(self._entries) else self._size

    def _offset(self, number: int) -> int:
        return self._base + int(_INDEXED.unpack_from(self._index, number * _INDEXED.size)[0])

    def _position(self, number: int) -> int:
        return int(_INDEXED.unpack_from(self._index, number * _INDEXED.size)[1])


def read_tail(objects: Objects, stored: Stored) -> Tail:
    """The tail of an object; StoreError if it is not what the manifest says."""
    data = objects.read(stored.name, stored.log_size, stored.tail_size)
    try:
        footer, sections = layout.parse_tail(data)
        if layout.tail_crc(data) != stored.tail_crc or footer.base_offset != stored.base:
            raise layout.LayoutError("it is not the one that the manifest names")
        return Tail(stored, sections)
    except (layout.LayoutError, struct.error) as error:
        raise damaged(stored, str(error)) from None


def first_open(snapshot: bytes, name: str) -> int | None:
    """The least first offset of the transactions that are open in a snapshot of producers; None: none is."""
    try:
        version, checksum, count = _SNAPSHOT.unpack_from(snapshot)
        if version != _SNAPSHOT_VERSION or crc32c(snapshot[_SUMMED_FROM:]) != checksum:
            raise ValueError("its checksum or version is wrong")
        rows = [_PRODUCER.unpack_from(snapshot, _SNAPSHOT.size + number * _PRODUCER.size) for number in range(count)]
    except (struct.error, ValueError) as error:
        raise StoreError(
            f"the producers' snapshot in {name} is damaged: {error}", f"object {name}", "see tape tier verify"
        ) from None
    return min((row[7] for row in rows if row[7] >= 0), default=None)


def damaged(stored: Stored, reason: str) -> StoreError:
    """An object that cannot be believed."""
    return StoreError(
        f"{stored.name} is damaged: {reason}",
        f"object with offsets {stored.first} to {stored.end - 1}",
        "see tape tier verify; leave tier.url out to read by brokers, which check it as well",
    )
