"""Trees that read values, and the loop that has each record read by the tree of its writer's schema.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i32_le
from mypy_extensions import i64

from tapelog.spark.formats.columns import Column, Corrupt

PREFIX: Final = 5
"""A zero byte, and the schema's id in four."""
NO_PREFIX: Final = -1
CUT_SHORT: Final = "the record is cut short"


class Node:
    """Reads one value."""

    def read(self, buf: bytes, pos: i64, end: i64) -> i64:
        """Append the value at buf[pos], whose record ends at `end`; the position after it. Corrupt, IndexError."""
        raise NotImplementedError


class Constants:
    """Bytes that values may lie in besides those that are decoded: defaults, symbols."""

    def __init__(self) -> None:
        self.data = b""


def id_at(buf: bytes, bounds: bytes, row: i64) -> i64:
    """The schema id that a value begins with; -1 where it does not begin with one."""
    begin: i64 = i64(read_i32_le(bounds, row * 4))
    end: i64 = i64(read_i32_le(bounds, row * 4 + 4))
    if end - begin < PREFIX or buf[begin] != 0:
        return -1
    found: i64 = i64(read_i32_be(buf, begin + 1))
    return found


def run(column: Column, root: Node, buf: bytes, bounds: bytes, valid: bytes, row: i64, stop: i64, schema: i64) -> i64:
    """Read values from `row` on for as long as they carry this schema id (NO_PREFIX: they carry none).

    `bounds`: i32, where each value begins, and where the last one ends. `valid`: a byte per row, 0 for null; empty
    where none is null. The first row that was not read; Corrupt is about the row whose number is column.count.
    """
    masked = len(valid) > 0
    while row < stop:
        if masked and valid[row] == 0:
            column.add_null()
            row += 1
            continue
        begin: i64 = i64(read_i32_le(bounds, row * 4))
        end: i64 = i64(read_i32_le(bounds, row * 4 + 4))
        if schema >= 0:
            if end - begin < PREFIX or buf[begin] != 0:
                return row
            found: i64 = i64(read_i32_be(buf, begin + 1))
            if found != schema:
                return row
            begin += PREFIX
        try:
            begin = root.read(buf, begin, end)
        except IndexError:
            raise Corrupt(CUT_SHORT) from None
        if begin != end:
            raise Corrupt(CUT_SHORT if begin > end else "bytes are left over after the record")
        row += 1
    return row
