"""Reading and writing the protocol's primitive types over plain bytes.

Owns the byte level: every decoder and encoder of messages, records and batches is written on `Reader` and
`Writer`. Promises: a Reader never reads outside [pos, end), never allocates more than the bytes it was given
justify, and reports anything wrong as `WireError`. Hot: compiled with mypyc where possible; the same code runs
interpreted on librt's C functions.
"""

from __future__ import annotations

from typing import Final, NoReturn, TypeAlias

from librt.strings import (
    BytesWriter,
    read_f64_be,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_f64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64 as i64_t
from mypy_extensions import mypyc_attr

ZERO_UUID: Final = b"\x00" * 16

_UVARINT_BYTES_MAX: Final = 5
_UVARLONG_BYTES_MAX: Final = 10


class WireError(Exception):
    """The bytes (on decode) or the values (on encode) do not fit the protocol."""


class UnsupportedVersionError(WireError):
    """The message, or a field that may not be left out, does not exist in the version asked for."""


class Slice:
    """A range of a frame, not copied: what a `records` field decodes to. Equal to any bytes of the same content."""

    def __init__(self, buf: bytes, start: int, end: int) -> None:
        self.buf = buf
        self.start = start
        self.end = end

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    def tobytes(self) -> bytes:
        """A copy of the range (the buffer itself when the range is all of it)."""
        return self.buf[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Slice):
            return self.tobytes() == other.tobytes()
        if isinstance(other, bytes):
            return self.tobytes() == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.tobytes())

    def __repr__(self) -> str:
        return f"Slice({self.end - self.start} bytes)"


