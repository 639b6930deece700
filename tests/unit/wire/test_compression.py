"""The codecs: read by others' libraries, reading theirs, and never fooled into much memory."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import snappy
import zstandard

from tapelog.wire import compression
from tapelog.wire.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, CompressionError, compress, decompress
from tapelog.wire.primitives import WireError

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
SAMPLES = [b"", b"x", b"tapelog " * 20_000, random.Random(1).randbytes(70_000)]
XERIAL = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def unxerial(data: bytes) -> bytes:
    """Xerial's framing, read without our code."""
    assert data.startswith(XERIAL)
    out, pos = b"", len(XERIAL)
    while pos < len(data):
        size = int.from_bytes(data[pos : pos + 4], "big")
        out += snappy.uncompress(data[pos + 4 : pos + 4 + size])
        pos += 4 + size
    return out


OTHERS_READ: dict[int, Callable[[bytes], bytes]] = {
    GZIP: gzip.decompress,
    SNAPPY: unxerial,
    LZ4: lz4.frame.decompress,
    ZSTD: lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("codec", CODECS)
def test_what_we_compress_others_read_and_so_do_we(codec: int) -> None:
    for data in SAMPLES:
        packed = compress(codec, data)
        assert OTHERS_READ[codec](packed) == data
        assert decompress(codec, packed) == data


@pytest.mark.parametrize(
    ("codec", "pack"),
    [
        (GZIP, gzip.compress),
        (GZIP, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
        (SNAPPY, snappy.compress),
        (SNAPPY, lambda data: XERIAL + len(snappy.compress(data)).to_bytes(4, "big") + snappy.compress(data)),
        (LZ4, lz4.frame.compress),
        (LZ4, lambda data: lz4.frame.compress(data, content_checksum=True, block_checksum=True, store_size=False)),
        (LZ4, lambda data: lz4.frame.compress(data, block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB)),
        (ZSTD, zstandard.ZstdCompressor().compress),
        (ZSTD, zstandard.ZstdCompressor(write_checksum=True, write_content_size=False, level=19).compress),
        (ZSTD, lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:])),
    ],
)
def test_what_others_compress_we_read(codec: int, pack: Callable[[bytes], bytes]) -> None:
    for data in SAMPLES:
        assert decompress(codec, pack(data)) == data


def test_streamed_zstd_without_a_content_size_is_read() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    packed = stream.compress(SAMPLES[2]) + stream.flush()
    assert decompress(ZSTD, packed) == SAMPLES[2]


def test_lz4_frames_are_as_kafkas_clients_write_them_independent_blocks_and_no_checksums() -> None:
    assert compress(LZ4, SAMPLES[2])[4] == 0x60


def test_lz4_keeps_blocks_raw_that_would_grow() -> None:
    data = random.Random(7).randbytes(100_000) + bytes(100_000)
    frame = compress(LZ4, data)
    assert len(frame) < 132_000
    assert lz4.frame.decompress(frame) == decompress(LZ4, frame) == data


def test_lz4_frames_have_independent_blocks_as_kafkas_client_demands() -> None:
    flags = compress(LZ4, SAMPLES[2])[4]
    assert flags >> 6 == 1
    assert flags & 0x20


@pytest.mark.parametrize("codec", CODECS)
def test_the_bound_is_exact(codec: int) -> None:
    packed = compress(codec, SAMPLES[2])
    assert decompress(codec, packed, len(SAMPLES[2])) == SAMPLES[2]
    with pytest.raises(CompressionError):
        decompress(codec, packed, len(SAMPLES[2]) - 1)


def bomb(codec: int) -> bytes:
    """64 MiB of nothing, small."""
    zeros = bytes(64 * 1024 * 1024)
    if codec == SNAPPY:
        return snappy.compress(zeros)
    return compress(codec, zeros)


@pytest.mark.parametrize("codec", CODECS)
def test_bombs_are_refused_before_they_grow(codec: int) -> None:
    packed = bomb(codec)
    decompress(codec, compress(codec, b"warm"))
    tracemalloc.start()
    try:
        with pytest.raises(CompressionError):
            decompress(codec, packed, 1024 * 1024)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (SNAPPY, b"\xff\xff\xff\xff\x0f" + b"tiny"),
        (SNAPPY, XERIAL + b"\x00\x00\x00\x09" + b"\xff\xff\xff\x7f" + b"tiny!"),
        (SNAPPY, XERIAL + b"\xff\xff\xff\xff"),
        (LZ4, b"\x04\x22\x4d\x18\x68\x70" + b"\xff" * 7 + b"\x3f\x00" + b"\xff\xff\xff\x7f"),
        (ZSTD, b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x01\x00\x00"),
    ],
)
def test_claims_of_great_size_allocate_nothing(codec: int, data: bytes) -> None:
    decompress(codec, compress(codec, b"warm"))
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            decompress(codec, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_data_cut_anywhere_is_refused(codec: int) -> None:
    data = b"some text, some more text, and some more again"
    packed = compress(codec, data)
    for end in range(len(packed)):
        if codec == SNAPPY and end in (0, len(XERIAL)):
            continue  # no block yet: that is how nothing is written
        with pytest.raises(CompressionError):
            decompress(codec, packed[:end])
    if codec in (LZ4, ZSTD, GZIP):
        with pytest.raises(CompressionError):
            decompress(codec, packed + b"tail")


@pytest.mark.parametrize("codec", CODECS)
def test_changed_and_random_bytes_give_nothing_worse_than_an_error(codec: int) -> None:
    chance = random.Random(codec)
    packed = compress(codec, b"some text, some more text" * 20)
    for _ in range(2000):
        changed = bytearray(packed)
        changed[chance.randrange(len(changed))] = chance.randrange(256)
        for data in (bytes(changed), chance.randbytes(chance.randrange(40))):
            try:
                decompress(codec, data, 100_000)
            except CompressionError:
                pass


def test_unknown_codecs_are_refused() -> None:
    for codec in (5, 7, -1):
        with pytest.raises(CompressionError, match="unknown codec"):
            compress(codec, b"")
        with pytest.raises(CompressionError, match="unknown codec"):
            decompress(codec, b"")


def test_none_is_the_data_itself_within_the_bound() -> None:
    assert compress(NONE, b"abc") == b"abc"
    assert decompress(NONE, b"abc", 3) == b"abc"
    with pytest.raises(CompressionError):
        decompress(NONE, b"abc", 2)


def test_names_are_those_of_compression_type() -> None:
    assert compression.NAMES == {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def test_the_bound_from_block_headers_never_cuts_what_is_honest() -> None:
    chance = random.Random(7)
    for size in (0, 1, 100, 65_536, 131_072, 131_073, 400_000):
        for data in (bytes(size), chance.randbytes(size), (b"abc" * (size // 3 + 1))[:size]):
            for level in (1, 3, 19):
                assert decompress(ZSTD, bytes(cramjam.zstd.compress(data, level))) == data
            assert decompress(LZ4, lz4.frame.compress(data, compression_level=9)) == data
            assert decompress(GZIP, zlib.compress(data, wbits=31)) == data
