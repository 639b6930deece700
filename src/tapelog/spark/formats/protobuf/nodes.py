"""What reads Protobuf values into columns. Hot: compiled with mypyc where possible.

Fields come in any order, may be missing, and may come twice, when the last one counts: a message is passed over once to
see where its fields lie, then they are read. What is repeated is read at once, since every occurrence counts. The bytes
come from anybody: lengths are checked before they are believed.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_le, read_i64_le, write_i32_le
from mypy_extensions import i64

from tapelog.spark.formats.columns import Bools, Column, Corrupt, Decimals, Int32s, Int64s, Lists, Structs, Views
from tapelog.spark.formats.run import CUT_SHORT, Node
from tapelog.spark.formats.varint import varint, zigzag

VARINT: Final = 0
BITS64: Final = 1
LENGTH: Final = 2
BITS32: Final = 5
_GROUP: Final = 3
_GROUP_END: Final = 4
GROUPS_MAX: Final = 100
"""Unknown groups within each other."""
SECONDS_MAX: Final = 9_223_372_036_854
NANOS_MAX: Final = 999_999_999
PATH_MAX: Final = 64
DIRECT_MAX: Final = 256
"""Fields with numbers below this are found without a search."""


class Value(Node):
    """Reads a value of one wire type. `missing`: what stands for one that is not there and has no presence."""

    def __init__(self, column: Column, wire: int) -> None:
        self.column = column
        self.wire: i64 = wire

    def missing(self) -> None:
        """Append the default."""
        self.column.pad()


class ReadInt32(Value):
    """int32; with `signed`, sint32."""

    def __init__(self, column: Int32s, signed: bool) -> None:
        super().__init__(column, VARINT)
        self.ints = column
        self.signed = signed

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        if self.signed:
            value, pos = zigzag(buf, pos)
        else:
            value, pos = varint(buf, pos)
        self.ints.add(_int32(value))
        return pos


class ReadInt64(Value):
    """int64; with `signed`, sint64."""

    def __init__(self, column: Int64s, signed: bool) -> None:
        super().__init__(column, VARINT)
        self.ints = column
        self.signed = signed

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        if self.signed:
            value, pos = zigzag(buf, pos)
        else:
            value, pos = varint(buf, pos)
        self.ints.add(value)
        return pos


class ReadUInt32(Value):
    """uint32, as a long."""

    def __init__(self, column: Int64s) -> None:
        super().__init__(column, VARINT)
        self.ints = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = varint(buf, pos)
        self.ints.add(value & 0xFFFF_FFFF)
        return pos


class ReadUInt64(Value):
    """uint64, as a decimal of 20 digits."""

    def __init__(self, column: Decimals) -> None:
        super().__init__(column, VARINT)
        self.decimals = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = varint(buf, pos)
        self.decimals.add_parts(0, value)
        return pos


class ReadBool(Value):
    """bool."""

    def __init__(self, column: Bools) -> None:
        super().__init__(column, VARINT)
        self.bools = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = varint(buf, pos)
        self.bools.add(value != 0)
        return pos


class ReadEnum(Value):
    """enum, by name; a number without a name is its digits."""

    def __init__(self, column: Views, views: dict[int, bytes], default: bytes) -> None:
        super().__init__(column, VARINT)
        self.texts = column
        self.views = views
        self.default = default

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        value: i64
        value, pos = varint(buf, pos)
        value = _int32(value)
        view = self.views.get(int(value))
        if view is None:
            digits = str(int(value)).encode()
            view = len(digits).to_bytes(4, "little") + digits + bytes(12 - len(digits))
        self.texts.add_view(view)
        return pos

    def missing(self) -> None:
        self.texts.add_view(self.default)


class ReadFixed32(Value):
    """float and sfixed32; four bytes as they are."""

    def __init__(self, column: Int32s) -> None:
        super().__init__(column, BITS32)

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 4:
            raise Corrupt(CUT_SHORT)
        write_i32_le(self.column.data, read_i32_le(buf, pos))
        self.column.count += 1
        return pos + 4


class ReadUFixed32(Value):
    """fixed32, as a long."""

    def __init__(self, column: Int64s) -> None:
        super().__init__(column, BITS32)
        self.ints = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 4:
            raise Corrupt(CUT_SHORT)
        self.ints.add(i64(read_i32_le(buf, pos)) & 0xFFFF_FFFF)
        return pos + 4


class ReadFixed64(Value):
    """double and sfixed64; eight bytes as they are."""

    def __init__(self, column: Int64s) -> None:
        super().__init__(column, BITS64)
        self.ints = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 8:
            raise Corrupt(CUT_SHORT)
        self.ints.add(read_i64_le(buf, pos))
        return pos + 8


class ReadUFixed64(Value):
    """fixed64, as a decimal of 20 digits."""

    def __init__(self, column: Decimals) -> None:
        super().__init__(column, BITS64)
        self.decimals = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if end - pos < 8:
            raise Corrupt(CUT_SHORT)
        self.decimals.add_parts(0, read_i64_le(buf, pos))
        return pos + 8


class ReadBytes(Value):
    """bytes and string; and a message that lies within itself, as its bytes."""

    def __init__(self, column: Views) -> None:
        super().__init__(column, LENGTH)
        self.views = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64
        size, pos = varint(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        self.views.add(buf, pos, size, 0)
        return pos + size


class ReadTime(Value):
    """google.protobuf.Timestamp and Duration: seconds and nanoseconds, as microseconds."""

    def __init__(self, column: Int64s) -> None:
        super().__init__(column, LENGTH)
        self.ints = column

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64
        tag: i64
        value: i64
        size, pos = varint(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        stop: i64 = pos + size
        seconds: i64 = 0
        nanos: i64 = 0
        while pos < stop:
            tag, pos = varint(buf, pos)
            if tag == 1 << 3:
                seconds, pos = varint(buf, pos)
            elif tag == 2 << 3:
                value, pos = varint(buf, pos)
                nanos = _int32(value)
            else:
                pos = skip(buf, pos, stop, tag)
        if pos != stop:
            raise Corrupt(CUT_SHORT)
        if seconds >= SECONDS_MAX or seconds <= -SECONDS_MAX or nanos > NANOS_MAX or nanos < -NANOS_MAX:
            raise Corrupt("a time is out of range")
        self.ints.add(seconds * 1_000_000 + nanos // 1000)
        return stop


class Slot:
    """A field of a message, and where it was last seen in the one that is being read."""

    def __init__(self, name: str, value: Value, presence: bool, lists: Lists | None, packable: bool) -> None:
        self.name = name
        self.value = value
        self.wire: i64 = value.wire
        self.presence = presence
        self.lists = lists
        self.repeated = lists is not None
        self.packable = packable
        self.whole = isinstance(value, ReadMessage)
        self.rivals: list[Slot] = []
        """The other fields of its oneof."""
        self.at: i64 = -1


class ReadMessage(Value):
    """A message within another one, with its length in front; `read_within` reads one without."""

    def __init__(self, column: Structs) -> None:
        super().__init__(column, LENGTH)
        self.slots: list[Slot] = []
        self.direct: list[Slot | None] = []
        self.others: dict[int, Slot] = {}

    def add(self, number: int, slot: Slot) -> None:
        """The next field, by its number."""
        self.slots.append(slot)
        if number >= DIRECT_MAX:
            self.others[number] = slot
            return
        while len(self.direct) <= number:
            self.direct.append(None)
        self.direct[number] = slot

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64
        size, pos = varint(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        return self.read_within(buf, pos, pos + size)

    def read_within(self, buf: bytes, pos: i64, end: i64) -> i64:
        """Append the message that is buf[pos:end]."""
        tag: i64
        size: i64
        for slot in self.slots:
            slot.at = -1
        while pos < end:
            tag, pos = varint(buf, pos)
            number: i64 = tag >> 3
            found: Slot | None = None
            if number < len(self.direct):
                if number <= 0:
                    raise Corrupt("a field has no number")
                found = self.direct[number]
            else:
                found = self.others.get(int(number))
            if found is None:
                pos = skip(buf, pos, end, tag)
            elif tag & 7 == found.wire:
                if found.repeated:
                    pos = found.value.read(buf, pos, end)
                    continue
                if found.whole and found.at >= 0:
                    raise Corrupt(f"the field {found.name} is there twice: messages in parts are not put together")
                found.at = pos
                for rival in found.rivals:
                    rival.at = -1
                pos = skip(buf, pos, end, tag)
            elif found.packable and tag & 7 == LENGTH:
                size, pos = varint(buf, pos)
                if size < 0 or size > end - pos:
                    raise Corrupt("a length does not fit into the record")
                stop: i64 = pos + size
                while pos < stop:
                    pos = found.value.read(buf, pos, stop)
                if pos != stop:
                    raise Corrupt(CUT_SHORT)
            else:
                pos = skip(buf, pos, end, tag)
        if pos != end:
            raise Corrupt(CUT_SHORT)
        self.finish(buf, end)
        return end

    def finish(self, buf: bytes, end: i64) -> None:
        """Read what was seen, in the order of the columns."""
        for slot in self.slots:
            lists = slot.lists
            if lists is not None:
                lists.close()
            elif slot.at >= 0:
                slot.value.read(buf, slot.at, end)
            elif slot.presence:
                slot.value.column.add_null()
            else:
                slot.value.missing()
        self.column.count += 1


class ReadRoot(Node):
    """A value: with `path`, which message of its file it is comes in front, and must be this one."""

    def __init__(self, message: ReadMessage, path: list[int] | None) -> None:
        self.message = message
        self.path = path

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if self.path is not None:
            pos = self.after_path(buf, pos, self.path)
            if pos > end:
                raise Corrupt(CUT_SHORT)
        return self.message.read_within(buf, pos, end)

    def after_path(self, buf: bytes, pos: i64, path: list[int]) -> i64:
        """The position after the message indexes."""
        count: i64
        number: i64
        count, pos = zigzag(buf, pos)
        if count < 0 or count > PATH_MAX:
            raise Corrupt("the message indexes do not fit")
        found: list[int] = [] if count > 0 else [0]
        while count > 0:
            number, pos = zigzag(buf, pos)
            found.append(int(number))
            count -= 1
        if found != path:
            raise Corrupt(f"it is another message of its schema: number {found}, not {path}")
        return pos


def skip(buf: bytes, pos: i64, end: i64, tag: i64) -> i64:
    """Pass over a value whose tag was read; the position after it."""
    size: i64
    depth: i64 = 0
    while True:
        wire: i64 = tag & 7
        if wire == VARINT:
            size, pos = varint(buf, pos)
        elif wire == BITS64:
            pos += 8
        elif wire == LENGTH:
            size, pos = varint(buf, pos)
            if size < 0 or size > end - pos:
                raise Corrupt("a length does not fit into the record")
            pos += size
        elif wire == BITS32:
            pos += 4
        elif wire == _GROUP:
            depth += 1
            if depth > GROUPS_MAX:
                raise Corrupt("groups lie too deep within each other")
        elif wire == _GROUP_END and depth > 0:
            depth -= 1
        else:
            raise Corrupt("a field has a type that does not exist")
        if pos > end:
            raise Corrupt(CUT_SHORT)
        if depth == 0:
            return pos
        tag, pos = varint(buf, pos)


def _int32(value: i64) -> i64:
    """The low 32 bits, with their sign."""
    value &= 0xFFFF_FFFF
    return value - 0x1_0000_0000 if value > 0x7FFF_FFFF else value
