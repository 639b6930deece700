"""The four codecs of record batches, decompressed within a bound.

Called by wire/record_batch. Promises: `decompress` never allocates much more than the least of `size_max` and what the
compressed bytes can at most hold, whatever they claim; anything wrong is a WireError. Writes what Kafka's own clients
read: gzip, snappy in xerial's framing, lz4 frames of independent blocks, zstd. cramjam is imported when first needed:
most brokers never look inside a compressed batch.
"""

from __future__ import annotations

import zlib
from typing import Final

from librt.strings import read_i32_be, read_i32_le, read_i64_le

from tapelog.wire.values import WireError

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

NAMES: Final[dict[str, int]] = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
"""Codec names, as in compression.type."""

DECOMPRESSED_MAX: Final = 64 * 1024 * 1024
"""What one batch may decompress to, unless the caller says otherwise."""

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK: Final = 32 * 1024
_SNAPPY_RATIO_MAX: Final = 64  # a copy of up to 64 bytes takes at least 2: no honest block grows more than this

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_MAX: Final[dict[int, int]] = {4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024}
_LZ4_RATIO_MAX: Final = 255
_LZ4_HEADER: Final = _LZ4_MAGIC + b"\x60\x40\x82"  # independent blocks of 64 KiB at most; the last byte is its checksum
_LZ4_BLOCK: Final = 64 * 1024
_LZ4_RAW: Final = 1 << 31
"""Set in the size of a block that is not compressed."""

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK_MAX: Final = 128 * 1024
_ZSTD_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_ZSTD_DICTIONARY_BYTES: Final = (0, 1, 2, 4)


class CompressionError(WireError):
    """Compressed bytes are damaged, unfinished, or hold more than allowed."""


def compress(codec: int, data: bytes) -> bytes:
    """The data in that codec's format."""
    if codec == NONE:
        return data
    if codec == GZIP:
        gzip = zlib.compressobj(wbits=31)
        return gzip.compress(data) + gzip.flush()
    import cramjam

    if codec == SNAPPY:
        parts = [_XERIAL_HEADER]
        for start in range(0, len(data), _XERIAL_BLOCK):
            block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
            parts.append(len(block).to_bytes(4, "big"))
            parts.append(block)
        return b"".join(parts)
    if codec == LZ4:
        return _lz4(data)
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data))
    raise CompressionError(f"unknown codec {codec}")


def _lz4(data: bytes) -> bytes:
    """A frame as Kafka's clients write it: without checksums, which cost readers more than the decompression does."""
    import cramjam

    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK):
        raw = data[start : start + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(raw, store_size=False))
        is_smaller = len(block) < len(raw)
        parts.append((len(block) if is_smaller else len(raw) | _LZ4_RAW).to_bytes(4, "little"))
        parts.append(block if is_smaller else raw)
    parts.append(bytes(4))
    return b"".join(parts)


def decompress(codec: int, data: bytes, size_max: int = DECOMPRESSED_MAX) -> bytes:
    """What was compressed; CompressionError if it is damaged or larger than size_max."""
    if codec == NONE:
        if len(data) > size_max:
            raise _too_large(size_max)
        return data
    if codec == GZIP:
        return _gunzip(data, size_max)
    if codec == SNAPPY:
        return _unsnappy(data, size_max)
    if codec == LZ4:
        return _into(LZ4, data, _lz4_bound(data), size_max)
    if codec == ZSTD:
        return _into(ZSTD, data, _zstd_bound(data), size_max)
    raise CompressionError(f"unknown codec {codec}")


def _too_large(size_max: int) -> CompressionError:
    return CompressionError(f"decompressed data exceeds {size_max} bytes")


def _cut() -> CompressionError:
    return CompressionError("compressed data is cut short")


def _gunzip(data: bytes, size_max: int) -> bytes:
    parts: list[bytes] = []
    left = size_max
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, left + 1)
        except zlib.error as e:
            raise CompressionError(f"gzip: {e}") from None
        left -= len(part)
        if left < 0:
            raise _too_large(size_max)
        parts.append(part)
        if not member.eof:
            raise _cut()
        data = member.unused_data
        if not data:
            return b"".join(parts)


