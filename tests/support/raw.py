"""A raw Kafka connection: frames by hand, so that a test can send what no client library would and see every byte.

It is written on struct alone, apart from our own codec, so that a shared mistake cannot hide.
"""

from __future__ import annotations

import socket
import struct
import time
from types import TracebackType

import crc32c

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS = 0, 1, 2, 3, 18, 19


class ConnectionClosed(Exception):
    """The broker closed the connection (or reset it) before a whole answer came."""


def string(text: str | None) -> bytes:
    """A classic (not compact) nullable string."""
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def header(api_key: int, version: int, correlation: int, client_id: str | None = "raw") -> bytes:
    """Request header version 1."""
    return struct.pack(">hhi", api_key, version, correlation) + string(client_id)


class Raw:
    """One connection; `call` sends one request and returns the answer's body after the correlation id."""

    def __init__(self, bootstrap: str, timeout: float = 30.0, source: str = "") -> None:
        host, port = bootstrap.split(",")[0].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout, (source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close our side."""
        self.socket.close()

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ConnectionClosed(str(error)) from error

    def send_frame(self, payload: bytes) -> None:
        """Send a frame: the length, then the payload."""
        self.send_bytes(struct.pack(">i", len(payload)) + payload)

    def send(
        self, api_key: int, version: int, body: bytes, *, flexible: bool = False, client_id: str | None = "raw"
    ) -> int:
        """Send a request; the correlation id it got."""
        self.correlation += 1
        tags = b"\x00" if flexible else b""
        self.send_frame(header(api_key, version, self.correlation, client_id) + tags + body)
        return self.correlation

    def exactly(self, count: int) -> bytes:
        """Read `count` bytes or raise ConnectionClosed."""
        chunks: list[bytes] = []
        while count:
            try:
                chunk = self.socket.recv(min(count, 1 << 20))
            except (ConnectionResetError, BrokenPipeError) as error:
                raise ConnectionClosed(str(error)) from error
            if not chunk:
                raise ConnectionClosed("end of stream")
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)

    def receive_frame(self) -> bytes:
        """The next answer, header included."""
        (length,) = struct.unpack(">i", self.exactly(4))
        return self.exactly(length)

    def receive(self, correlation: int) -> bytes:
        """The next answer, which must carry this correlation id; its body."""
        frame = self.receive_frame()
        (got,) = struct.unpack_from(">i", frame)
        assert got == correlation, f"answers out of order: wanted {correlation}, got {got}"
        return frame[4:]

    def call(self, api_key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
        """Send and receive."""
        return self.receive(self.send(api_key, version, body, flexible=flexible))

    def closed_by_peer(self) -> bool:
        """Whether the broker closes the connection within the time-out, having sent nothing."""
        try:
            return self.socket.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            return True
        except TimeoutError:
            return False


def varint(number: int) -> bytes:
    """Zigzag varint, as inside records."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(value: bytes | None, *, key: bytes | None = None, offset_delta: int = 0, timestamp_delta: int = 0) -> bytes:
    """One record of a batch v2, without headers."""
    body = b"\x00" + varint(timestamp_delta) + varint(offset_delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def batch(
    records: bytes,
    count: int,
    *,
    attributes: int = 0,
    timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    last_offset_delta: int | None = None,
    magic: int = 2,
    crc: int | None = None,
    base_offset: int = 0,
) -> bytes:
    """A record batch v2 around `records` (encoded, and compressed if the attributes say so); any field can be wrong."""
    at_ms = int(time.time() * 1000) if timestamp is None else timestamp
    last = count - 1 if last_offset_delta is None else last_offset_delta
    tail = struct.pack(">hiqqqhii", attributes, last, at_ms, at_ms, *producer, count) + records
    head = struct.pack(">qiib", base_offset, len(tail) + 9, -1, magic)
    return head + struct.pack(">I", crc32c.crc32c(tail) if crc is None else crc) + tail


def simple_batch(values: list[bytes], **fields: int) -> bytes:
    """A batch of plain values without keys."""
    encoded = b"".join(record(value, offset_delta=index) for index, value in enumerate(values))
    return batch(encoded, len(values), **fields)  # type: ignore[arg-type]


def produce_body(
    topic: str, partition: int, records: bytes | None, *, acks: int = -1, timeout_ms: int = 10_000
) -> bytes:
    """Produce, versions 3 to 8."""
    size = -1 if records is None else len(records)
    return (
        string(None)
        + struct.pack(">hii", acks, timeout_ms, 1)
        + string(topic)
        + struct.pack(">iii", 1, partition, size)
        + (records or b"")
    )


def produce_error(answer: bytes, topic: str) -> tuple[int, int]:
    """(error code, base offset) of the only partition in a Produce answer, versions 3 to 8."""
    at = 4 + 2 + len(topic.encode()) + 4 + 4
    code, offset = struct.unpack_from(">hq", answer, at)
    return code, offset


def produce(raw: Raw, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1) -> tuple[int, int]:
    """Produce v7 to one partition: (error code, base offset)."""
    return produce_error(raw.call(PRODUCE, 7, produce_body(topic, partition, records, acks=acks)), topic)


def fetch(
    raw: Raw, topic: str, offset: int, *, partition: int = 0, max_bytes: int = 1 << 20, wait_ms: int = 100
) -> tuple[int, int, bytes]:
    """Fetch v4 from one partition: (error code, high watermark, record bytes as they came)."""
    body = (
        struct.pack(">iiiibi", -1, wait_ms, 1, max_bytes, 0, 1)
        + string(topic)
        + struct.pack(">iiqi", 1, partition, offset, max_bytes)
    )
    answer = raw.call(FETCH, 4, body)
    at = 4 + 4 + 2 + len(topic.encode()) + 4 + 4
    code, high_watermark, _stable, aborted = struct.unpack_from(">hqqi", answer, at)
    at += 22 + max(aborted, 0) * 16
    (size,) = struct.unpack_from(">i", answer, at)
    return code, high_watermark, answer[at + 4 : at + 4 + max(size, 0)]


def batches(data: bytes) -> list[tuple[int, int, int, int]]:
    """(base offset, last offset, attributes, magic) of every whole batch in fetched bytes."""
    found: list[tuple[int, int, int, int]] = []
    at = 0
    while at + 61 <= len(data):
        base, length = struct.unpack_from(">qi", data, at)
        if at + 12 + length > len(data):
            break
        (magic,) = struct.unpack_from(">b", data, at + 16)
        attributes, last = struct.unpack_from(">hi", data, at + 21)
        found.append((base, base + last, attributes, magic))
        at += 12 + length
    return found


def api_versions(raw: Raw) -> dict[int, tuple[int, int]]:
    """ApiVersions v0: api key → (lowest, highest)."""
    answer = raw.call(API_VERSIONS, 0, b"")
    code, count = struct.unpack_from(">hi", answer)
    assert code == 0, f"ApiVersions answered error {code}"
    rows = [struct.unpack_from(">hhh", answer, 6 + 6 * index) for index in range(count)]
    return {key: (low, high) for key, low, high in rows}


def create_topic(raw: Raw, topic: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> int:
    """CreateTopics v2: the error code."""
    entries = b"".join(string(name) + string(value) for name, value in (configs or {}).items())
    body = (
        struct.pack(">i", 1)
        + string(topic)
        + struct.pack(">ihi", partitions, 1, 0)
        + struct.pack(">i", len(configs or {}))
        + entries
        + struct.pack(">ib", 15_000, 0)
    )
    answer = raw.call(CREATE_TOPICS, 2, body)
    at = 4 + 4 + 2 + len(topic.encode())
    (code,) = struct.unpack_from(">h", answer, at)
    return int(code)


def end_offset(raw: Raw, topic: str, partition: int = 0, *, timestamp: int = -1) -> tuple[int, int]:
    """ListOffsets v1: (error code, offset)."""
    body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiq", 1, partition, timestamp)
    answer = raw.call(LIST_OFFSETS, 1, body)
    at = 4 + 2 + len(topic.encode()) + 4 + 4
    code, _timestamp, offset = struct.unpack_from(">hqq", answer, at)
    return code, offset
