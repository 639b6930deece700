"""Rows into the bytes of record batches, each to the partition that Kafka's own producers would choose.

Called by encode/encoder with the buffers of an Arrow batch. A key's partition is murmur2 of it; rows without a key stay
on one partition for as long as its batch lasts; a row may name its partition. No object is made per row but the bytes
of its key and value on their way. Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le
from mypy_extensions import i64

ROWS_PER_BATCH_MAX: Final = 1 << 20
"""A batch is closed at so many records, however small they are."""

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_NULL: Final = 1  # the varint of -1


class BadRow(ValueError):
    """A row that cannot be written: its number in the Arrow batch, and why."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason


class Spans:
    """A binary or string column: Arrow's offsets (i32), its bytes, and which rows are not null (empty: all)."""

    def __init__(self, offsets: bytes, data: bytes, valid: bytes, first: int) -> None:
        self.offsets = offsets
        self.data = data
        self.valid = valid
        self.all_valid = len(valid) == 0
        self.first: i64 = first
        """The column's first row within its buffers."""


class Numbers:
    """A column of i32: its bytes, and which rows are not null (empty: all)."""

    def __init__(self, data: bytes, valid: bytes, first: int) -> None:
        self.data = data
        self.valid = valid
        self.all_valid = len(valid) == 0
        self.first: i64 = first


class Headers:
    """A column of headers: which of `names` and `values` belong to a row (i32 offsets of a list)."""

    def __init__(self, offsets: bytes, valid: bytes, first: int, names: Spans, values: Spans) -> None:
        self.offsets = offsets
        self.valid = valid
        self.all_valid = len(valid) == 0
        self.first: i64 = first
        self.names = names
        self.values = values


class Target:
    """The batch of one partition, as far as it is written."""

    def __init__(self) -> None:
        self.out = BytesWriter()
        self.count: i64 = 0
        self.first_ms: i64 = 0
        self.max_ms: i64 = 0


class Topic:
    """A topic that rows go to: a batch for each partition, and the one for rows without a key."""

    def __init__(self, name: str, partitions: int, sticky: int) -> None:
        self.name = name
        self.partitions: i64 = partitions
        self.targets = [Target() for _ in range(partitions)]
        self.sticky: i64 = sticky


class Rows:
    """One Arrow batch as the walk wants it; `topics` and, unless there is one topic, which row goes to which."""

    def __init__(
        self,
        count: int,
        now_ms: int,
        topics: list[Topic],
        topic_of: Numbers | None,
        keys: Spans | None,
        values: Spans,
        partitions: Numbers | None,
        headers: Headers | None,
        stamps: bytes,
        ignore_keys: bool,
    ) -> None:
        self.count: i64 = count
        self.now_ms: i64 = now_ms
        self.topics = topics
        self.topic_of = topic_of
        self.keys = keys
        self.values = values
        self.partitions = partitions
        self.headers = headers
        self.stamps = stamps
        """i64 milliseconds per row; empty: now_ms for all."""
        self.ignore_keys = ignore_keys
        self.full_topic: Topic | None = None
        """Whose batch became full."""
        self.full_partition: i64 = -1
        self.full_sticky = False
        """Was it written by a row without a key?"""


def encode(rows: Rows, row: i64, batch_bytes: i64) -> i64:
    """Append rows from number `row` on until one batch is full (`rows.full_topic`) or all are done; the next row."""
    rows.full_topic = None
    topics = rows.topics
    topic = topics[0]
    topic_of = rows.topic_of
    keys = rows.keys
    values = rows.values
    partitions = rows.partitions
    headers = rows.headers
    stamps = rows.stamps
    timed = len(stamps) > 0
    by_key = keys is not None and not rows.ignore_keys
    now: i64 = rows.now_ms
    count: i64 = rows.count
    while row < count:
        if topic_of is not None:
            if not topic_of.all_valid and not _is_valid(topic_of.valid, topic_of.first + row):
                raise BadRow(row, "its topic is null")
            topic = topics[_number(topic_of, row)]
        key_start: i64 = 0
        key_end: i64 = -1
        if keys is not None and (keys.all_valid or _is_valid(keys.valid, keys.first + row)):
            key_start = _offset(keys.offsets, keys.first + row)
            key_end = _offset(keys.offsets, keys.first + row + 1)
        sticky = False
        partition: i64
        if partitions is not None and (partitions.all_valid or _is_valid(partitions.valid, partitions.first + row)):
            partition = _number(partitions, row)
            if partition < 0 or partition >= topic.partitions:
                raise BadRow(row, f"partition {partition} does not exist: {topic.name} has {topic.partitions}")
        elif by_key and key_end >= 0 and keys is not None:
            partition = (murmur2(keys.data, key_start, key_end) & 0x7FFFFFFF) % topic.partitions
        else:
            sticky = True
            partition = topic.sticky
        target = topic.targets[partition]
        if timed:
            now = _stamp(stamps, row)
        if target.count == 0:
            target.first_ms = now
            target.max_ms = now
        elif now > target.max_ms:
            target.max_ms = now
        _append(target, row, now - target.first_ms, keys, key_start, key_end, values, headers)
        row += 1
        if len(target.out) >= batch_bytes or target.count >= ROWS_PER_BATCH_MAX:
            rows.full_topic = topic
            rows.full_partition = partition
            rows.full_sticky = sticky
            break
    return row


