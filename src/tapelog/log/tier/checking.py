"""Batches from the tier are what was written, or are not served: every one is checked when it is first read here.

Stores and the way to them may spoil bytes, and nobody else would tell before a consumer does. What was checked is
remembered with the block it lies in, so that it is done once however many read it.

Hot: compiled with mypyc where possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from librt.strings import read_i32_be, read_i64_be

from tapelog.log.tier.buffers import Block
from tapelog.wire.crc import crc32c
from tapelog.wire.record_batch import HEADER_SIZE, MAGIC, MAGIC_AT

_CRC_AT: Final = 17
_CHECKED_FROM: Final = 21

_extended = cast(Callable[[memoryview, int], int], crc32c)


def known_good(blocks: list[Block], start: int, end: int) -> bool:
    """Whether all of it has been checked."""
    return all(block.vouches(start, end) for block in blocks)


def first_damaged(blocks: list[Block], start: int, end: int, least: int, bound: int) -> int:
    """Where the first batch begins in [start, end) that is not what was written; -1 if there is none. The range is
    whole batches, and these are its blocks, in order; offsets are at or above least and below bound, and grow: their
    checksums do not tell. Of two that do not follow each other it is the first, since nobody knows which is wrong."""
    at = before = start
    while at < end:
        head = _copy(blocks, at, at + HEADER_SIZE)
        size = 12 + int(read_i32_be(head, 8)) if len(head) == HEADER_SIZE else 0
        if size < HEADER_SIZE or at + size > end or head[MAGIC_AT] != MAGIC:
            return at
        base: int = read_i64_be(head, 0)
        last = base + int(read_i32_be(head, 23))
        if base < least:
            return before
        if not base <= last < bound:
            return at
        crc = 0
        for view in views(blocks, at + _CHECKED_FROM, at + size):
            crc = _extended(view, crc)
        if crc != int(read_i32_be(head, _CRC_AT)) & 0xFFFF_FFFF:
            return at
        before, at, least = at, at + size, last + 1
    for block in blocks:
        block.vouch(start, end)
    return -1


def views(blocks: list[Block], start: int, end: int) -> list[memoryview]:
    """The bytes of a range, not copied: good as long as the blocks are held."""
    found = []
    for block in blocks:
        first, last = max(start - block.position, 0), min(end - block.position, len(block.data))
        if first < last:
            found.append(block.data[first:last])
    return found


def _copy(blocks: list[Block], start: int, end: int) -> bytes:
    return b"".join(views(blocks, start, end))
