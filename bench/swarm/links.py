"""Connections by the thousand on one epoll: requests out, answers to whoever asked, and timers."""

from __future__ import annotations

import heapq
import itertools
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tapelog.wire.catalog import response_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, Writer

Answered = Callable[[Any], None]


class SwarmError(Exception):
    """A connection was closed, or what was waited for never came."""


class Swarm:
    """All connections of one process, and what is to happen when."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._epoll = select.epoll()
        self._links: dict[int, Link] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()

    def connect(self) -> Link:
        """One more connection."""
        link = Link(socket.create_connection(("127.0.0.1", self.port), 30.0))
        self._links[link.fd] = link
        self._epoll.register(link.fd, select.EPOLLIN)
        return link

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Run action so much later."""
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._serial), action))

    def run_until(self, done: Callable[[], bool], timeout_s: float, what: str) -> float:
        """Serve everybody until it is so; how long that took. SwarmError if it takes too long."""
        begin = time.monotonic()
        while not done():
            now = time.monotonic()
            if now - begin > timeout_s:
                raise SwarmError(f"not after {timeout_s:g} s: {what}")
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()
            wait_s = min(0.1, max(0.0, self._timers[0][0] - now)) if self._timers else 0.1
            for fd, _ in self._epoll.poll(wait_s):
                self._links[fd].receive()
        return time.monotonic() - begin


class Link:
    """One connection: answers come in the order of requests."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting: deque[tuple[type[Message], int, bool, Answered]] = deque()
        self._received = bytearray()

    def ask(self, request: Message, version: int, answered: Answered) -> None:
        """Send a request; answered gets the decoded response."""
        flexible = version >= request.FLEXIBLE_FROM
        self._waiting.append((response_class(request.API_KEY), version, flexible, answered))
        self.sock.sendall(framed(request, version))

    def receive(self) -> None:
        """Take what is there and tell those who waited for it."""
        data = self.sock.recv(1 << 18)
        if not data:
            raise SwarmError("the broker closed a connection")
        self._received += data
        at = 0
        while len(self._received) - at >= 4:
            (size,) = struct.unpack_from(">i", self._received, at)
            if len(self._received) - at < 4 + size:
                break
            kind, version, flexible, answered = self._waiting.popleft()
            body = bytes(self._received[at + 8 : at + 4 + size])
            at += 4 + size
            reader = Reader(body, 0, len(body))
            if flexible:
                reader.skip_tags()
            answered(kind.decode(reader, version))
        del self._received[:at]


def framed(request: Message, version: int) -> bytes:
    """A request as it goes over the wire."""
    writer = Writer()
    writer.begin_frame()
    writer.i16(request.API_KEY)
    writer.i16(version)
    writer.i32(1)
    writer.nullable_string("bench")
    if version >= request.FLEXIBLE_FROM:
        writer.i8(0)
    request.encode(writer, version)
    writer.end_frame()
    return writer.tobytes()
