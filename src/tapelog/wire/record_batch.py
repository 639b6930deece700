"""Record batches, format 2: header fields by position, CRC, iteration over records, building.

The broker's log and replication look at header fields only (`base_offset`, `batch_size`, …: free functions over
bytes, no object made); coordinators, tools and tests iterate and build. Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i64

from tapelog.wire.compression import DECOMPRESSED_MAX, compress, decompress
from tapelog.wire.crc import crc32c
from tapelog.wire.reader import Reader
from tapelog.wire.values import WireError

MAGIC: Final = 2
LOG_OVERHEAD: Final = 12
"""Bytes before those that the length field counts."""
HEADER_SIZE: Final = 61

BASE_OFFSET_AT: Final = 0
LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
"""Also where the bytes begin that the CRC covers: base offset and leader epoch are outside."""
LAST_OFFSET_DELTA_AT: Final = 23
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
PRODUCER_ID_AT: Final = 43
PRODUCER_EPOCH_AT: Final = 51
BASE_SEQUENCE_AT: Final = 53
RECORD_COUNT_AT: Final = 57

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1

_COPY_FOR_CRC_MAX: Final = 4096  # below this, copying a slice is cheaper than making a view
_RECORD_SIZE_MIN: Final = 7


def base_offset(buf: bytes, pos: i64) -> int:
    """The offset of the first record."""
    return read_i64_be(buf, pos)


def batch_size(buf: bytes, pos: i64) -> int:
    """The size of the whole batch, from its length field, unchecked."""
    return LOG_OVERHEAD + int(read_i32_be(buf, pos + LENGTH_AT))


def batch_length(buf: bytes, pos: i64) -> int:
    """The length field: the size of the batch without its first 12 bytes."""
    return read_i32_be(buf, pos + LENGTH_AT)


def leader_epoch(buf: bytes, pos: i64) -> int:
    """The epoch of the leader that appended the batch."""
    return read_i32_be(buf, pos + LEADER_EPOCH_AT)


def magic(buf: bytes, pos: i64) -> int:
    """The format: 2, or 0 and 1 of times past."""
    return buf[pos + MAGIC_AT]


def attributes(buf: bytes, pos: i64) -> int:
    """The attribute bits."""
    return read_i16_be(buf, pos + ATTRIBUTES_AT)


def last_offset_delta(buf: bytes, pos: i64) -> int:
    """Last offset less base offset."""
    return read_i32_be(buf, pos + LAST_OFFSET_DELTA_AT)


def last_offset(buf: bytes, pos: i64) -> int:
    """The offset of the last record (of the last one there ever was, after compaction)."""
    return int(read_i64_be(buf, pos)) + int(read_i32_be(buf, pos + LAST_OFFSET_DELTA_AT))


def base_timestamp(buf: bytes, pos: i64) -> int:
    """The timestamp from which records count theirs."""
    return read_i64_be(buf, pos + BASE_TIMESTAMP_AT)


def max_timestamp(buf: bytes, pos: i64) -> int:
    """The greatest timestamp in the batch."""
    return read_i64_be(buf, pos + MAX_TIMESTAMP_AT)


def producer_id(buf: bytes, pos: i64) -> int:
    """The idempotent producer, or -1."""
    return read_i64_be(buf, pos + PRODUCER_ID_AT)


def producer_epoch(buf: bytes, pos: i64) -> int:
    """The producer's epoch, or -1."""
    return read_i16_be(buf, pos + PRODUCER_EPOCH_AT)


def base_sequence(buf: bytes, pos: i64) -> int:
    """The producer's sequence number of the first record, or -1."""
    return read_i32_be(buf, pos + BASE_SEQUENCE_AT)


def record_count(buf: bytes, pos: i64) -> int:
    """How many records the batch says it holds."""
    return read_i32_be(buf, pos + RECORD_COUNT_AT)


def stored_crc(buf: bytes, pos: i64) -> int:
    """The CRC field."""
    value = int(read_i32_be(buf, pos + CRC_AT))
    return value if value >= 0 else value + 0x100000000


def computed_crc(buf: bytes, start: i64, end: i64) -> int:
    """The CRC-32C that the batch in buf[start:end] should carry."""
    if end - start <= _COPY_FOR_CRC_MAX:
        return crc32c(buf[start + ATTRIBUTES_AT : end])
    return crc32c(memoryview(buf)[start + ATTRIBUTES_AT : end])


