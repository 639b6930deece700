"""What becomes of one batch: it goes, stays as it is, stays without some of its records, or stays empty.

Kafka's rules, with one reserve of ours: what a pass does not cover (records behind the end of its map) keeps its
tombstones and markers without a date, because earlier records of their keys may still be there.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i16_be, write_i32_be, write_i64_be

from tapelog.log.compaction.keymap import KeyMap
from tapelog.log.compaction.records import Kept, joined, shifted, what_stays
from tapelog.log.compaction.source import payload_of
from tapelog.log.compaction.transactions import Transactions
from tapelog.wire.compression import compress
from tapelog.wire.record_batch import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
    sealed,
)

NO_DATA: Final = -1
GONE: Final = b""

LastOfProducer = tuple[int, int]
"""The offset of an active producer's last record (NO_DATA: only markers are known of it), and its epoch."""


class Judge:
    """Decides on the batches of one pass, in order."""

    def __init__(
        self,
        keys: KeyMap,
        covered: int,
        transactions: Transactions,
        producers: dict[int, LastOfProducer],
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self.unkeyed = 0
        self.records_kept = 0
        self._keys = keys
        self._covered = covered
        self._transactions = transactions
        self._producers = producers
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms

    def what_remains(self, buf: bytes, start: int, end: int, ends_segment: bool) -> bytes:
        """The batch as it stays, GONE if it does not. ends_segment: nothing of the new segment comes after it, so it
        stays at least empty, and the segment ends where the next one begins."""
        attributes: int = read_i16_be(buf, start + ATTRIBUTES_AT)
        base: int = read_i64_be(buf, start)
        covered = base + int(read_i32_be(buf, start + LAST_OFFSET_DELTA_AT)) < self._covered
        due = False
        if attributes & DELETE_HORIZON:
            due = int(read_i64_be(buf, start + BASE_TIMESTAMP_AT)) <= self._now_ms
        spent = False
        if attributes & CONTROL:
            spent = self._transactions.is_spent(buf, start, end)
            discard = spent and due
        else:
            discard = self._transactions.is_aborted(buf, start)
        count: int = read_i32_be(buf, start + RECORD_COUNT_AT)
        if discard or not count:
            return self._emptied(buf, start, end, ends_segment)
        dated = not covered or attributes & DELETE_HORIZON != 0
        if attributes & CONTROL:
            self.records_kept += count
            if dated or not spent:
                return buf[start:end]
            return self._rebuilt(buf, start, payload_of(buf, start, end), count, None, True)
        if base >= self._covered:
            self.records_kept += count
            return buf[start:end]
        payload = payload_of(buf, start, end)
        kept = what_stays(self._keys, payload, count, base, self._covered, due)
        self.unkeyed += kept.unkeyed
        self.records_kept += kept.count
        if not kept.count:
            return self._emptied(buf, start, end, ends_segment)
        dating = kept.tombstones and not dated
        if kept.count == count and not dating:
            return buf[start:end]
        return self._rebuilt(buf, start, joined(payload, kept.runs), kept.count, kept, dating)

    def _emptied(self, buf: bytes, start: int, end: int, ends_segment: bool) -> bytes:
        """Only the header, where somebody needs it: an active producer whose last batch it is, the segment's end."""
        if not ends_segment and not self._is_last_of_producer(buf, start):
            return GONE
        if not int(read_i32_be(buf, start + RECORD_COUNT_AT)):
            return buf[start:end]
        attributes = int(read_i16_be(buf, start + ATTRIBUTES_AT)) & ~(COMPRESSION_MASK | DELETE_HORIZON)
        newest: int = read_i64_be(buf, start + MAX_TIMESTAMP_AT)
        return _with_header(buf, start, attributes, newest, newest, 0, b"")

    def _is_last_of_producer(self, buf: bytes, start: int) -> bool:
        producer_id: int = read_i64_be(buf, start + PRODUCER_ID_AT)
        last = self._producers.get(producer_id) if producer_id >= 0 else None
        if last is None:
            return False
        if last[0] != NO_DATA:
            return int(read_i64_be(buf, start)) + int(read_i32_be(buf, start + LAST_OFFSET_DELTA_AT)) == last[0]
        control = int(read_i16_be(buf, start + ATTRIBUTES_AT)) & CONTROL != 0
        return control and int(read_i16_be(buf, start + PRODUCER_EPOCH_AT)) == last[1]

    def _rebuilt(self, buf: bytes, start: int, records: bytes, count: int, kept: Kept | None, dating: bool) -> bytes:
        """The batch around fewer records, or with a date from which tombstones or a marker may go."""
        attributes: int = read_i16_be(buf, start + ATTRIBUTES_AT)
        stamp: int = read_i64_be(buf, start + BASE_TIMESTAMP_AT)
        newest: int = read_i64_be(buf, start + MAX_TIMESTAMP_AT)
        if kept is not None and not attributes & LOG_APPEND_TIME:
            newest = stamp + kept.newest_delta
        if dating:
            records = shifted(records, self._horizon_ms - stamp)
            attributes |= DELETE_HORIZON
            stamp = self._horizon_ms
        return _with_header(
            buf, start, attributes, stamp, newest, count, compress(attributes & COMPRESSION_MASK, records)
        )


def _with_header(buf: bytes, start: int, attributes: int, stamp: int, newest: int, count: int, records: bytes) -> bytes:
    """A batch with some fields as given and the rest as in the one at buf[start]: offsets, producer, leader epoch."""
    out = BytesWriter()
    write_i16_be(out, attributes)
    write_i32_be(out, read_i32_be(buf, start + LAST_OFFSET_DELTA_AT))
    write_i64_be(out, stamp)
    write_i64_be(out, newest)
    write_i64_be(out, read_i64_be(buf, start + PRODUCER_ID_AT))
    write_i16_be(out, read_i16_be(buf, start + PRODUCER_EPOCH_AT))
    write_i32_be(out, read_i32_be(buf, start + BASE_SEQUENCE_AT))
    write_i32_be(out, count)
    out.write(records)
    return sealed(out.getvalue(), read_i64_be(buf, start), read_i32_be(buf, start + LEADER_EPOCH_AT))
