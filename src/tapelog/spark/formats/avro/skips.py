"""What passes over an Avro value that the reader does not have. Hot: compiled with mypyc where possible."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from tapelog.spark.formats.avro.nodes import ITEMS_MAX
from tapelog.spark.formats.columns import Corrupt
from tapelog.spark.formats.run import CUT_SHORT, Node
from tapelog.spark.formats.varint import zigzag

DEPTH_MAX: Final = 256
"""Records within records of their own kind."""


class SkipFixed(Node):
    """So many bytes; null takes none."""

    def __init__(self, size: int) -> None:
        self.size: i64 = size

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        if self.size > end - pos:
            raise Corrupt(CUT_SHORT)
        return pos + self.size


class SkipNumber(Node):
    """int, long, enum."""

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        _value: i64
        _value, pos = zigzag(buf, pos)
        return pos


class SkipBytes(Node):
    """bytes, string."""

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        size: i64
        size, pos = zigzag(buf, pos)
        if size < 0 or size > end - pos:
            raise Corrupt("a length does not fit into the record")
        return pos + size


class SkipRecord(Node):
    """record; the only one that can lie within itself, as often as the data says."""

    def __init__(self) -> None:
        self.fields: list[Node] = []
        self.depth: i64 = 0

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Corrupt("a record lies too deep within itself")
        for field in self.fields:
            pos = field.read(buf, pos, end)
        self.depth -= 1
        return pos


class SkipItems(Node):
    """array and map; blocks that tell their size are passed over at once."""

    def __init__(self, item: list[Node]) -> None:
        self.item = item

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        count: i64
        size: i64
        idle: i64 = 0
        while True:
            count, pos = zigzag(buf, pos)
            if count == 0:
                return pos
            if count < 0:
                size, pos = zigzag(buf, pos)
                if size < 0 or size > end - pos:
                    raise Corrupt("a length does not fit into the record")
                pos += size
                continue
            while count > 0:
                before: i64 = pos
                for node in self.item:
                    pos = node.read(buf, pos, end)
                count -= 1
                if pos > end:
                    raise Corrupt(CUT_SHORT)
                if pos == before:
                    idle += 1
                    if idle > ITEMS_MAX:
                        raise Corrupt("an array has too many items")