@mypyc_attr(allow_interpreted_subclasses=True)
class Region:
    """Bytes that live elsewhere (in a log segment) and are sent without passing through Python. Subclassed by log."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self) -> bytes:
        """All `size` bytes; for those who cannot send the region from where it lies."""
        raise NotImplementedError


RecordBytes: TypeAlias = Slice | Region | bytes
"""What a records field may hold: decoded, in a file, or built in memory."""

Records: TypeAlias = RecordBytes | None


def _truncated() -> NoReturn:
    raise WireError("truncated")


def _null() -> NoReturn:
    raise WireError("null where the protocol has no null")


class Reader:
    """Decodes primitives from buf[pos:end], moving pos."""

    def __init__(self, buf: bytes, pos: i64_t = 0, end: i64_t = -1) -> None:
        size: i64_t = len(buf)
        if end < 0:
            end = size
        if pos < 0 or pos > end or end > size:
            raise WireError("range outside the buffer")
        self.buf = buf
        self.pos: i64_t = pos
        self.end: i64_t = end

    def remaining(self) -> int:
        """Bytes not read yet."""
        return self.end - self.pos

    def expect_end(self) -> None:
        """Refuse bytes after the last field."""
        if self.pos != self.end:
            raise WireError(f"{self.end - self.pos} bytes left over")

    # -- fixed size ---------------------------------------------------------------------------------------------

    def i8(self) -> int:
        """A signed byte."""
        pos = self.pos
        if pos >= self.end:
            _truncated()
        self.pos = pos + 1
        value: int = self.buf[pos]
        return value if value < 128 else value - 256

    def i16(self) -> int:
        """A signed 16-bit number."""
        pos = self.pos
        if pos + 2 > self.end:
            _truncated()
        self.pos = pos + 2
        return int(read_i16_be(self.buf, pos))

    def u16(self) -> int:
        """An unsigned 16-bit number."""
        pos = self.pos
        if pos + 2 > self.end:
            _truncated()
        self.pos = pos + 2
        value = int(read_i16_be(self.buf, pos))
        return value if value >= 0 else value + 0x10000

    def i32(self) -> int:
        """A signed 32-bit number."""
        pos = self.pos
        if pos + 4 > self.end:
            _truncated()
        self.pos = pos + 4
        return int(read_i32_be(self.buf, pos))

    def u32(self) -> int:
        """An unsigned 32-bit number."""
        pos = self.pos
        if pos + 4 > self.end:
            _truncated()
        self.pos = pos + 4
        value = int(read_i32_be(self.buf, pos))
        return value if value >= 0 else value + 0x100000000

    def i64(self) -> int:
        """A signed 64-bit number."""
        pos = self.pos
        if pos + 8 > self.end:
            _truncated()
        self.pos = pos + 8
        return int(read_i64_be(self.buf, pos))

    def f64(self) -> float:
        """A double."""
        pos = self.pos
        if pos + 8 > self.end:
            _truncated()
        self.pos = pos + 8
        return read_f64_be(self.buf, pos)

    def boolean(self) -> bool:
        """One byte; anything but zero is true."""
        pos = self.pos
        if pos >= self.end:
            _truncated()
        self.pos = pos + 1
        return self.buf[pos] != 0

    def uuid(self) -> bytes:
        """Sixteen bytes."""
        pos = self.pos
        stop = pos + 16
        if stop > self.end:
            _truncated()
        self.pos = stop
        return self.buf[pos:stop]

    # -- variable size ------------------------------------------------------------------------------------------

    def uvarint(self) -> int:
        """An unsigned number of up to 32 bits, seven bits to a byte."""
        pos = self.pos
        if pos >= self.end:
            _truncated()
        byte: int = self.buf[pos]
        self.pos = pos + 1
        if byte < 128:
            return byte
        return self._long_uvarint()

    def _long_uvarint(self) -> int:
        pos = self.pos - 1
        value = 0
        for shift in range(0, 7 * _UVARINT_BYTES_MAX, 7):
            if pos >= self.end:
                _truncated()
            byte: int = self.buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 128:
                if value > 0xFFFFFFFF:
                    break
                self.pos = pos
                return value
        raise WireError("variable-length number too long")

    def varint(self) -> int:
        """A signed number of up to 32 bits, zigzag."""
        value = self.uvarint()
        return (value >> 1) ^ -(value & 1)

    def varlong(self) -> int:
        """A signed number of up to 64 bits, zigzag."""
        pos = self.pos
        value = 0
        for shift in range(0, 7 * _UVARLONG_BYTES_MAX, 7):
            if pos >= self.end:
                _truncated()
            byte: int = self.buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 128:
                if value > 0xFFFFFFFFFFFFFFFF:
                    break
                self.pos = pos
                return (value >> 1) ^ -(value & 1)
        raise WireError("variable-length number too long")

    def take(self, size: i64_t) -> bytes:
        """The next size bytes, copied."""
        pos = self.pos
        stop = pos + size
        if size < 0 or stop > self.end:
            _truncated()
        self.pos = stop
        return self.buf[pos:stop]

    def _text(self, size: i64_t) -> str:
        pos = self.pos
        stop = pos + size
        if stop > self.end:
            _truncated()
        self.pos = stop
        try:
            return self.buf[pos:stop].decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("text is not UTF-8") from None

    def string(self) -> str:
        """Text with a 16-bit length."""
        size = self.i16()
        if size < 0:
            _null()
        return self._text(size)

    def nullable_string(self) -> str | None:
        """Text with a 16-bit length, -1 for null."""
        size = self.i16()
        if size == -1:
            return None
        if size < 0:
            raise WireError("negative length")
        return self._text(size)

    def compact_string(self) -> str:
        """Text with a variable length plus one."""
        size = self.uvarint()
        if size == 0:
            _null()
        return self._text(size - 1)

    def compact_nullable_string(self) -> str | None:
        """Text with a variable length plus one, zero for null."""
        size = self.uvarint()
        if size == 0:
            return None
        return self._text(size - 1)

    def bytestring(self) -> bytes:
        """Bytes with a 32-bit length."""
        size = self.i32()
        if size < 0:
            _null()
        return self.take(size)

    def nullable_bytestring(self) -> bytes | None:
        """Bytes with a 32-bit length, -1 for null."""
        size = self.i32()
        if size == -1:
            return None
        return self.take(size)

    def compact_bytestring(self) -> bytes:
        """Bytes with a variable length plus one."""
        size = self.uvarint()
        if size == 0:
            _null()
        return self.take(size - 1)

    def compact_nullable_bytestring(self) -> bytes | None:
        """Bytes with a variable length plus one, zero for null."""
        size = self.uvarint()
        if size == 0:
            return None
        return self.take(size - 1)

    def _slice(self, size: i64_t) -> Slice:
        pos = self.pos
        stop = pos + size
        if size < 0 or stop > self.end:
            _truncated()
        self.pos = stop
        return Slice(self.buf, pos, stop)

    def records(self) -> Slice | None:
        """Record batches with a 32-bit length, -1 for null; not copied."""
        size = self.i32()
        if size == -1:
            return None
        return self._slice(size)

    def compact_records(self) -> Slice | None:
        """Record batches with a variable length plus one, zero for null; not copied."""
        size = self.uvarint()
        if size == 0:
            return None
        return self._slice(size - 1)

    # -- arrays: lengths are checked against the bytes left, given the least size of an item ------------------------

    def array(self, item_size_min: i64_t) -> i64_t:
        """The length of an array that cannot be null."""
        count: i64_t = self.i32()
        if count < 0:
            _null()
        if count * item_size_min > self.end - self.pos:
            _truncated()
        return count

    def nullable_array(self, item_size_min: i64_t) -> i64_t:
        """The length of an array, -1 for null."""
        count: i64_t = self.i32()
        if count < -1:
            raise WireError("negative length")
        if count * item_size_min > self.end - self.pos:
            _truncated()
        return count

    def compact_array(self, item_size_min: i64_t) -> i64_t:
        """The length of a compact array that cannot be null."""
        count: i64_t = self.uvarint()
        if count == 0:
            _null()
        count -= 1
        if count * item_size_min > self.end - self.pos:
            _truncated()
        return count

    def compact_nullable_array(self, item_size_min: i64_t) -> i64_t:
        """The length of a compact array, -1 for null."""
        count: i64_t = self.uvarint()
        count -= 1
        if count * item_size_min > self.end - self.pos:
            _truncated()
        return count

    def i32_items(self, count: i64_t) -> list[int]:
        """That many 32-bit numbers in a row."""
        pos = self.pos
        stop = pos + 4 * count
        if stop > self.end:
            _truncated()
        buf = self.buf
        items: list[int] = []
        while pos < stop:
            items.append(int(read_i32_be(buf, pos)))
            pos += 4
        self.pos = pos
        return items

    def present(self) -> bool:
        """The mark before a struct that may be null: is it there?"""
        return self.i8() >= 0

    # -- tagged fields ------------------------------------------------------------------------------------------

    def tag_end(self) -> i64_t:
        """Read a tagged field's size: the position at which the field ends."""
        size: i64_t = self.uvarint()
        stop = self.pos + size
        if stop > self.end:
            _truncated()
        return stop

    def end_tag(self, stop: i64_t) -> None:
        """Hold a tagged field to the size it announced."""
        if self.pos != stop:
            raise WireError("tagged field does not fill its size")

    def skip_tags(self) -> None:
        """Pass over tagged fields, none of which is known here."""
        pos = self.pos
        if pos < self.end and self.buf[pos] == 0:
            self.pos = pos + 1
            return
        count: i64_t = self.uvarint()
        while count > 0:
            self.uvarint()
            self.pos = self.tag_end()
            count -= 1


