"""Sockets: accept, receive, send. Everything about requests is the connection's business.

Answers leave with one `send` per wake-up; large file regions by `sendfile`, straight from the page cache. A region that
is not in the page cache is read ahead by a thread first, so that the loop never waits for a disk.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable
from typing import Final

from tapelog.base.ports import DamageError, Disk, DiskError, StaleRegionError
from tapelog.client.pacing import unpace
from tapelog.log.memory_region import MemoryRegion
from tapelog.log.scrub import SegmentCheck
from tapelog.log.segment import FileRegion
from tapelog.node.reactor import BROKEN, READ, WRITE, Pollable, Reactor
from tapelog.server.connection import Connection
from tapelog.wire.primitives import Region

log = logging.getLogger("tapelog.node")

RECEIVE_BYTES: Final = 1 << 16
RECEIVE_BYTES_MAX: Final = 1 << 20
SENDFILE_FROM: Final = 1 << 15
SEND_BYTES: Final = 1 << 18
READ_AHEAD_BYTES: Final = 1 << 17
PROBE_STRIDE: Final = 1 << 19
ACCEPTS_PER_WAKE_UP: Final = 64
ACCEPT_PAUSE_MS: Final = 100
MSG_MORE: Final = getattr(socket, "MSG_MORE", 0)
TCP_CORK: Final = getattr(socket, "TCP_CORK", 0)
NOWAIT: Final = getattr(os, "RWF_NOWAIT", 0)


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
        self.unreadable: Callable[[FileRegion, DiskError], None] | None = None
        """Told of what could not be read for sending."""
        self.corked = False
        self.unsent = 0
        """Answers in memory that the socket did not take."""
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
        if connection.partial_bytes == 0:
            dispatcher = connection.dispatcher
            missing = connection.last_frame if 2 * dispatcher.held_bytes < dispatcher.held_bytes_max else 0
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
        except StaleRegionError as stale:
            connection.close(f"reading a log segment failed: {stale}")
            return
        except DiskError as error:
            self._unreadable(error)
            return
        except OSError as failure:
            if failure.errno == errno.EIO:
                self._unreadable(DiskError(str(failure)))
            connection.close("")
            return
        if self.unsent or not finished:
            self._count_unsent()
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
        self.forget_unsent()
        self.reactor.unwatch(self.fd)
        self.sock.close()

    def forget_unsent(self) -> None:
        """It will not be sent any more."""
        self.connection.dispatcher.unsent_bytes -= self.unsent
        self.unsent = 0

    def _count_unsent(self) -> None:
        """Account for what waits here in memory; regions of files wait on the disk."""
        unsent = 0
        for chunk in self.connection.outgoing:
            if isinstance(chunk, bytes):
                unsent += len(chunk)
            elif not isinstance(chunk, FileRegion):
                unsent += chunk.size
        self.connection.dispatcher.unsent_bytes += unsent - self.unsent
        self.unsent = unsent

    def _watch(self, mask: int) -> None:
        if mask != self.mask and not self.connection.closed:
            self.mask = mask
            self.reactor.poller.change(self.fd, mask)

    def _send_all(self) -> bool:
        connection = self.connection
        out = connection.outgoing
        while out:
            head = out[0]
            if isinstance(head, bytes) or head.size < SENDFILE_FROM:
                if not self._send_bytes(connection):
                    return False
            elif isinstance(head, FileRegion):
                if not self._send_file(connection, head):
                    return False
            elif isinstance(head, MemoryRegion):
                if not self._send_memory(connection, head):
                    return False
            else:
                out[0] = head.read()
        if self.corked:
            self._cork(False)
        return True

    def _send_bytes(self, connection: Connection) -> bool:
        out = connection.outgoing
        if len(out) == 1 and isinstance(out[0], bytes):
            data = out[0]
            out.clear()
        else:
            pieces: list[bytes] = []
            size, taken = 0, 0
            for chunk in out:
                if isinstance(chunk, bytes):
                    pieces.append(chunk)
                    size += len(chunk)
                elif chunk.size < SENDFILE_FROM:
                    piece = chunk.read()
                    if len(piece) < chunk.size:
                        raise StaleRegionError("the file ended before the region")
                    pieces.append(piece)
                    size += chunk.size
                    chunk.release()
                else:
                    break
                taken += 1
                if size >= SEND_BYTES:
                    break
            data = b"".join(pieces)
            del out[:taken]
        try:
            sent = self.sock.send(data, MSG_MORE) if out else self.sock.send(data)
        except BlockingIOError:
            sent = 0
        connection.outgoing_bytes -= sent
        if sent < len(data):
            out.insert(0, data[sent:] if sent else data)
            return False
        return True

    def _send_file(self, connection: Connection, region: FileRegion) -> bool:
        region.check()
        if self.warm is not region and not _in_page_cache(region):
            self._read_ahead(region)
            return False
        if not self.corked and len(connection.outgoing) > 1:
            self._cork(True)
        fd = region.file.fileno()
        while region.size > 0:
            sent = os.sendfile(self.fd, fd, region.position, region.size)
            if sent == 0:
                raise OSError("the file ended before the region")
            region.position += sent
            region.size -= sent
            connection.outgoing_bytes -= sent
        self.warm = None
        connection.outgoing.pop(0)
        return True

    def _send_memory(self, connection: Connection, region: MemoryRegion) -> bool:
        while region.size > 0:
            view = region.next_view()
            more = len(view) < region.size or len(connection.outgoing) > 1
            sent = self.sock.send(view, MSG_MORE) if more else self.sock.send(view)
            region.sent(sent)
            connection.outgoing_bytes -= sent
            if sent < len(view):
                return False
        connection.outgoing.pop(0)
        return True

    def _cork(self, on: bool) -> None:
        """Let what follows a region leave in the same packet: the client is woken once less."""
        if TCP_CORK:
            self.sock.setsockopt(socket.IPPROTO_TCP, TCP_CORK, 1 if on else 0)
            self.corked = on

    def _read_ahead(self, region: FileRegion) -> None:
        self.warming = True
        self.warm = region
        self.disk.start_job(ReadAhead(region).run, self._warmed)

    def _warmed(self, error: Exception | None) -> None:
        self.warming = False
        if error is not None:
            self._unreadable(error if isinstance(error, DiskError) else DiskError(str(error)))
            return
        self.flush()

    def _unreadable(self, error: DiskError) -> None:
        """What was to be sent cannot be read, or is damaged."""
        out = self.connection.outgoing
        head = self.warm if self.warm is not None else out[0] if out else None
        if self.unreadable is not None and isinstance(head, FileRegion):
            self.unreadable(head, error)
        self.connection.close(f"reading a log segment failed: {error}")


class ReadAhead:
    """Brings a region into the page cache, on a thread, and sees whether it is what was written: this is when bytes
    come from the disk."""

    def __init__(self, region: FileRegion) -> None:
        self.region = region

    def run(self) -> None:
        """Read it once, in strides. DamageError if a batch has the wrong checksum."""
        region = self.region
        begin, size = region.position, region.size
        if begin != region.begin:  # a part of it has been sent: no batch begins here
            for position in range(begin, begin + size, READ_AHEAD_BYTES):
                region.file.read(position, min(READ_AHEAD_BYTES, begin + size - position))
            return
        check = SegmentCheck(0, size, region.next_offset)
        while not check.done:
            check.step(self._read, READ_AHEAD_BYTES)
        if check.damage:
            raise DamageError(f"{region.file.path} is damaged: {check.damage[0].reason}")

    def _read(self, position: int, size: int) -> bytes:
        return self.region.file.read(self.region.begin + position, size)


def _in_page_cache(region: FileRegion) -> bool:
    """Whether the region seems to be in memory, by a look at a few of its bytes: caches lose files in long runs."""
    if not NOWAIT:
        return True
    fd, one = region.file.fileno(), [bytearray(1)]
    position, last = region.position, region.position + region.size - 1
    try:
        while position < last:
            os.preadv(fd, one, position, NOWAIT)
            position += PROBE_STRIDE
        os.preadv(fd, one, last, NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


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
            unpace(sock)
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
