"""Reading the protocol's primitive types from plain bytes.

Every decoder of messages, records and batches is written on `Reader`. Promises: it never reads outside [pos, end),
never allocates more than the bytes it was given justify, and reports anything wrong as `WireError`. Hot: compiled with
mypyc where possible; the same code runs interpreted on librt's C functions.
"""

from __future__ import annotations

from typing import Final, NoReturn

from librt.strings import read_f64_be, read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64 as i64_t

from tapelog.wire.values import Slice, WireError

_LONG: Final = 0x80  # the first value of a byte that says: more bytes follow
_UVARINT_BYTES_MAX: Final = 5
_UVARLONG_BYTES_MAX: Final = 10


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
        return read_i16_be(self.buf, pos)

    def u16(self) -> int:
        """An unsigned 16-bit number."""
        pos = self.pos
        if pos + 2 > self.end:
            _truncated()
        self.pos = pos + 2
        value: int = read_i16_be(self.buf, pos)
        return value if value >= 0 else value + 0x10000

    def i32(self) -> int:
        """A signed 32-bit number."""
        pos = self.pos
        if pos + 4 > self.end:
            _truncated()
        self.pos = pos + 4
        return read_i32_be(self.buf, pos)

    def u32(self) -> int:
        """An unsigned 32-bit number."""
        pos = self.pos
        if pos + 4 > self.end:
            _truncated()
        self.pos = pos + 4
        value: int = read_i32_be(self.buf, pos)
        return value if value >= 0 else value + 0x100000000

    def i64(self) -> int:
        """A signed 64-bit number."""
        pos = self.pos
        if pos + 8 > self.end:
            _truncated()
        self.pos = pos + 8
        return read_i64_be(self.buf, pos)

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
        value: int = self.buf[pos] if pos < self.end else _LONG
        if value >= _LONG:
            return self._long_uvarint()
        self.pos = pos + 1
        return value

    def _long_uvarint(self) -> int:
        """The general case; callers have done the one-byte case themselves, where a call would cost too much."""
        pos = self.pos
        value = 0
        for shift in range(0, 7 * _UVARINT_BYTES_MAX, 7):
            if pos >= self.end:
                _truncated()
            byte: int = self.buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < _LONG:
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
        pos = self.pos
        size: int = self.buf[pos] if pos < self.end else _LONG
        if size >= _LONG:
            size = self._long_uvarint()
        else:
            self.pos = pos + 1
        if size == 0:
            _null()
        return self._text(size - 1)

    def compact_nullable_string(self) -> str | None:
        """Text with a variable length plus one, zero for null."""
        pos = self.pos
        size: int = self.buf[pos] if pos < self.end else _LONG
        if size >= _LONG:
            size = self._long_uvarint()
        else:
            self.pos = pos + 1
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
        pos = self.pos
        size: int = self.buf[pos] if pos < self.end else _LONG
        if size >= _LONG:
            size = self._long_uvarint()
        else:
            self.pos = pos + 1
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
        pos = self.pos
        count: i64_t = self.buf[pos] if pos < self.end else _LONG
        if count >= _LONG:
            count = self._long_uvarint()
        else:
            self.pos = pos + 1
        if count == 0:
            _null()
        count -= 1
        if count * item_size_min > self.end - self.pos:
            _truncated()
        return count

    def compact_nullable_array(self, item_size_min: i64_t) -> i64_t:
        """The length of a compact array, -1 for null."""
        pos = self.pos
        count: i64_t = self.buf[pos] if pos < self.end else _LONG
        if count >= _LONG:
            count = self._long_uvarint()
        else:
            self.pos = pos + 1
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
            items.append(read_i32_be(buf, pos))
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
