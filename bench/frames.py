"""Request frames, prepared once and replayed by the C load generator.

Own encoder on purpose: the bench must not share code with the broker it measures. Frames carry the
length prefix. Positions tell the generator which bytes to patch (partition, fetch offset) and where
in the answer the error code stands.
"""

from __future__ import annotations

import random
import struct
import time
from dataclasses import dataclass

import cramjam
import crc32c

CLIENT_ID = b"bench"
CORRELATION_ID = 7
PRODUCE_FLEXIBLE_FROM = 9
FETCH_VERSION = 12
LZ4 = 3
BATCH_HEADER_SIZE = 61


@dataclass(frozen=True, slots=True)
class Frame:
    """One request as sent, and what the generator needs to know about it and its answer."""

    data: bytes
    partition_pos: int
    """Where the 4-byte partition index stands in `data`."""
    answer_pos: int
    """Produce: where the error code stands in the answer; fetch: where the partition's part begins."""
    records: int
    offset_pos: int = -1
    """Fetch only: where the 8-byte fetch offset stands in `data`."""


def uvarint(value: int) -> bytes:
    """An unsigned varint, seven bits per byte, low end first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """A zig-zag varint."""
    return uvarint((value << 1) ^ (value >> 63))


def values(count: int, size: int, seed: int = 1) -> list[bytes]:
    """Values of text whose digits are random: they compress, but not absurdly well."""
    rnd = random.Random(seed)
    words = [b"%08x" % rnd.getrandbits(32) for _ in range(200)]
    return [b"".join(rnd.choices(words, k=size // 8 + 1))[:size] for _ in range(count)]


def _records(payloads: list[bytes]) -> bytes:
    out = []
    for i, value in enumerate(payloads):
        body = b"\0" + varint(0) + varint(i) + varint(-1) + varint(len(value)) + value + varint(0)
        out.append(varint(len(body)) + body)
    return b"".join(out)


def _lz4(body: bytes) -> bytes:
    """An LZ4 frame as Kafka's clients write it: independent blocks (Kafka refuses linked ones), no checksums."""
    parts = [bytes.fromhex("04224d18604082")]
    for start in range(0, len(body), 1 << 16):
        raw = body[start : start + (1 << 16)]
        block = bytes(cramjam.lz4.compress_block(raw, store_size=False))
        parts += [struct.pack("<I", len(block)), block] if len(block) < len(raw) else [_raw_size(raw), raw]
    return b"".join([*parts, bytes(4)])


def _raw_size(block: bytes) -> bytes:
    """Of a block that is not compressed."""
    return struct.pack("<I", len(block) | 1 << 31)


def batch(payloads: list[bytes], *, lz4: bool = False) -> bytes:
    """A record batch, format 2, without producer id, stamped now."""
    body = _records(payloads)
    attributes = 0
    if lz4:
        body, attributes = _lz4(body), LZ4
    now_ms, count = int(time.time() * 1000), len(payloads)
    tail = struct.pack(">hiqqqhii", attributes, count - 1, now_ms, now_ms, -1, -1, -1, count) + body
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c.crc32c(tail)) + tail


def batch_of_bytes(size: int, record_size: int) -> tuple[bytes, int]:
    """An uncompressed batch of exactly `size` bytes and its record count; the last value is stretched to fit."""
    count = (size - BATCH_HEADER_SIZE) // (record_size + 12)
    payloads = values(count, record_size)
    while True:
        missing = size - len(batch(payloads))
        if missing == 0:
            return batch(payloads), count
        last = payloads[-1]
        payloads[-1] = last + b"x" * missing if missing > 0 else last[:missing]


def produce(topic: str, records: bytes, count: int, *, version: int = 9, acks: int = -1) -> Frame:
    """A Produce request for one partition of `topic`, by name (versions 3 to 12)."""
    if not 3 <= version <= 12:
        raise ValueError(f"Produce version {version} is not sent by name: 3 to 12")
    name, flexible = topic.encode(), version >= PRODUCE_FLEXIBLE_FROM
    head = struct.pack(">hhih", 0, version, CORRELATION_ID, len(CLIENT_ID)) + CLIENT_ID
    if flexible:
        head += b"\0\0" + struct.pack(">hi", acks, 30_000) + b"\2" + uvarint(len(name) + 1) + name + b"\2"
        tail = uvarint(len(records) + 1) + records + b"\0\0\0"
        answer_pos = 4 + 4 + 1 + 1 + len(uvarint(len(name) + 1)) + len(name) + 1 + 4
    else:
        head += struct.pack(">hhii", -1, acks, 30_000, 1) + struct.pack(">h", len(name)) + name + struct.pack(">i", 1)
        tail = struct.pack(">i", len(records)) + records
        answer_pos = 4 + 4 + 4 + 2 + len(name) + 4 + 4
    body = head + struct.pack(">i", 0) + tail
    return Frame(struct.pack(">i", len(body)) + body, 4 + len(head), answer_pos, count)


def fetch(topic: str, max_bytes: int, *, max_wait_ms: int = 500) -> Frame:
    """A Fetch request (version 12, by name, without a session) for one partition from offset 0."""
    name = topic.encode()
    head = struct.pack(">hhih", 1, FETCH_VERSION, CORRELATION_ID, len(CLIENT_ID)) + CLIENT_ID + b"\0"
    head += struct.pack(">iiiibii", -1, max_wait_ms, 1, 52_428_800, 0, 0, -1)
    head += b"\2" + uvarint(len(name) + 1) + name + b"\2"
    body = head + struct.pack(">iiqiqi", 0, -1, 0, -1, -1, max_bytes) + b"\0\0\1\1\0"
    answer_pos = 4 + 4 + 1 + 4 + 2 + 4 + 1 + len(uvarint(len(name) + 1)) + len(name) + 1
    return Frame(struct.pack(">i", len(body)) + body, 4 + len(head), answer_pos, 0, 4 + len(head) + 8)