def crc_ok(buf: bytes, start: i64, end: i64) -> bool:
    """Is the batch in buf[start:end], of at least header size, what was written?"""
    return computed_crc(buf, start, end) == stored_crc(buf, start)


class BatchHeader:
    """All header fields of the batch at buf[pos], read once. Its size has been checked against the bytes there are."""

    def __init__(self, buf: bytes, pos: int, end: int) -> None:
        if end - pos < HEADER_SIZE or end > len(buf) or pos < 0:
            raise WireError("truncated batch header")
        self.position = pos
        self.base_offset = base_offset(buf, pos)
        self.size = batch_size(buf, pos)
        self.leader_epoch = leader_epoch(buf, pos)
        self.magic = magic(buf, pos)
        self.crc = stored_crc(buf, pos)
        self.attributes = attributes(buf, pos)
        self.last_offset_delta = last_offset_delta(buf, pos)
        self.base_timestamp = base_timestamp(buf, pos)
        self.max_timestamp = max_timestamp(buf, pos)
        self.producer_id = producer_id(buf, pos)
        self.producer_epoch = producer_epoch(buf, pos)
        self.base_sequence = base_sequence(buf, pos)
        self.record_count = record_count(buf, pos)
        if self.magic != MAGIC:
            raise WireError(f"record format {self.magic} is not supported")
        if self.size < HEADER_SIZE or self.size > end - pos:
            raise WireError("batch length does not fit")

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, wrapping after 2^31 - 1; -1 without a producer."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> int:
        """The codec."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        """Part of a transaction (or its marker)."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        """Holds markers rather than data."""
        return self.attributes & CONTROL != 0

    @property
    def is_log_append_time(self) -> bool:
        """Timestamps are the broker's: every record has max_timestamp."""
        return self.attributes & LOG_APPEND_TIME != 0


class Record:
    """One record. Headers are (name, value) pairs; names may repeat."""

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.timestamp == other.timestamp
            and self.key == other.key
            and self.value == other.value
            and list(self.headers) == list(other.headers)
        )

    def __hash__(self) -> int:
        return hash((self.offset, self.timestamp, self.key, self.value))

    def __repr__(self) -> str:
        return f"Record({self.offset}, {self.timestamp}, {self.key!r}, {self.value!r}, {list(self.headers)!r})"


def batches(buf: bytes, start: int, end: int, *, partial_tail: bool = False) -> Iterator[BatchHeader]:
    """The headers of consecutive batches in buf[start:end]. CRCs are not checked.

    partial_tail: an unfinished last batch, as brokers may send, ends the iteration instead of raising WireError.
    """
    pos = start
    while pos < end:
        if partial_tail and (end - pos < HEADER_SIZE or batch_size(buf, pos) > end - pos):
            return
        header = BatchHeader(buf, pos, end)
        yield header
        pos += header.size


def records_of(buf: bytes, header: BatchHeader, max_decompressed: int = DECOMPRESSED_MAX) -> Iterator[Record]:
    """The records of one batch, control records included; WireError if it is not what its header says."""
    start, end = header.position + HEADER_SIZE, header.end
    if header.compression:
        buf = decompress(header.compression, buf[start:end], max_decompressed)
        start, end = 0, len(buf)
    count = header.record_count
    if count < 0 or count * _RECORD_SIZE_MIN > end - start:
        raise WireError("record count does not fit")
    r = Reader(buf, start, end)
    for _ in range(count):
        yield _read_record(r, header)
    r.expect_end()


def _varlong(r: Reader) -> int:
    """Like r.varlong(), with the cases of one and two bytes kept short."""
    pos = r.pos
    if pos + 1 >= r.end:
        return r.varlong()
    value: int = r.buf[pos]
    if value < 0x80:
        r.pos = pos + 1
        return (value >> 1) ^ -(value & 1)
    high: int = r.buf[pos + 1]
    if high >= 0x80:
        return r.varlong()
    r.pos = pos + 2
    value += (high << 7) - 0x80
    return (value >> 1) ^ -(value & 1)


