"""The walk: where keys, values and headers lie in the bytes of record batches.

Called by decode/scan for each batch, decompressed. Nothing is copied and no object is made per record: the walk appends
numbers to the columns of a `Rows`, as Arrow wants them. A key or value becomes a *view* (Arrow's binary_view): sixteen
bytes with its length and the place where it lies, or, up to twelve bytes of length, with its bytes. Arrow copies all of
a column's values out at once, in C++.

The bytes come from anybody: whatever does not fit is a WireError, and what is written stays in proportion to the bytes.
Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from tapelog.wire.values import WireError

RECORD_SIZE_MIN: Final = 7
"""No record takes fewer bytes: length, attributes, timestamp, offset, key, value, number of headers."""
MILLIS_MAX: Final = 9_223_372_036_854_775
"""Timestamps beyond this, in either direction, do not fit into microseconds of 64 bits."""
VIEW: Final = 16
"""Bytes of a view."""

_INLINE_MAX: Final = 12  # values up to this length lie in their view
_NULL: Final = -1
_LAST_SHIFT: Final = 62  # of a number's tenth byte, which has one bit left to tell


class BadTimestamp(WireError):
    """A timestamp that cannot be told in microseconds."""


class Spans:
    """Keys, values, or what else may be null: views, and which of them are null."""

    def __init__(self) -> None:
        self.views = BytesWriter()
        """Up to the last one that is not null."""
        self.nulls = BytesWriter()
        """i32: the numbers of those that are null."""


class Rows:
    """What the walk found, column by column; decode/columns makes arrays of it."""

    def __init__(self, want_keys: bool, want_values: bool, want_stamps: bool, want_headers: bool) -> None:
        self.want_keys = want_keys
        self.want_values = want_values
        self.want_stamps = want_stamps
        self.want_headers = want_headers
        self.count: i64 = 0
        self.keys = Spans()
        self.values = Spans()
        self.offsets = BytesWriter()
        """i64 per row."""
        self.stamps = BytesWriter()
        """i64 per row, microseconds; nothing unless wanted."""
        self.header_count: i64 = 0
        self.header_names = Spans()
        self.header_values = Spans()
        self.header_ends = BytesWriter()
        """i32 per row: how many headers there are up to and with this row; nothing unless wanted."""
        self.headerless = BytesWriter()
        """i32: the numbers of the rows without headers."""


class Batch:
    """What the walk must know about a batch, and which of its records are wanted: offsets within [start, until)."""

    def __init__(
        self, *, count: int, base_offset: int, last_delta: int, millis: int, one_time: bool, start: int, until: int
    ) -> None:
        self.count: i64 = count
        self.base_offset: i64 = base_offset
        self.last_delta: i64 = last_delta
        self.millis: i64 = millis
        """The base timestamp, or with `one_time` the time of every record."""
        self.one_time = one_time
        self.start: i64 = start
        self.until: i64 = until


def walk(rows: Rows, buf: bytes, pos: i64, end: i64, part: i64, batch: Batch) -> None:
    """Append the records in buf[pos:end] to `rows`; `part` is the number of `buf` among those that views point into."""
    if batch.count < 0 or batch.count > (end - pos) // RECORD_SIZE_MIN:
        raise WireError("the record count does not fit")
    if rows.want_stamps and (batch.millis > MILLIS_MAX or batch.millis < -MILLIS_MAX):
        raise BadTimestamp(f"a timestamp of {batch.millis} ms is out of range")
    try:
        _walk(rows, buf, pos, end, part, batch)
    except IndexError:
        raise WireError("a record is cut short") from None


def _walk(rows: Rows, buf: bytes, pos: i64, end: i64, part: i64, batch: Batch) -> None:
    """As `walk`, whose caller turns an IndexError at the end of the bytes into a WireError.

    Lengths are checked before they are believed; a number that runs beyond its record is noticed by the next length.
    """
    size: i64
    delta: i64
    offsets = rows.offsets
    stamps = rows.stamps
    millis: i64 = batch.millis
    each_time = rows.want_stamps and not batch.one_time
    one_time = rows.want_stamps and batch.one_time
    previous: i64 = -1
    left: i64 = batch.count
    while left > 0:
        left -= 1
        size, pos = _number(buf, pos)
        if size < RECORD_SIZE_MIN - 1 or size > end - pos:
            raise WireError("a record's length does not fit")
        stop: i64 = pos + size
        time_delta: i64
        time_delta, pos = _number(buf, pos + 1)  # after attributes, of which there are none
        delta, pos = _number(buf, pos)
        if delta <= previous or delta > batch.last_delta:
            raise WireError("a record's offset does not follow the one before it")
        previous = delta
        delta += batch.base_offset
        if delta >= batch.until:
            return
        if delta >= batch.start:
            _walk_content(rows, buf, pos, stop, part)
            write_i64_le(offsets, delta)
            if each_time:
                write_i64_le(stamps, _micros(millis, time_delta))
            elif one_time:
                write_i64_le(stamps, millis * 1000)
            rows.count += 1
        pos = stop
    if pos != end:
        raise WireError("bytes are left over after the last record")


def _walk_content(rows: Rows, buf: bytes, pos: i64, stop: i64, part: i64) -> None:
    """Append the key, the value and the headers of one record: buf[pos:stop]."""
    size: i64
    size, pos = _number(buf, pos)
    if size > stop - pos or size < _NULL:
        raise WireError("a key does not fit into its record")
    if rows.want_keys:
        _append(rows.keys, rows.count, buf, pos, size, part)
    if size > 0:
        pos += size
    size, pos = _number(buf, pos)
    if size >= stop - pos or size < _NULL:  # the number of headers takes a byte
        raise WireError("a value does not fit into its record")
    if rows.want_values:
        _append(rows.values, rows.count, buf, pos, size, part)
    if rows.want_headers:
        _walk_headers(rows, buf, pos + size if size > 0 else pos, stop, part)


def _walk_headers(rows: Rows, buf: bytes, pos: i64, stop: i64, part: i64) -> None:
    """Append the headers of one record, whose count is at buf[pos] and which end at `stop`."""
    count: i64
    size: i64
    count, pos = _number(buf, pos)
    if count < 0 or count > (stop - pos) // 2:
        raise WireError("the header count does not fit")
    if count == 0:
        write_i32_le(rows.headerless, i32(rows.count))
    header: i64 = rows.header_count
    left: i64 = count
    while left > 0:
        left -= 1
        size, pos = _number(buf, pos)
        if size < 0 or size > stop - pos:
            raise WireError("a header's name does not fit into its record")
        _append(rows.header_names, header, buf, pos, size, part)
        pos += size
        size, pos = _number(buf, pos)
        if size < _NULL or size > stop - pos:
            raise WireError("a header does not fit into its record")
        _append(rows.header_values, header, buf, pos, size, part)
        if size > 0:
            pos += size
        header += 1
    if pos != stop:
        raise WireError("a record does not fill its length")
    rows.header_count = header
    write_i32_le(rows.header_ends, i32(header))


def _append(spans: Spans, number: i64, buf: bytes, pos: i64, size: i64, part: i64) -> None:
    """Append buf[pos:pos+size], which is checked, as element `number`; null if size is -1."""
    if size < 0:
        write_i32_le(spans.nulls, i32(number))
        return
    views = spans.views
    missing: i64 = number * VIEW - len(views)
    if missing > 0:
        views.write(bytes(missing))
    if size > _INLINE_MAX:
        write_i64_le(views, size)  # and four bytes of the value, for comparisons, which nobody makes
        write_i64_le(views, part | pos << 32)
    elif pos + _INLINE_MAX <= len(buf):
        first: i64 = i64(read_i32_le(buf, pos))
        write_i64_le(views, size | first << 32)
        write_i64_le(views, read_i64_le(buf, pos + 4))
    else:
        write_i32_le(views, i32(size))
        views.write(buf[pos : pos + size] + bytes(_INLINE_MAX - size))


def _number(buf: bytes, pos: i64) -> tuple[i64, i64]:
    """The zigzag number at buf[pos], and the position after it."""
    byte: i64 = buf[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    high: i64 = buf[pos + 1]
    if high < 0x80:
        byte += (high << 7) - 0x80
        return (byte >> 1) ^ -(byte & 1), pos + 2
    return _long_number(buf, pos)


def _long_number(buf: bytes, pos: i64) -> tuple[i64, i64]:
    """The same for any length, up to ten bytes."""
    byte: i64 = buf[pos]
    sign: i64 = byte & 1
    value: i64 = (byte & 0x7F) >> 1
    shift: i64 = 6
    while byte >= 0x80:
        pos += 1
        byte = buf[pos]
        if shift == _LAST_SHIFT and byte > 1:
            raise WireError("a number is too long")
        value |= (byte & 0x7F) << shift
        shift += 7
    return value ^ -sign, pos + 1


def _micros(millis: i64, delta: i64) -> i64:
    """A timestamp in microseconds, from the batch's and the record's distance from it."""
    if delta > 2 * MILLIS_MAX or delta < -2 * MILLIS_MAX:
        raise BadTimestamp("a timestamp is out of range")
    sum_ms: i64 = millis + delta
    if sum_ms > MILLIS_MAX or sum_ms < -MILLIS_MAX:
        raise BadTimestamp(f"a timestamp of {sum_ms} ms is out of range")
    return sum_ms * 1000


def validity(nulls: bytes, count: i64) -> bytes:
    """Arrow's bitmap of `count` elements, of which those are null whose numbers `nulls` holds (i32)."""
    bits = BytesWriter()
    bits.write(b"\xff" * ((count + 7) // 8))
    at: i64 = 0
    end: i64 = len(nulls)
    while at < end:
        number: i64 = i64(read_i32_le(nulls, at))
        bits[number >> 3] &= _CLEARED[number & 7]
        at += 4
    return bits.getvalue()


_CLEARED: Final = b"\xfe\xfd\xfb\xf7\xef\xdf\xbf\x7f"  # all bits but one
