"""Connections to nodes of the cluster. A lane carries one client's requests to one node, in order."""

from __future__ import annotations

import asyncio
from collections import deque

from tapelog.base.addresses import host_port
from tapelog.router.frames import read_frame
from tapelog.wire.values import WireError

CONNECT_S_MAX = 5.0


class NodeLostError(Exception):
    """A node did not answer. `sent`: the request may have reached it."""

    def __init__(self, where: str, *, sent: bool) -> None:
        super().__init__(f"no answer from {where}")
        self.sent = sent


class Lane:
    """One connection to one node: answers come in the order of requests."""

    def __init__(self, where: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.where = where
        self.closed = False
        self._writer = writer
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._reading = asyncio.create_task(self._read(reader))

    @staticmethod
    async def open(host: str, port: int) -> Lane:
        """Connect; NodeLostError if that fails."""
        where = host_port(host, port)
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port, limit=1 << 20), CONNECT_S_MAX)
        except (OSError, TimeoutError):
            raise NodeLostError(where, sent=False) from None
        return Lane(where, reader, writer)

    @property
    def busy(self) -> bool:
        """An answer is still to come."""
        return bool(self._waiting)

    def send(self, frame: bytes) -> asyncio.Future[bytes]:
        """Queue a request; the future gets the payload of its answer, or NodeLostError."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self.closed:
            future.set_exception(NodeLostError(self.where, sent=False))
            return future
        self._waiting.append(future)
        self._writer.write(frame)
        return future

    def send_unanswered(self, frame: bytes) -> None:
        """A request that has no answer (acks=0)."""
        if not self.closed:
            self._writer.write(frame)

    async def drain(self) -> None:
        """Wait while more is queued than the node takes."""
        if not self.closed:
            try:
                await self._writer.drain()
            except OSError:
                self.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while (payload := await read_frame(reader)) is not None:
                if not self._waiting:
                    break  # an answer nobody asked for
                future = self._waiting.popleft()
                if not future.done():
                    future.set_result(payload)
        except WireError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Close; what is still waiting fails."""
        if self.closed:
            return
        self.closed = True
        self._writer.close()
        if asyncio.current_task() is not self._reading:
            self._reading.cancel()
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(NodeLostError(self.where, sent=True))
                future.exception()  # perhaps nobody looks any more