def _read_record(r: Reader, header: BatchHeader) -> Record:
    size = _varlong(r)
    stop = r.pos + size
    if size < 0 or stop > r.end:
        raise WireError("record length does not fit")
    r.pos += 1  # attributes, of which there are none
    timestamp = header.base_timestamp + _varlong(r)
    offset = header.base_offset + _varlong(r)
    size = _varlong(r)
    key = None if size == -1 else r.take(size)
    size = _varlong(r)
    value = None if size == -1 else r.take(size)
    count = _varlong(r)
    headers: Sequence[tuple[str, bytes | None]] = ()
    if count != 0:
        if count < 0 or count * 2 > r.end - r.pos:
            raise WireError("header count does not fit")
        headers = [_read_header(r) for _ in range(count)]
    if r.pos != stop:
        raise WireError("record does not fill its length")
    if header.is_log_append_time:
        timestamp = header.max_timestamp
    return Record(offset, timestamp, key, value, headers)


def _read_header(r: Reader) -> tuple[str, bytes | None]:
    name = r.take(_varlong(r))
    size = _varlong(r)
    value = None if size == -1 else r.take(size)
    try:
        return name.decode("utf-8"), value
    except UnicodeDecodeError:
        raise WireError("text is not UTF-8") from None


def iterate(buf: bytes, start: int, end: int, max_decompressed: int = DECOMPRESSED_MAX) -> Iterator[Record]:
    """All records of consecutive batches in buf[start:end], control records included. CRCs are not checked."""
    for header in batches(buf, start, end):
        yield from records_of(buf, header, max_decompressed)


def _write_varlong(out: BytesWriter, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value >= 128:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_sized(out: BytesWriter, data: bytes | None) -> None:
    if data is None:
        out.append(1)
    else:
        _write_varlong(out, len(data))
        out.write(data)


def _write_record(out: BytesWriter, record: Record, offset_delta: int, timestamp_delta: int) -> None:
    body = BytesWriter()
    body.append(0)
    _write_varlong(body, timestamp_delta)
    _write_varlong(body, offset_delta)
    _write_sized(body, record.key)
    _write_sized(body, record.value)
    _write_varlong(body, len(record.headers))
    for name, value in record.headers:
        _write_sized(body, name.encode("utf-8"))
        _write_sized(body, value)
    _write_varlong(out, len(body))
    out.write(body.getvalue())


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    compression: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    timestamp_type: int = 0,
    keep_offsets: bool = False,
) -> bytes:
    """One batch of at least one record, with its CRC.

    Offsets run from base_offset without gaps, whatever the records say; with keep_offsets they are the records' own,
    ascending, from base_offset on. timestamp_type 1 is LogAppendTime: readers then see the greatest timestamp.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    first_timestamp = records[0].timestamp
    greatest = first_timestamp
    body = BytesWriter()
    delta = -1
    for record in records:
        delta = record.offset - base_offset if keep_offsets else delta + 1
        greatest = max(greatest, record.timestamp)
        _write_record(body, record, delta, record.timestamp - first_timestamp)
    return batch_of(
        body.getvalue(),
        len(records),
        delta,
        first_timestamp,
        greatest,
        base_offset=base_offset,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        control=control,
        leader_epoch=leader_epoch,
        timestamp_type=timestamp_type,
    )


def batch_of(
    body: bytes,
    count: int,
    last_offset_delta: int,
    first_timestamp: int,
    max_timestamp: int,
    *,
    base_offset: int = 0,
    compression: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    timestamp_type: int = 0,
) -> bytes:
    """One batch, with its CRC, around records that are encoded already: `body`, not compressed."""
    bits = compression
    bits |= LOG_APPEND_TIME if timestamp_type else 0
    bits |= TRANSACTIONAL if transactional else 0
    bits |= CONTROL if control else 0
    tail = BytesWriter()
    write_i16_be(tail, bits)
    write_i32_be(tail, last_offset_delta)
    write_i64_be(tail, first_timestamp)
    write_i64_be(tail, max_timestamp)
    write_i64_be(tail, producer_id)
    write_i16_be(tail, producer_epoch)
    write_i32_be(tail, base_sequence)
    write_i32_be(tail, count)
    tail.write(compress(compression, body))
    return sealed(tail.getvalue(), base_offset, leader_epoch)


def sealed(tail: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """A whole batch from the bytes that its CRC covers (attributes to the end)."""
    out = BytesWriter()
    write_i64_be(out, base_offset)
    write_i32_be(out, ATTRIBUTES_AT - LOG_OVERHEAD + len(tail))
    write_i32_be(out, leader_epoch)
    out.append(MAGIC)
    crc = crc32c(tail)
    write_i32_be(out, crc if crc < 0x80000000 else crc - 0x100000000)
    out.write(tail)
    return out.getvalue()
