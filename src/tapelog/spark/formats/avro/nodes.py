"""What reads one Avro value into its column, for one pair of writer's and reader's schema.

A tree of these is made once per writer's schema (avro/resolve); then `read` walks the bytes, and every node appends to
the column that it was given. The bytes come from anybody: lengths are checked before they are believed, items bounded.
Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_f32_le, read_i32_le, read_i64_le, write_f32_le, write_f64_le, write_i32_le
from mypy_extensions import i64

from tapelog.spark.formats.columns import Bools, Column, Corrupt, Decimals, Int32s, Int64s, Lists, Structs, Views
from tapelog.spark.formats.run import CUT_SHORT, Constants, Node
from tapelog.spark.formats.varint import zigzag

ITEMS_MAX: Final = 1 << 24
"""Items of one array or map, where they take no bytes; else the bytes are the bound."""
MILLIS_MAX: Final = 9_223_372_036_854_775


class ReadNull(Node):
    """null, which takes no bytes."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        self.column.add_null()
        return pos


class ReadInt(Node):
    """int, date, time-millis."""

    def __init__(self, column: Int32s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        self.column.add(value)
        return pos


class ReadLong(Node):
    """long, or int where a long is wanted; timestamps in microseconds."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        self.column.add(value)
        return pos


class ReadMillis(Node):
    """timestamp-millis as microseconds."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        if value > MILLIS_MAX or value < -MILLIS_MAX:
            raise Corrupt("a timestamp is out of range")
        self.column.add(value * 1000)
        return pos


class ReadNanos(Node):
    """timestamp-nanos as microseconds, rounded down."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        self.column.add(value // 1000)
        return pos


class ReadIntAsFloat(Node):
    """int or long where a float is wanted."""

    def __init__(self, column: Int32s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        write_f32_le(self.column.data, float(value))
        self.column.count += 1
        return pos


class ReadIntAsDouble(Node):
    """int or long where a double is wanted."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = zigzag(buf, pos)
        write_f64_le(self.column.data, float(value))
        self.column.count += 1
        return pos


class ReadFloat(Node):
    """float: four bytes as they are."""

    def __init__(self, column: Int32s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 4:
            raise Corrupt(CUT_SHORT)
        write_i32_le(self.column.data, read_i32_le(buf, pos))
        self.column.count += 1
        return pos + 4


class ReadFloatAsDouble(Node):
    """float where a double is wanted."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 4:
            raise Corrupt(CUT_SHORT)
        write_f64_le(self.column.data, read_f32_le(buf, pos))
        self.column.count += 1
        return pos + 4


class ReadDouble(Node):
    """double: eight bytes as they are."""

    def __init__(self, column: Int64s) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 8:
            raise Corrupt(CUT_SHORT)
        self.column.add(read_i64_le(buf, pos))
        return pos + 8


class ReadBool(Node):
    """boolean: a byte."""

    def __init__(self, column: Bools) -> None:
        self.column = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        byte: i64 = buf[pos]
        if byte > 1:
            raise Corrupt("a boolean is neither 0 nor 1")
        self.column.add(byte == 1)
        return pos + 1


class ReadBytes(Node):
    """bytes and string."""

    def __init__(self, column: Views, part: int) -> None:
        self.column = column
        self.part: i64 = part

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64
        size, pos = zigzag(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        self.column.add(buf, pos, size, self.part)
        return pos + size


class ReadFixed(Node):
    """fixed."""

    def __init__(self, column: Views, size: int, part: int) -> None:
        self.column = column
        self.size: i64 = size
        self.part: i64 = part

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < self.size:
            raise Corrupt(CUT_SHORT)
        self.column.add(buf, pos, self.size, self.part)
        return pos + self.size


class ReadEnum(Node):
    """enum: the views of the writer's symbols, empty where the reader does not know one and has no default."""

    def __init__(self, column: Views, views: list[bytes]) -> None:
        self.column = column
        self.views = views

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        number: i64
        number, pos = zigzag(buf, pos)
        if number < 0 or number >= len(self.views):
            raise Corrupt("an enum has no symbol of this number")
        view = self.views[number]
        if not view:
            raise Corrupt("an enum's symbol is not in the reader's schema, which has no default for it")
        self.column.add_view(view)
        return pos


class ReadDecimal(Node):
    """decimal, in bytes, or with `size` in a fixed."""

    def __init__(self, column: Decimals, size: int) -> None:
        self.column = column
        self.size: i64 = size

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64 = self.size
        if size < 0:
            size, pos = zigzag(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        self.column.add(buf, pos, size)
        return pos + size


class ReadRecord(Node):
    """record: its fields in the writer's order, then what only the reader has."""

    def __init__(self, column: Structs, fields: list[Node]) -> None:
        self.column = column
        self.fields = fields

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        for field in self.fields:
            pos = field.read(buf, pos, end)
        self.column.count += 1
        return pos


class ReadUnion(Node):
    """union: the branch that the writer chose."""

    def __init__(self, branches: list[Node]) -> None:
        self.branches = branches

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        number: i64
        number, pos = zigzag(buf, pos)
        if number < 0 or number >= len(self.branches):
            raise Corrupt("a union has no branch of this number")
        return self.branches[number].read(buf, pos, end)


class ReadMember(Node):
    """One of several branches of the reader's union, each a field of a struct; the other fields become null."""

    def __init__(self, column: Structs, number: int, branch: Node) -> None:
        self.column = column
        self.number = number
        self.branch = branch

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        for number, field in enumerate(self.column.fields):
            if number == self.number:
                pos = self.branch.read(buf, pos, end)
            else:
                field.add_null()
        self.column.count += 1
        return pos


class ReadItems(Node):
    """array; and map, whose items are a key and a value."""

    def __init__(self, column: Lists, item: Node) -> None:
        self.column = column
        self.item = item

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        count: i64
        _size: i64
        idle: i64 = 0
        while True:
            count, pos = zigzag(buf, pos)
            if count == 0:
                break
            if count < 0:
                _size, pos = zigzag(buf, pos)
                count = -count
            if count < 0:
                raise Corrupt("an array's count does not fit")
            while count > 0:
                before: i64 = pos
                pos = self.item.read(buf, pos, end)
                count -= 1
                if pos > end:
                    raise Corrupt(CUT_SHORT)
                if pos == before:
                    idle += 1
                    if idle > ITEMS_MAX:
                        raise Corrupt("an array has too many items")
        self.column.close()
        return pos


class ReadPair(Node):
    """An item of a map."""

    def __init__(self, column: Structs, key: Node, value: Node) -> None:
        self.column = column
        self.key = key
        self.value = value

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        pos = self.value.read(buf, self.key.read(buf, pos, end), end)
        self.column.count += 1
        return pos


class ReadDefault(Node):
    """What the writer does not have: a value of the reader's schema among the constants."""

    def __init__(self, node: Node, constants: Constants, at: int, end: int) -> None:
        self.node = node
        self.constants = constants
        self.at: i64 = at
        self.end: i64 = end

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        self.node.read(self.constants.data, self.at, self.end)
        return pos


class Refuse(Node):
    """A branch that the reader's schema has no place for."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        raise Corrupt(self.reason)
