"""Exactly so many records into each partition, as fast as the broker takes them: one batch, again and again."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from bench import admin, frames
from bench.spark import orders
from bench.spark.scenes import PARTITIONS, Scene

IN_FLIGHT = 4
"""Requests per connection; there is one connection per partition."""
SEGMENT_BYTES = 1 << 30


class FillError(Exception):
    """The broker refused a batch."""


def fill(port: int, topic: str, scene: Scene, tell: Callable[[float], None]) -> None:
    """Create the topic and write the scene's records; `tell` hears the share that is done."""
    with admin.Admin(port) as connection:
        connection.create(topic, PARTITIONS, {"segment.bytes": str(SEGMENT_BYTES)})
        connection.wait_online(topic, PARTITIONS)
    payloads = orders.values(scene.per_batch) if scene.avro else frames.values(scene.per_batch, scene.size)
    rounds, rest = divmod(scene.records // PARTITIONS, scene.per_batch)
    assert not rest, "scenes are made of whole batches"
    batch = frames.batch(payloads, lz4=scene.codec == "lz4")
    frame = frames.produce(topic, batch, scene.per_batch)
    lanes = [_Lane(port, frame, partition) for partition in range(PARTITIONS)]
    try:
        for number in range(rounds):
            for lane in lanes:
                lane.send()
            if number % 100 == 0:
                tell(number / rounds)
        for lane in lanes:
            lane.drain(0)
    finally:
        for lane in lanes:
            lane.close()
    with admin.Admin(port) as connection:
        ends = connection.wait_online(topic, PARTITIONS)
    if sum(ends.values()) != scene.records:
        raise FillError(f"{topic} holds {sum(ends.values()):,} records, not {scene.records:,}")


class _Lane:
    """One connection that writes to one partition."""

    def __init__(self, port: int, frame: frames.Frame, partition: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60.0)
        data = bytearray(frame.data)
        struct.pack_into(">i", data, frame.partition_pos, partition)
        self._data, self._code_pos, self._open = bytes(data), frame.answer_pos - 4, 0  # told with its length

    def send(self) -> None:
        """One batch more; waits where too many are under way."""
        self.drain(IN_FLIGHT - 1)
        self._socket.sendall(self._data)
        self._open += 1

    def drain(self, most: int) -> None:
        """Take answers until no more than so many are under way."""
        while self._open > most:
            (length,) = struct.unpack(">i", self._receive(4))
            answer = self._receive(length)
            (code,) = struct.unpack_from(">h", answer, self._code_pos)
            if code:
                raise FillError(f"Produce was answered with error code {code}")
            self._open -= 1

    def _receive(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            piece = self._socket.recv(size - len(got))
            if not piece:
                raise FillError("the broker closed the connection")
            got += piece
        return got

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
