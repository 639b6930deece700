"""A Kafka client in memory for the simulator: frames out, frames back, callbacks in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tapelog.server.connection import Connection
from tapelog.sim.node import SimNode
from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import response_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, Writer


class Client(Protocol):
    """What applications in the simulator talk through: to one node, or to a cluster."""

    @property
    def closed(self) -> bool:
        """Whether no more answers come."""
        ...

    def send(self, request: Message, version: int, done: Callable[[Any], None] | None) -> None:
        """Send; done gets the response, if there is ever one."""
        ...

    def call(self, request: Message, version: int, wait_ms: int = 60_000) -> Any:
        """Send and let virtual time pass until the answer is there."""
        ...

    def wall_ms(self) -> int:
        """What the application's clock says."""
        ...

    def pass_time(self, by_ms: int) -> None:
        """Let virtual time pass."""
        ...


class SimClient:
    """One connection. Requests are answered in order; those without an answer when the node dies are lost."""

    def __init__(self, node: SimNode) -> None:
        self.node = node
        self.connection: Connection = node.connect(self._receive)
        self._waiting: deque[tuple[int, int, int, Callable[[Any], None]]] = deque()
        self._correlation = 0
        self._buffer = b""

    def send(self, request: Message, version: int, done: Callable[[Any], None] | None) -> None:
        """Send; done gets the response. None: the request has none (acks=0)."""
        self._correlation += 1
        key = request.API_KEY
        writer = Writer()
        writer.begin_frame()
        writer.i16(key)
        writer.i16(version)
        writer.i32(self._correlation)
        writer.nullable_string("sim")
        if request_header_version(key, version) >= 2:
            writer.uvarint(0)
        request.encode(writer, version)
        writer.end_frame()
        if done is not None:
            self._waiting.append((self._correlation, key, version, done))
        self.feed(writer.tobytes())

    def call(self, request: Message, version: int, wait_ms: int = 60_000) -> Any:
        """Send and let virtual time pass until the answer is there."""
        answers: list[Any] = []
        self.send(request, version, answers.append)
        for _ in range(wait_ms):
            if answers:
                return answers[0]
            self.node.pass_time(1)
        raise AssertionError(f"no answer to {type(request).__name__} v{version} within {wait_ms} ms of virtual time")

    @property
    def closed(self) -> bool:
        """Whether the node hung up."""
        return self.connection.closed

    def wall_ms(self) -> int:
        """Applications share the node's clock."""
        return self.node.clock.wall_ms()

    def pass_time(self, by_ms: int) -> None:
        """Let virtual time pass."""
        self.node.pass_time(by_ms)

    def feed(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.connection.feed(data)
        self.node.settle()

    def hang_up(self) -> None:
        """Close the connection; whatever is under way is answered to nobody."""
        self.connection.close("")
        self.node.settle()

    def _receive(self, data: bytes) -> None:
        data = self._buffer + data
        position = 0
        while len(data) - position >= 4:
            size = int.from_bytes(data[position : position + 4], "big")
            if len(data) - position - 4 < size:
                break
            self._answered(data[position + 4 : position + 4 + size])
            position += 4 + size
        self._buffer = data[position:]

    def _answered(self, frame: bytes) -> None:
        correlation, key, version, done = self._waiting.popleft()
        reader = Reader(frame, 0, len(frame))
        assert reader.i32() == correlation, "answers must come in request order"
        if response_header_version(key, version) >= 1:
            reader.skip_tags()
        done(response_class(key).decode(reader, version))
        assert reader.pos == reader.end, "an answer must end where its frame ends"
