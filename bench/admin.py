"""A tiny blocking Kafka client for the bench itself: is it up, create, delete, are all partitions online.

Old, plain request versions that every broker still serves; stdlib only, so that it adds no start-up cost of its own.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping

METADATA, CREATE_TOPICS, DELETE_TOPICS, LIST_OFFSETS = 3, 19, 20, 2
LATEST = -1
NOT_YET = (3, 5, 6)
"""UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER: the partition is still coming up."""


class AdminError(Exception):
    """The broker answered with an error code, or not in time."""


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


class Admin:
    """One connection; every call sends one request and waits for its answer."""

    def __init__(self, port: int, timeout_s: float = 60.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, api_key: int, version: int, body: bytes) -> bytes:
        """Send one request (header version 1) and return the answer after its correlation id."""
        head = struct.pack(">hhi", api_key, version, 1) + _string("bench")
        self._socket.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (length,) = struct.unpack(">i", self._receive(4))
        return self._receive(length)[4:]

    def _receive(self, size: int) -> bytes:
        chunks, missing = [], size
        while missing:
            chunk = self._socket.recv(missing)
            if not chunk:
                raise OSError("the broker closed the connection")
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def brokers(self) -> int:
        """How many brokers a Metadata answer (version 1, no topics) names."""
        (count,) = struct.unpack_from(">i", self.call(METADATA, 1, struct.pack(">i", 0)))
        return int(count)

    def create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        """CreateTopics version 4, replication factor 1; raises when refused."""
        entries = b"".join(_string(k) + _string(v) for k, v in configs.items())
        spec = _string(topic) + struct.pack(">ihi", partitions, 1, 0) + struct.pack(">i", len(configs)) + entries
        answer = self.call(CREATE_TOPICS, 4, struct.pack(">i", 1) + spec + struct.pack(">i?", 60_000, False))
        (code,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(topic.encode()))
        if code:
            raise AdminError(f"creating {topic}: error code {code}")

    def delete(self, topic: str) -> None:
        """DeleteTopics version 3; an unknown topic is not an error."""
        self.call(DELETE_TOPICS, 3, struct.pack(">i", 1) + _string(topic) + struct.pack(">i", 60_000))

    def latest(self, topic: str, partitions: list[int]) -> tuple[dict[int, int], list[int]]:
        """ListOffsets version 1: end offsets of the partitions that are online, and those that are not yet."""
        asked = b"".join(struct.pack(">iq", p, LATEST) for p in partitions)
        body = struct.pack(">ii", -1, 1) + _string(topic) + struct.pack(">i", len(partitions)) + asked
        answer = self.call(LIST_OFFSETS, 1, body)
        pos = 4 + 2 + len(topic.encode())
        (count,) = struct.unpack_from(">i", answer, pos)
        ends: dict[int, int] = {}
        waiting: list[int] = []
        for i in range(count):
            index, code, _stamp, offset = struct.unpack_from(">ihqq", answer, pos + 4 + i * 22)
            if code in NOT_YET:
                waiting.append(index)
            elif code:
                raise AdminError(f"{topic}-{index}: error code {code}")
            else:
                ends[index] = offset
        return ends, waiting

    def wait_online(self, topic: str, partitions: int, timeout_s: float = 120.0) -> dict[int, int]:
        """Until every partition answers, which means its leader has really opened the log; their end offsets."""
        end = time.monotonic() + timeout_s
        todo, ends = list(range(partitions)), dict[int, int]()
        while todo:
            found, todo = self.latest(topic, todo)
            ends.update(found)
            if todo:
                if time.monotonic() > end:
                    raise AdminError(f"{len(todo)} partitions of {topic} are not online after {timeout_s} s")
                time.sleep(0.002)
        return ends


def wait_first_answer(port: int, timeout_s: float = 60.0) -> None:
    """Until a Metadata request is answered with a broker in it."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            with Admin(port, 5.0) as admin:
                if admin.brokers() >= 1:
                    return
        except (OSError, struct.error):
            pass
        if time.monotonic() > end:
            raise AdminError(f"no answer on port {port} after {timeout_s} s")
        time.sleep(0.002)
