"""Sockets: accept, receive, send. Everything about requests is the connection's business.

Answers leave with one `send` per wake-up. Regions of log files pass through one scratch buffer, read with
RWF_NOWAIT and sent together with the bytes around them: two copies in the processor's cache cost less than
sendfile's page references and extra packets (ADR 0006). What is not in the page cache is read ahead by a thread
first, so that the loop never waits for a disk.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Disk
from tapelog.log.segment import FileRegion
from tapelog.node.reactor import BROKEN, READ, WRITE, Pollable, Reactor
from tapelog.server.connection import Connection
from tapelog.wire.primitives import Region

log = logging.getLogger("tapelog.node")

RECEIVE_BYTES: Final = 1 << 16
RECEIVE_BYTES_MAX: Final = 1 << 20
SEND_BYTES: Final = 1 << 20
PIECES_MAX: Final = 512
SCRATCH_BYTES: Final = 2 << 20
READ_AHEAD_BYTES: Final = 4 << 20
READ_STRIDE: Final = 1 << 17
ACCEPTS_PER_WAKE_UP: Final = 64
ACCEPT_PAUSE_MS: Final = 100
NOWAIT: Final = getattr(os, "RWF_NOWAIT", 0)
SCRATCH: Final = memoryview(bytearray(SCRATCH_BYTES))
"""Where regions pass on their way from the page cache to a socket: small enough for the processor's cache."""


