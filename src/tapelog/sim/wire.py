"""A client's connection in the simulated cluster: frames over a Net, answers in order, or the news that none will come.

Written apart from `client/`, which the nodes themselves use: a mistake there must not hide itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from tapelog.base.ports import Net
from tapelog.sim.world import Event, World
from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import response_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, Writer

CLIENT_ID: Final = "sim"

Done = Callable[[Any], None]
"""Gets the response; None when there will be none."""


def encode(request: Message, version: int, correlation: int) -> bytes:
    """The frame of a request."""
    key = request.API_KEY
    writer = Writer()
    writer.begin_frame()
    writer.i16(key)
    writer.i16(version)
    writer.i32(correlation)
    writer.nullable_string(CLIENT_ID)
    if request_header_version(key, version) >= 2:
        writer.uvarint(0)
    request.encode(writer, version)
    writer.end_frame()
    return writer.tobytes()


def decode(frame: bytes, correlation: int, key: int, version: int) -> Any:
    """The response in a frame without its length."""
    reader = Reader(frame, 0, len(frame))
    assert reader.i32() == correlation, "answers must come in request order"
    if response_header_version(key, version) >= 1:
        reader.skip_tags()
    response = response_class(key).decode(reader, version)
    assert reader.pos == reader.end, "an answer must end where its frame ends"
    return response


class Wire:
    """One connection. It is dropped when a request times out; then, or when the other side is gone, whatever waits
    gets None."""

    def __init__(self, world: World, net: Net, host: str, port: int) -> None:
        self._world = world
        self.closed_by = ""
        self._channel = net.connect(host, port, self)
        self._waiting: deque[tuple[int, int, int, Event, Done]] = deque()
        self._correlation = 0
        self._buffer = b""

    def send(self, request: Message, version: int, timeout_ms: int, done: Done) -> None:
        """Ask; done is called once, later."""
        self._correlation += 1
        if self.closed_by:
            self._world.after(0, lambda: done(None))
            return
        alarm = self._world.after(timeout_ms, lambda: self.drop("timed out"))
        self._waiting.append((self._correlation, request.API_KEY, version, alarm, done))
        self._channel.send(encode(request, version, self._correlation))

    def drop(self, reason: str) -> None:
        """Give up on it; what is under way may arrive all the same."""
        if not self.closed_by:
            self._channel.close()
            self.closed(reason)

    # -- ChannelEvents

    def opened(self) -> None:
        pass

    def received(self, data: bytes) -> None:
        data = self._buffer + data
        position = 0
        while len(data) - position >= 4 and not self.closed_by:
            size = int.from_bytes(data[position : position + 4], "big")
            if len(data) - position - 4 < size:
                break
            correlation, key, version, alarm, done = self._waiting.popleft()
            alarm.cancel()
            done(decode(data[position + 4 : position + 4 + size], correlation, key, version))
            position += 4 + size
        self._buffer = data[position:]

    def closed(self, reason: str) -> None:
        self.closed_by = reason
        waiting, self._waiting = self._waiting, deque()
        for _, _, _, alarm, done in waiting:
            alarm.cancel()
            done(None)
