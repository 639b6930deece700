"""A Fetch client that looks at nothing but offsets: what a broker gives to who costs as little as a reader of S3.

`python -m bench.tier_reads.plain PORT TOPIC UNTIL[,UNTIL...]`: partition i is read from offset 0 up to the i-th UNTIL,
several partitions per Fetch (version 11, without a session); prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import time

FETCH, VERSION = 1, 11
WAIT_MS, ANSWER_BYTES_MAX = 5_000, 52_428_800
HEAD = struct.Struct(">hhih")
BATCH = struct.Struct(">qi11xi")  # base offset, length, last offset delta
CLIENT = b"bench-plain"


class Reader:
    """One connection, and the partitions read over it."""

    def __init__(self, port: int, topic: str, until: dict[int, int], partition_bytes: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.topic = topic.encode()
        self.until = until
        self.at = dict.fromkeys(until, 0)
        self.partition_bytes = partition_bytes
        self.buffer = bytearray(1 << 20)
        self.bytes = 0
        self.fetches = 0

    def run(self) -> None:
        """Until everything was read."""
        while left := [index for index, end in self.until.items() if self.at[index] < end]:
            self.socket.sendall(self._request(left))
            self._take()
            self.fetches += 1

    def _request(self, partitions: list[int]) -> bytes:
        out = HEAD.pack(FETCH, VERSION, self.fetches, len(CLIENT)) + CLIENT
        out += struct.pack(">iiiibii", -1, WAIT_MS, 1, ANSWER_BYTES_MAX, 0, 0, -1)
        out += struct.pack(">ih", 1, len(self.topic)) + self.topic + struct.pack(">i", len(partitions))
        for index in partitions:
            out += struct.pack(">iiqqi", index, -1, self.at[index], -1, self.partition_bytes)
        out += struct.pack(">ih", 0, 0)
        return struct.pack(">i", len(out)) + out

    def _receive(self, size: int) -> memoryview:
        if len(self.buffer) < size:
            self.buffer = bytearray(size)
        view, at = memoryview(self.buffer)[:size], 0
        while at < size:
            got = self.socket.recv_into(view[at:], size - at, socket.MSG_WAITALL)
            if not got:
                raise SystemExit("the broker closed the connection")
            at += got
        return view

    def _take(self) -> None:
        data = self._receive(struct.unpack(">i", self._receive(4))[0])
        at = 4 + 4  # correlation id, throttle time
        error, _, topics = struct.unpack_from(">hii", data, at)
        at += 10
        if error or topics > 1:
            raise SystemExit(f"Fetch failed with error {error}")
        if not topics:
            return
        at += 2 + len(self.topic)
        (count,) = struct.unpack_from(">i", data, at)
        at += 4
        for _ in range(count):
            index, error, _, _, _, aborted, _, size = struct.unpack_from(">ihqqqiii", data, at)
            if error or aborted > 0:
                raise SystemExit(f"partition {index} failed with error {error}")
            at += 42
            self._advance(index, data, at, at + max(size, 0))
            at += max(size, 0)

    def _advance(self, index: int, data: memoryview, at: int, end: int) -> None:
        while at + BATCH.size <= end:
            base, length, delta = BATCH.unpack_from(data, at)
            at += 12 + length
            if at > end:
                return
            if base < self.until[index]:
                self.bytes += 12 + length
            self.at[index] = base + delta + 1


def main() -> None:
    """Read once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("topic")
    parser.add_argument("until", type=lambda text: list(map(int, text.split(","))))
    parser.add_argument("--partition-bytes", type=int, default=1 << 20)
    asked = parser.parse_args()
    begun, cpu = time.monotonic(), time.process_time()
    reader = Reader(asked.port, asked.topic, dict(enumerate(asked.until)), asked.partition_bytes)
    reader.run()
    taken = {"seconds": time.monotonic() - begun, "cpu_s": time.process_time() - cpu, "bytes": reader.bytes}
    print(json.dumps({**taken, "requests": reader.fetches}))


if __name__ == "__main__":
    main()
