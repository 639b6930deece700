"""Sockets to other nodes, on the reactor: the real `Net`.

Connecting never blocks, and a host name is looked up on a thread (an address is not). What cannot leave
at once is kept and sent when the socket takes it; a peer that takes nothing for so long that more than
`UNSENT_BYTES_MAX` wait is given up. Receiving is bounded per wake-up, so that one peer cannot starve the others.
"""

from __future__ import annotations

import errno
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.base.ports import REFUSED, ChannelEvents
from tapelog.client.pacing import unpace, unpace_at
from tapelog.node.reactor import READ, WRITE, Pollable, Reactor

RECEIVE_BYTES: Final = 1 << 20
UNSENT_BYTES_MAX: Final = 1 << 26
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3))
"""Seconds of silence, seconds between probes, and how many of them. Not every system has all of these."""
_PENDING: Final = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR)


class OutboundChannel(Pollable):
    """One socket to another node."""

    def __init__(self, reactor: Reactor, events: ChannelEvents) -> None:
        self.reactor = reactor
        self.events = events
        self.sock: socket.socket | None = None
        self.is_open = False
        self.over = False
        self._mask = 0
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0

    # -- Channel

    def send(self, data: bytes) -> None:
        """Send as much as leaves at once; the rest follows."""
        if self.over:
            return
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        if self._unsent_bytes > UNSENT_BYTES_MAX:
            self.reactor.post(lambda: self._closed("it takes nothing"))
        elif self.is_open and len(self._unsent) == 1:
            self._flush(from_events=False)

    def close(self) -> None:
        """Drop the socket and tell nobody."""
        self.over = True
        self._unsent.clear()
        if self.sock is not None:
            self.reactor.unwatch(self.sock.fileno())
            self.sock.close()
            self.sock = None

    # -- the socket's life

    def start(self, family: int, address: tuple[str, int]) -> None:
        """Begin to connect to an address."""
        if self.over:
            return
        try:
            sock = self.sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # too many open files
            self.fail(str(error))
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(sock)
        unpace_at(sock, address[0])
        failed = sock.connect_ex(address)
        if failed and failed not in _PENDING:
            sock.close()
            self.sock = None
            self.fail(_reason(failed))
            return
        self._mask = READ | WRITE
        self.reactor.watch(sock.fileno(), self, self._mask)

    def fail(self, reason: str) -> None:
        """It will never open; told later, since whoever connects is not ready for it yet."""
        self.reactor.post(lambda: self._closed(reason))

    def ready(self, mask: int) -> None:
        """Connected, writable, readable or broken."""
        if self.over or self.sock is None:
            return
        if not self.is_open:
            failed = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failed:
                self._closed(_reason(failed))
                return
            if not mask & WRITE:
                return
            self.is_open = True
            unpace(self.sock)
            self.events.opened()
        if mask & WRITE and not self.over:
            self._flush(from_events=True)
        if mask & ~WRITE and not self.over:
            self._receive()

    def _receive(self) -> None:
        assert self.sock is not None
        try:
            data = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._closed(str(error))
            return
        if data:
            self.events.received(data)
        else:
            self._closed("closed by the other side")

    def _flush(self, from_events: bool) -> None:
        assert self.sock is not None
        unsent = self._unsent
        try:
            while unsent:
                sent = self.sock.send(unsent[0])
                self._unsent_bytes -= sent
                if sent < len(unsent[0]):
                    unsent[0] = unsent[0][sent:]
                    break
                unsent.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            if from_events:
                self._closed(str(error))
            else:
                self.fail(str(error))
            return
        self._watch(READ | WRITE if unsent else READ)

    def _watch(self, mask: int) -> None:
        if mask != self._mask and self.sock is not None:
            self._mask = mask
            self.reactor.poller.change(self.sock.fileno(), mask)

    def _closed(self, reason: str) -> None:
        if not self.over:
            self.close()
            self.events.closed(reason)


class Outbound:
    """`Net` over TCP."""

    def __init__(self, reactor: Reactor, start_job: Callable[..., None]) -> None:
        self.reactor = reactor
        self._start_job = start_job
        """Runs a blocking call on a thread and reports back on the loop. Never the disk's: a name server that does not
        answer would hold up every flush."""
        self._looked_up: dict[str, list[tuple[int, OutboundChannel]]] = {}
        """Who waits for a host to be looked up, with the port it wants. One call per host, however often one asks."""

    def connect(self, host: str, port: int, events: ChannelEvents) -> OutboundChannel:
        """Begin to connect."""
        channel = OutboundChannel(self.reactor, events)
        family = _family(host)
        if family is not None:
            channel.start(family, (host, port))
        else:
            self._look_up(host, port, channel)
        return channel

    def _look_up(self, host: str, port: int, channel: OutboundChannel) -> None:
        if host in self._looked_up:
            waiting = self._looked_up[host]
            waiting[:] = [one for one in waiting if not one[1].over]
            waiting.append((port, channel))
            return
        self._looked_up[host] = [(port, channel)]
        found: list[tuple[int, str]] = []

        def look_up() -> None:
            for family, _, _, _, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
                found.append((int(family), str(address[0])))

        def done(error: Exception | None) -> None:
            for wanted, waiting in self._looked_up.pop(host):
                if error is not None or not found:
                    waiting.fail(f"cannot look up {host}: {error}")
                else:
                    family, address = _preferred(found)
                    waiting.start(family, (address, wanted))

        self._start_job(look_up, done)


def _preferred(found: list[tuple[int, str]]) -> tuple[int, str]:
    """IPv4 where there is a choice: listeners bind one family only, and localhost has two."""
    return next((one for one in found if one[0] == socket.AF_INET), found[0])


def _reason(failed: int) -> str:
    return REFUSED if failed == errno.ECONNREFUSED else os.strerror(failed)


def _family(host: str) -> int | None:
    """The family of a literal address; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):  # the latter for a name with a zero byte in it: nobody finds that
            continue
        return family
    return None


def _keep_alive(sock: socket.socket) -> None:
    """A machine that lost power never says that a connection is over, and who waits for an answer sends nothing that it
    could refuse once it is back: so the kernel asks."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