def _unsnappy(data: bytes, size_max: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _unsnappy_block(data, size_max)
    parts: list[bytes] = []
    pos, left = len(_XERIAL_HEADER), size_max
    while pos < len(data):
        if pos + 4 > len(data):
            raise _cut()
        size = int(read_i32_be(data, pos))
        pos += 4
        if size < 0 or pos + size > len(data):
            raise _cut()
        part = _unsnappy_block(data[pos : pos + size], left)
        left -= len(part)
        parts.append(part)
        pos += size
    if pos > len(data):
        raise _cut()
    return b"".join(parts)


def _unsnappy_block(block: bytes, size_max: int) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > size_max:
            raise _too_large(size_max)
        if size > _SNAPPY_RATIO_MAX * len(block):
            raise _cut()
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as e:
        raise CompressionError(f"snappy: {e}") from None


def _into(codec: int, data: bytes, bound: int, size_max: int) -> bytes:
    """Decompress into a buffer that is as large as needed at most, and never larger than allowed."""
    import cramjam

    out = bytearray(min(bound, size_max))
    try:
        size = cramjam.lz4.decompress_into(data, out) if codec == LZ4 else cramjam.zstd.decompress_into(data, out)
    except cramjam.DecompressionError as e:
        if bound > size_max:
            raise CompressionError(f"{e}, or more than {size_max} bytes") from None
        raise CompressionError(str(e)) from None
    return bytes(memoryview(out)[:size])


def _lz4_bound(data: bytes) -> int:
    """The most that an lz4 frame can hold, from its block sizes; refuses what is not exactly one whole frame."""
    if len(data) < 7 or not data.startswith(_LZ4_MAGIC):
        raise CompressionError("not an lz4 frame")
    flags = data[4]
    block_max = _LZ4_BLOCK_MAX.get(data[5] >> 4 & 7, 0)
    pos = 6
    content = -1
    if flags & 0x08:
        if len(data) < 14:
            raise _cut()
        content = int(read_i64_le(data, pos))
        pos += 8
    pos += (4 if flags & 0x01 else 0) + 1
    bound = 0
    while True:
        if pos + 4 > len(data):
            raise _cut()
        word = int(read_i32_le(data, pos))
        pos += 4
        if word == 0:
            break
        size = word & 0x7FFFFFFF
        bound += min(size if word < 0 else size * _LZ4_RATIO_MAX, block_max)
        pos += size + (4 if flags & 0x10 else 0)
    pos += 4 if flags & 0x04 else 0
    if pos != len(data):
        raise _cut()
    return min(bound, content) if content >= 0 else bound


def _zstd_bound(data: bytes) -> int:
    """The most that zstd frames can hold, from their block headers; refuses what is not exactly whole frames."""
    pos = 0
    bound = 0
    while pos < len(data):
        if len(data) - pos < 5 or data[pos : pos + 4] != _ZSTD_MAGIC:
            raise CompressionError("not a zstd frame")
        flags = data[pos + 4]
        pos += 5
        single = flags & 0x20 != 0
        pos += (0 if single else 1) + _ZSTD_DICTIONARY_BYTES[flags & 3]
        content_bytes = _ZSTD_CONTENT_SIZE_BYTES[flags >> 6] or (1 if single else 0)
        content = int.from_bytes(data[pos : pos + content_bytes], "little") + (256 if content_bytes == 2 else 0)
        pos += content_bytes
        blocks = 0
        last = False
        while not last:
            if pos + 3 > len(data):
                raise _cut()
            word = int.from_bytes(data[pos : pos + 3], "little")
            last, kind, size = word & 1 != 0, word >> 1 & 3, word >> 3
            blocks += size if kind < 2 else _ZSTD_BLOCK_MAX
            pos += 3 + (1 if kind == 1 else size)
        pos += 4 if flags & 0x04 else 0
        if pos > len(data):
            raise _cut()
        bound += min(blocks, content) if content_bytes else blocks
    return bound
