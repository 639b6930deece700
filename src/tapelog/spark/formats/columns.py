"""Columns that grow value by value, as Arrow lays them out: what the decoders of Avro and Protobuf write into.

No object is made per value. Texts and bytes are *views* (Arrow's binary_view): sixteen bytes with a length and a place
in one of the column's parts (part 0: the bytes that are being decoded, part 1: constants), or with the bytes themselves
where they are few. formats/arrays makes Arrow arrays of all this.

A record that turns out to be corrupt has been written in part: `mark` remembers how long every column is, `rollback`
goes back there. Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

VIEW: Final = 16
INLINE_MAX: Final = 12
"""Values up to this length lie in their view."""
CONSTANTS: Final = 1
"""The part that constants lie in."""
INT32_MAX: Final = (1 << 31) - 1
INT32_MIN: Final = -(1 << 31)

_ZERO_VIEW: Final = bytes(VIEW)


class Corrupt(Exception):
    """A record that is not what its schema says; the text is the reason."""


class Column:
    """Any column. `data` is laid out as the kind of column wants it."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.nulls = BytesWriter()
        """i32: the numbers of those that are null."""
        self.data = BytesWriter()
        self.checked = False
        """Whether each value is looked at on its own: set to find the one that spoils a column."""
        self.marked_count: i64 = 0
        self.marked_nulls: i64 = 0
        self.marked_data: i64 = 0

    def children(self) -> list[Column]:
        """The columns within."""
        return []

    def add_null(self) -> None:
        """Append a null."""
        write_i32_le(self.nulls, i32(self.count))
        self.pad()

    def pad(self) -> None:
        """Append something that takes the place of a null."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything."""
        self.count = 0
        self.nulls = BytesWriter()
        self.data = BytesWriter()
        for child in self.children():
            child.clear()

    def mark(self) -> None:
        """Remember how long it is."""
        self.marked_count = self.count
        self.marked_nulls = len(self.nulls)
        self.marked_data = len(self.data)
        for child in self.children():
            child.mark()

    def rollback(self) -> None:
        """Be as long again as it was at the mark."""
        self.count = self.marked_count
        self.nulls.truncate(self.marked_nulls)
        self.data.truncate(self.marked_data)
        for child in self.children():
            child.rollback()

    def check(self, checked: bool) -> None:
        """Set `checked`, here and within."""
        self.checked = checked
        for child in self.children():
            child.check(checked)


class Int32s(Column):
    """Four bytes each: int, date, float."""

    def add(self, value: i64) -> None:
        """Append a number, which must fit."""
        if value > INT32_MAX or value < INT32_MIN:
            raise Corrupt("a number does not fit into 32 bits")
        write_i32_le(self.data, i32(value))
        self.count += 1

    def pad(self) -> None:
        """Append a zero."""
        write_i32_le(self.data, 0)
        self.count += 1


class Int64s(Column):
    """Eight bytes each: long, timestamp, double."""

    def add(self, value: i64) -> None:
        """Append a number."""
        write_i64_le(self.data, value)
        self.count += 1

    def pad(self) -> None:
        """Append a zero."""
        write_i64_le(self.data, 0)
        self.count += 1


class Bools(Column):
    """A byte each."""

    def add(self, value: bool) -> None:
        """Append true or false."""
        self.data.append(1 if value else 0)
        self.count += 1

    def pad(self) -> None:
        """Append false."""
        self.data.append(0)
        self.count += 1


class Nulls(Column):
    """Nothing but nulls."""

    def pad(self) -> None:
        """Count one more."""
        self.count += 1


class Views(Column):
    """Texts, bytes, enums."""

    def __init__(self, text: bool) -> None:
        super().__init__()
        self.text = text

    def add(self, buf: bytes, pos: i64, size: i64, part: i64) -> None:
        """Append buf[pos:pos+size], whose bounds are checked; `part` says which buffer `buf` is."""
        data = self.data
        if self.checked and self.text:
            try:
                buf[pos : pos + size].decode()
            except UnicodeDecodeError:
                raise Corrupt("a string is not UTF-8") from None
        if size > INLINE_MAX:
            write_i64_le(data, size)
            write_i64_le(data, part | pos << 32)
        elif pos + INLINE_MAX <= len(buf):
            first: i64 = i64(read_i32_le(buf, pos))
            write_i64_le(data, size | first << 32)
            write_i64_le(data, read_i64_le(buf, pos + 4))
        else:
            write_i32_le(data, i32(size))
            data.write(buf[pos : pos + size] + bytes(INLINE_MAX - size))
        self.count += 1

    def add_view(self, view: bytes) -> None:
        """Append a view that was made before."""
        self.data.write(view)
        self.count += 1

    def pad(self) -> None:
        """Append an empty one."""
        self.data.write(_ZERO_VIEW)
        self.count += 1


class Decimals(Column):
    """Sixteen bytes each."""

    def __init__(self, precision: int) -> None:
        super().__init__()
        self.limit = 10**precision

    def add(self, buf: bytes, pos: i64, size: i64) -> None:
        """Append the big-endian number in two's complement at buf[pos:pos+size], whose bounds are checked."""
        if self.checked and not -self.limit < int.from_bytes(buf[pos : pos + size], "big", signed=True) < self.limit:
            raise Corrupt("a decimal has more digits than its schema says")
        while size > VIEW:  # a number that is longer than it needs to be
            byte: i64 = buf[pos]
            following: i64 = buf[pos + 1]
            if byte != (0xFF if following >= 0x80 else 0):
                raise Corrupt("a decimal does not fit into 128 bits")
            pos += 1
            size -= 1
        fill: i64 = 0xFF if size > 0 and buf[pos] >= 0x80 else 0
        at: i64 = 0
        while at < VIEW:
            self.data.append(buf[pos + size - 1 - at] if at < size else fill)
            at += 1
        self.count += 1

    def add_parts(self, high: i64, low: i64) -> None:
        """Append a number by its two halves."""
        write_i64_le(self.data, low)
        write_i64_le(self.data, high)
        self.count += 1

    def pad(self) -> None:
        """Append a zero."""
        self.add_parts(0, 0)


class Structs(Column):
    """Fields, each a column that is as long as this one."""

    def __init__(self, fields: list[Column]) -> None:
        super().__init__()
        self.fields = fields

    def children(self) -> list[Column]:
        """The fields."""
        return self.fields

    def pad(self) -> None:
        """A null in every field."""
        for field in self.fields:
            field.add_null()
        self.count += 1


class Lists(Column):
    """Lists, or maps, whose items are structs of key and value. `data`: i32, where each one ends among the items."""

    def __init__(self, items: Column) -> None:
        super().__init__()
        self.items = items

    def children(self) -> list[Column]:
        """The items."""
        return [self.items]

    def close(self) -> None:
        """What was appended to the items since the last list is the next one."""
        write_i32_le(self.data, i32(self.items.count))
        self.count += 1

    def pad(self) -> None:
        """Append an empty one."""
        self.close()


def view_of(data: bytes, at: int) -> bytes:
    """The view of a constant that lies at `at` among the constants."""
    if len(data) <= INLINE_MAX:
        return len(data).to_bytes(4, "little") + data + bytes(INLINE_MAX - len(data))
    return len(data).to_bytes(4, "little") + data[:4] + CONSTANTS.to_bytes(4, "little") + at.to_bytes(4, "little")