class Writer:
    """Encodes primitives into chunks of bytes, with regions of files in between."""

    def __init__(self) -> None:
        self.out = BytesWriter()
        self._done: list[BytesWriter | Region] = []
        self._done_size: i64_t = 0
        self._frame = self.out
        self._frame_at: i64_t = 0
        self._frame_start: i64_t = 0

    @property
    def size(self) -> int:
        """Bytes so far, regions included."""
        return self._done_size + len(self.out)

    def finish(self) -> list[bytes | Region]:
        """What was written, in order: bytes joined where they touch, regions as they are."""
        if not self._done:
            return [self.out.getvalue()]
        chunks: list[bytes | Region] = []
        for part in self._done:
            chunks.append(part.getvalue() if isinstance(part, BytesWriter) else part)
        if len(self.out) > 0:
            chunks.append(self.out.getvalue())
        return chunks

    def tobytes(self) -> bytes:
        """What was written, as one piece; regions are read."""
        if not self._done:
            return self.out.getvalue()
        return b"".join([chunk.read() if isinstance(chunk, Region) else chunk for chunk in self.finish()])

    def begin_frame(self) -> None:
        """Leave room for the 32-bit size of what follows up to `end_frame`. Frames do not nest."""
        self._frame = self.out
        self._frame_at = len(self.out)
        write_i32_be(self.out, 0)
        self._frame_start = self._done_size + len(self.out)

    def end_frame(self) -> None:
        """Fill in the size of the frame begun last."""
        size: int = self._done_size + len(self.out) - self._frame_start
        out = self._frame
        at = self._frame_at
        out[at] = size >> 24 & 0xFF
        out[at + 1] = size >> 16 & 0xFF
        out[at + 2] = size >> 8 & 0xFF
        out[at + 3] = size & 0xFF

    def raw(self, value: bytes) -> None:
        """Bytes as they are."""
        self.out.write(value)

    def region(self, value: Region) -> None:
        """A region, kept apart from the bytes around it."""
        if len(self.out) > 0:
            self._done.append(self.out)
            self._done_size += len(self.out)
            self.out = BytesWriter()
        self._done.append(value)
        self._done_size += value.size

    # -- fixed size ---------------------------------------------------------------------------------------------

    def i8(self, value: int) -> None:
        """A signed byte."""
        if value < -128 or value > 127:
            raise WireError("number does not fit in a byte")
        self.out.append(value & 0xFF)

    def i16(self, value: int) -> None:
        """A signed 16-bit number."""
        write_i16_be(self.out, value)

    def u16(self, value: int) -> None:
        """An unsigned 16-bit number."""
        if value < 0 or value > 0xFFFF:
            raise WireError("number does not fit in 16 bits")
        write_i16_be(self.out, value if value < 0x8000 else value - 0x10000)

    def i32(self, value: int) -> None:
        """A signed 32-bit number."""
        write_i32_be(self.out, value)

    def u32(self, value: int) -> None:
        """An unsigned 32-bit number."""
        if value < 0 or value > 0xFFFFFFFF:
            raise WireError("number does not fit in 32 bits")
        write_i32_be(self.out, value if value < 0x80000000 else value - 0x100000000)

    def i64(self, value: int) -> None:
        """A signed 64-bit number."""
        write_i64_be(self.out, value)

    def f64(self, value: float) -> None:
        """A double."""
        write_f64_be(self.out, value)

    def boolean(self, value: bool) -> None:
        """One byte, 0 or 1."""
        self.out.append(1 if value else 0)

    def uuid(self, value: bytes) -> None:
        """Sixteen bytes."""
        if len(value) != 16:
            raise WireError("a uuid has 16 bytes")
        self.out.write(value)

    # -- variable size ------------------------------------------------------------------------------------------

    def uvarint(self, value: int) -> None:
        """An unsigned number, seven bits to a byte."""
        if value < 0:
            raise WireError("negative number")
        out = self.out
        while value >= 128:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)

    def varint(self, value: int) -> None:
        """A signed number of up to 32 bits, zigzag."""
        self.uvarint((value << 1) ^ (value >> 31))

    def varlong(self, value: int) -> None:
        """A signed number of up to 64 bits, zigzag."""
        self.uvarint((value << 1) ^ (value >> 63))

    def string(self, value: str) -> None:
        """Text with a 16-bit length."""
        data = _utf8(value)
        if len(data) > 32767:
            raise WireError("text too long")
        write_i16_be(self.out, len(data))
        self.out.write(data)

    def nullable_string(self, value: str | None) -> None:
        """Text with a 16-bit length, -1 for null."""
        if value is None:
            write_i16_be(self.out, -1)
        else:
            self.string(value)

    def compact_string(self, value: str) -> None:
        """Text with a variable length plus one."""
        data = _utf8(value)
        self.uvarint(len(data) + 1)
        self.out.write(data)

    def compact_nullable_string(self, value: str | None) -> None:
        """Text with a variable length plus one, zero for null."""
        if value is None:
            self.out.append(0)
        else:
            self.compact_string(value)

    def bytestring(self, value: bytes) -> None:
        """Bytes with a 32-bit length."""
        write_i32_be(self.out, len(value))
        self.out.write(value)

    def nullable_bytestring(self, value: bytes | None) -> None:
        """Bytes with a 32-bit length, -1 for null."""
        if value is None:
            write_i32_be(self.out, -1)
        else:
            self.bytestring(value)

    def compact_bytestring(self, value: bytes) -> None:
        """Bytes with a variable length plus one."""
        self.uvarint(len(value) + 1)
        self.out.write(value)

    def compact_nullable_bytestring(self, value: bytes | None) -> None:
        """Bytes with a variable length plus one, zero for null."""
        if value is None:
            self.out.append(0)
        else:
            self.compact_bytestring(value)

    def records(self, value: Records) -> None:
        """Record batches with a 32-bit length, -1 for null."""
        if value is None:
            write_i32_be(self.out, -1)
        else:
            write_i32_be(self.out, _records_size(value))
            self._records(value)

    def compact_records(self, value: Records) -> None:
        """Record batches with a variable length plus one, zero for null."""
        if value is None:
            self.out.append(0)
        else:
            self.uvarint(_records_size(value) + 1)
            self._records(value)

    def _records(self, value: Slice | Region | bytes) -> None:
        if isinstance(value, Region):
            if value.size > 0:
                self.region(value)
        elif isinstance(value, Slice):
            self.out.write(value.tobytes())
        else:
            self.out.write(value)

    def array(self, count: int) -> None:
        """The length of an array, -1 for null."""
        write_i32_be(self.out, count)

    def compact_array(self, count: int) -> None:
        """The length of a compact array, -1 for null."""
        self.uvarint(count + 1)

    def i32_items(self, values: list[int]) -> None:
        """32-bit numbers in a row."""
        out = self.out
        for value in values:
            write_i32_be(out, value)

    # -- tagged fields ------------------------------------------------------------------------------------------

    def tagged(self, tag: int, field: Writer) -> None:
        """One tagged field, whose content was written apart."""
        data = field.tobytes()
        self.uvarint(tag)
        self.uvarint(len(data))
        self.out.write(data)


def _utf8(value: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise WireError("text is not Unicode") from None


def _records_size(value: Slice | Region | bytes) -> int:
    if isinstance(value, bytes):
        return len(value)
    return value.size