def murmur2(data: bytes, start: i64, end: i64) -> i64:
    """Kafka's hash of the key data[start:end], as an unsigned number of 32 bits."""
    size: i64 = end - start
    h: i64 = (_SEED ^ size) & _MASK
    pos: i64 = start
    whole: i64 = start + (size & ~3)
    k: i64
    while pos < whole:
        k = _word(data, pos)
        k = (k * _M) & _MASK
        k = k ^ (k >> 24)
        k = (k * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
        pos += 4
    if pos < end:
        k = 0
        shift: i64 = 0
        byte: i64
        while pos < end:
            byte = data[pos]
            k |= byte << shift
            shift += 8
            pos += 1
        h = ((h ^ k) * _M) & _MASK
    h = ((h ^ (h >> 13)) * _M) & _MASK
    return h ^ (h >> 15)


def _append(
    target: Target,
    row: i64,
    time_delta: i64,
    keys: Spans | None,
    key_start: i64,
    key_end: i64,
    values: Spans,
    headers: Headers | None,
) -> None:
    """One record at the end of its batch."""
    out = target.out
    value_start: i64 = 0
    value_end: i64 = -1
    if values.all_valid or _is_valid(values.valid, values.first + row):
        value_start = _offset(values.offsets, values.first + row)
        value_end = _offset(values.offsets, values.first + row + 1)
    size: i64 = 1 + _size(time_delta) + _size(target.count)
    size += 1 if key_end < 0 else _size(key_end - key_start) + key_end - key_start
    size += 1 if value_end < 0 else _size(value_end - value_start) + value_end - value_start
    encoded = b""
    if headers is not None and (headers.all_valid or _is_valid(headers.valid, headers.first + row)):
        encoded = _headers(headers, row)
    size += len(encoded) if len(encoded) else 1
    _write(out, size)
    out.append(0)
    _write(out, time_delta)
    _write(out, target.count)
    if keys is None or key_end < 0:
        out.append(_NULL)
    else:
        _write(out, key_end - key_start)
        out.write(keys.data[key_start:key_end])
    if value_end < 0:
        out.append(_NULL)
    else:
        _write(out, value_end - value_start)
        out.write(values.data[value_start:value_end])
    if len(encoded):
        out.write(encoded)
    else:
        out.append(0)
    target.count += 1


def _headers(headers: Headers, row: i64) -> bytes:
    """The count and the headers of one row."""
    at: i64 = _offset(headers.offsets, headers.first + row)
    stop: i64 = _offset(headers.offsets, headers.first + row + 1)
    names = headers.names
    values = headers.values
    out = BytesWriter()
    _write(out, stop - at)
    start: i64
    end: i64
    while at < stop:
        if not names.all_valid and not _is_valid(names.valid, names.first + at):
            raise BadRow(row, "the name of a header is null")
        start = _offset(names.offsets, names.first + at)
        end = _offset(names.offsets, names.first + at + 1)
        _write(out, end - start)
        out.write(names.data[start:end])
        if values.all_valid or _is_valid(values.valid, values.first + at):
            start = _offset(values.offsets, values.first + at)
            end = _offset(values.offsets, values.first + at + 1)
            _write(out, end - start)
            out.write(values.data[start:end])
        else:
            out.append(_NULL)
        at += 1
    return out.getvalue()


def _offset(offsets: bytes, at: i64) -> i64:
    return i64(read_i32_le(offsets, at * 4))


def _number(numbers: Numbers, row: i64) -> i64:
    return i64(read_i32_le(numbers.data, (numbers.first + row) * 4))


def _stamp(stamps: bytes, row: i64) -> i64:
    return read_i64_le(stamps, row * 8)


def _word(data: bytes, pos: i64) -> i64:
    return i64(read_i32_le(data, pos)) & _MASK


def _is_valid(bits: bytes, at: i64) -> bool:
    byte: i64 = bits[at >> 3]
    return (byte >> (at & 7)) & 1 != 0


def _size(value: i64) -> i64:
    """Bytes of a number as a varint."""
    zigzag: i64 = (value << 1) ^ (value >> 63)
    size: i64 = 1
    while zigzag >= 128:
        zigzag >>= 7
        size += 1
    return size


def _write(out: BytesWriter, value: i64) -> None:
    zigzag: i64 = (value << 1) ^ (value >> 63)
    while zigzag >= 128:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
