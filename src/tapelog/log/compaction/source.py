"""Reading the batches of segments that are to be cleaned: in large chunks, every checksum looked at.

Used by both passes. A cleaning opens files of its own, so that it can run beside the log that owns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from librt.strings import read_i32_be, read_i64_be

from tapelog.base.ports import Disk
from tapelog.log.compaction.plan import Source
from tapelog.wire.compression import decompress
from tapelog.wire.record_batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    MAGIC,
    MAGIC_AT,
    attributes,
    crc_ok,
)
from tapelog.wire.values import WireError

READ_BYTES: Final = 512 * 1024
"""log.cleaner.io.buffer.size; larger batches are read whole."""
BATCH_RECORDS_BYTES_MAX: Final = 64 * 1024 * 1024
"""What the records of one batch may take up decompressed."""

Located = tuple[bytes, int, int]
"""A batch: bytes, and where in them it begins and ends."""


class UncleanableError(Exception):
    """The log holds something that cannot be cleaned; the text says what and where. It is left as it was."""


def batches_of(disk: Disk, source: Source, end_offset: int, read_bytes: int = READ_BYTES) -> Iterator[list[Located]]:
    """The whole batches of each chunk of a segment, in order; UncleanableError at the first that is damaged.
    end_offset: where the next segment begins."""
    expected = source.base_offset
    file = disk.open(source.path)
    try:
        position, wanted = 0, read_bytes
        while position < source.size:
            asked = min(wanted, source.size - position)
            chunk = file.read(position, asked)
            if len(chunk) < asked:
                raise damaged(source, position + len(chunk), "cut short")
            found, at = _whole_batches(source, chunk, position)
            expected = _check_offsets(source, found, position, expected, end_offset)
            yield found
            position += at
            if not found:  # and the next one is hardly smaller
                wanted = max(wanted, _next_size(source, chunk, position))
    finally:
        file.close()


def _whole_batches(source: Source, chunk: bytes, position: int) -> tuple[list[Located], int]:
    """Those that lie completely in a chunk, and where the rest begins."""
    found: list[Located] = []
    at, size = 0, len(chunk)
    while at + HEADER_SIZE <= size:
        end: int = at + 12 + int(read_i32_be(chunk, at + 8))
        if end - at < HEADER_SIZE or chunk[at + MAGIC_AT] != MAGIC or position + end > source.size:
            raise damaged(source, position + at, "not a batch")
        if end > size:
            break
        if not crc_ok(chunk, at, end):
            raise damaged(source, position + at, f"batch at offset {int(read_i64_be(chunk, at))} has a wrong checksum")
        found.append((chunk, at, end))
        at = end
    return found, at


def _check_offsets(source: Source, found: list[Located], position: int, expected: int, end_offset: int) -> int:
    """Base offsets are not covered by checksums: they must grow, and stay within the segment. Returns what follows."""
    for chunk, at, _ in found:
        base: int = read_i64_be(chunk, at)
        delta: int = read_i32_be(chunk, at + LAST_OFFSET_DELTA_AT)
        if base < expected or delta < 0 or base + delta >= end_offset:
            raise damaged(source, position + at, f"batch at offset {base}, {delta + 1} long, does not fit")
        expected = base + delta + 1
    return expected


def _next_size(source: Source, chunk: bytes, position: int) -> int:
    """How much to read where a chunk held no whole batch."""
    if len(chunk) < HEADER_SIZE:
        if position + HEADER_SIZE > source.size:
            raise damaged(source, position, "cut short")
        return HEADER_SIZE
    wanted = 12 + int(read_i32_be(chunk, 8))
    if len(chunk) >= wanted:
        raise damaged(source, position, "cut short")
    return wanted


def damaged(source: Source, position: int, what: str) -> UncleanableError:
    """The error that says so."""
    return UncleanableError(f"{source.path} at position {position}: {what}")


def payload_of(buf: bytes, start: int, end: int) -> bytes:
    """The records' bytes of a batch, decompressed within a bound; UncleanableError if that fails."""
    codec = attributes(buf, start) & COMPRESSION_MASK
    body = buf[start + HEADER_SIZE : end]
    if not codec:
        return body
    try:
        return decompress(codec, body, BATCH_RECORDS_BYTES_MAX)
    except WireError as error:
        raise UncleanableError(f"batch at offset {int(read_i64_be(buf, start))}: {error}") from None
