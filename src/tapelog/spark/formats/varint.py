"""Numbers of variable length: zigzag as Avro writes them, unsigned as Protobuf does. Hot: compiled where possible.

Reading goes no further than ten bytes; an IndexError says that the buffer ended. Whether a number ended within its
record is for the caller to see, by the position after it.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from tapelog.spark.formats.columns import Corrupt

_LAST_SHIFT: Final = 63  # of the tenth byte, which has one bit left to tell


def zigzag(buf: bytes, pos: i64) -> tuple[i64, i64]:
    """The signed number at buf[pos], and the position after it."""
    byte: i64 = buf[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value: i64
    value, pos = varint(buf, pos)
    return ((value >> 1) & 0x7FFF_FFFF_FFFF_FFFF) ^ -(value & 1), pos


def varint(buf: bytes, pos: i64) -> tuple[i64, i64]:
    """The 64 bits at buf[pos], as a signed number, and the position after them."""
    byte: i64 = buf[pos]
    if byte < 0x80:
        return byte, pos + 1
    high: i64 = buf[pos + 1]
    if high < 0x80:
        return byte + (high << 7) - 0x80, pos + 2
    value: i64 = byte & 0x7F
    shift: i64 = 0
    while byte >= 0x80:
        pos += 1
        shift += 7
        byte = buf[pos]
        if shift == _LAST_SHIFT and byte > 1:
            raise Corrupt("a number is too long")
        value |= _shifted(byte & 0x7F, shift)
    return value, pos + 1


def _shifted(bits: i64, shift: i64) -> i64:
    """bits << shift; the top bit by hand, since interpreted numbers do not wrap."""
    if shift == _LAST_SHIFT:
        return -0x8000_0000_0000_0000 if bits else 0
    return bits << shift
