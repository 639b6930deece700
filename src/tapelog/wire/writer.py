"""Writing the protocol's primitive types into chunks of bytes, with regions of files in between.

Every encoder of messages and records is written on `Writer`. Values that do not fit raise WireError, or ValueError
where a number is too large for its field (a mistake of the caller, never of a client). Hot: see wire/reader.
"""

from __future__ import annotations

from librt.strings import BytesWriter, write_f64_be, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i64 as i64_t

from tapelog.wire.values import Records, Region, Slice, WireError


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