class Transport(Pollable):
    """The socket of one connection."""

    def __init__(self, reactor: Reactor, disk: Disk, sock: socket.socket, connection: Connection) -> None:
        self.reactor = reactor
        self.disk = disk
        self.sock = sock
        self.fd = sock.fileno()
        self.connection = connection
        self.mask = READ
        self.active_ms = 0
        self.warming = False
        self.warm: Region | None = None
        reactor.watch(self.fd, self, READ)

    def ready(self, mask: int) -> None:
        """Receive and start requests; send on."""
        if mask & WRITE:
            self.flush()
        if mask & ~WRITE:
            self._receive(mask & BROKEN != 0)

    def _receive(self, broken: bool) -> None:
        connection = self.connection
        if connection.closed:
            return
        if connection.blocked:
            if broken:  # told whether we ask for it or not, and again and again: nobody is there to answer
                connection.close("")
            self._watch(self.mask & ~READ)
            return
        missing = connection.wanted - connection.partial_bytes
        size = RECEIVE_BYTES if missing < RECEIVE_BYTES else min(missing, RECEIVE_BYTES_MAX)
        try:
            data = self.sock.recv(size)
        except BlockingIOError:
            return
        except OSError:
            connection.close("")
            return
        if not data:
            connection.close("")
            return
        self.active_ms = self.reactor.timers.clock.monotonic_ms()
        connection.feed(data)

    def flush(self) -> None:
        """Send what is queued, as far as the socket takes it."""
        connection = self.connection
        connection.dirty = False
        if connection.closed or self.warming:
            return
        try:
            finished = self._send_all()
        except BlockingIOError:
            finished = False
        except OSError:
            connection.close("")
            return
        mask = READ if finished or self.warming else READ | WRITE
        if connection.blocked and not self.mask & READ:
            mask &= ~READ
        if mask != self.mask:
            self._watch(mask)
        if connection.blocked:
            connection.sent()

    def unblocked(self) -> None:
        """The connection reads again."""
        if not self.mask & READ and not self.connection.blocked:
            self._watch(self.mask | READ)

    def close(self) -> None:
        """Drop the socket."""
        self.reactor.unwatch(self.fd)
        self.sock.close()

    def _watch(self, mask: int) -> None:
        if mask != self.mask and not self.connection.closed:
            self.mask = mask
            self.reactor.poller.change(self.fd, mask)

    def _send_all(self) -> bool:
        """Send until everything has left or the socket is full; regions are gathered through the scratch buffer."""
        connection = self.connection
        out = connection.outgoing
        while out:
            pieces: list[bytes | memoryview] = []
            size, used = 0, 0
            for chunk in out:
                if isinstance(chunk, bytes):
                    pieces.append(chunk)
                    size += len(chunk)
                else:
                    view = self._load(chunk, used)
                    if view is None:
                        break
                    pieces.append(view)
                    used += len(view)
                    size += len(view)
                    if len(view) < chunk.size:
                        break
                if size >= SEND_BYTES or len(pieces) == PIECES_MAX:
                    break
            if not pieces:
                self._read_ahead(out[0])
                return False
            sent = self._send(pieces, used > 0)
            connection.outgoing_bytes -= sent
            _consume(out, sent)
            if sent < size:
                return False
        return True

    def _send(self, pieces: list[bytes | memoryview], gather: bool) -> int:
        try:
            if gather:
                return self.sock.sendmsg(pieces)
            return self.sock.send(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        except BlockingIOError:
            return 0

    def _load(self, region: Region, used: int) -> bytes | memoryview | None:
        """What of the region is in the page cache and fits behind `used` in the scratch buffer; None if nothing."""
        if not isinstance(region, FileRegion) or region.file.fileno() < 0:
            return region.read()
        size = min(region.size, SCRATCH_BYTES - used)
        if size <= 0:
            return None
        view = SCRATCH[used : used + size]
        flags = NOWAIT if self.warm is not region else 0
        try:
            got = os.preadv(region.file.fileno(), [view], region.position, flags)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            got = os.preadv(region.file.fileno(), [view], region.position)
        if got == 0:
            raise OSError("the file ended before the region")
        self.warm = None
        return view[:got] if got < size else view

    def _read_ahead(self, region: bytes | Region) -> None:
        assert isinstance(region, FileRegion)
        self.warming = True
        self.warm = region
        self.disk.start_job(ReadAhead(region).run, self._warmed)

    def _warmed(self, error: Exception | None) -> None:
        self.warming = False
        if error is not None:
            self.connection.close(f"reading a log segment failed: {error}")
            return
        self.flush()


class ReadAhead:
    """Brings a region into the page cache, on a thread."""

    def __init__(self, region: FileRegion) -> None:
        self.region = region

    def run(self) -> None:
        """Read it once, in strides."""
        region = self.region
        position, end = region.position, region.position + min(region.size, READ_AHEAD_BYTES)
        while position < end:
            region.file.read(position, min(READ_STRIDE, end - position))
            position += READ_STRIDE


def _consume(out: list[bytes | Region], sent: int) -> None:
    """Take what was sent off the front."""
    done = 0
    while sent > 0:
        chunk = out[done]
        size = len(chunk) if isinstance(chunk, bytes) else chunk.size
        if size > sent:
            if isinstance(chunk, bytes):
                out[done] = chunk[sent:]
            elif isinstance(chunk, FileRegion):
                chunk.position += sent
                chunk.size -= sent
            else:
                out[done] = chunk.read()[sent:]
            break
        sent -= size
        done += 1
    del out[:done]


class Acceptor(Pollable):
    """A listening socket."""

    def __init__(
        self, reactor: Reactor, listener: socket.socket, accepted: Callable[[socket.socket, str], None]
    ) -> None:
        self.reactor = reactor
        self.listener = listener
        self.accepted = accepted
        reactor.watch(listener.fileno(), self)

    def ready(self, mask: int) -> None:
        """Accept what is waiting, a bounded number per wake-up."""
        for _ in range(ACCEPTS_PER_WAKE_UP):
            try:
                sock, address = self.listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._pause(error)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted(sock, str(address[0]))

    def _pause(self, error: OSError) -> None:
        """Out of descriptors, most likely: look again in a while instead of spinning."""
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
            log.warning("cannot accept a connection: %s. Raise the limit of open files (ulimit -n)", error)
            self.reactor.poller.change(self.listener.fileno(), 0)
            self.reactor.timers.after(ACCEPT_PAUSE_MS, self._resume)

    def _resume(self) -> None:
        if self.listener.fileno() >= 0:
            self.reactor.poller.change(self.listener.fileno(), READ)

    def close(self) -> None:
        """Stop accepting."""
        self.reactor.unwatch(self.listener.fileno())
        self.listener.close()
