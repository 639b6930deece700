"""The shell around the core: listeners, sockets, and the loop that drives them.

Owns every transport; after each wake-up it lets the core settle, sends what is to be sent, resumes connections whose
turn has come and drops those that closed. Bounds: `max.connections` (and the descriptors that log files leave),
`max.connections.per.ip`, idle time, and over all connections the bytes of half-received requests and of answers that
nobody takes.
"""

from __future__ import annotations

import socket
from typing import Final

from tapelog.node.core import NodeCore
from tapelog.node.limits import sockets_share
from tapelog.node.memory import give_memory_back
from tapelog.node.reactor import Reactor
from tapelog.node.transport import Acceptor, Transport

SETTLE_MS: Final = 5
"""So long connections that have more to say go on before the others are heard again."""
IDLE_CHECK_MS: Final = 10_000
TRIM_BYTES: Final = 64 << 20
ROOM_PATIENCE_MS: Final = 10_000
"""When no large request was given room for so long, the half-received one of which nothing came for longest goes."""


class Shell:
    """Sockets of one node."""

    def __init__(self, reactor: Reactor, core: NodeCore) -> None:
        self.reactor = reactor
        self.core = core
        self.transports: dict[int, Transport] = {}
        self._per_host: dict[str, int] = {}
        self._acceptors: list[Acceptor] = []
        self._trim_due = False
        self._impatient = False
        self._sockets_max = sockets_share()
        asked = core.setting_int("queued.max.request.bytes")
        if asked > 0:
            core.dispatcher.held_bytes_max = asked
        self._unsent_bytes_max = core.setting_int("tapelog.unsent.max.bytes")
        self._send_buffer_bytes = core.setting_int("socket.send.buffer.bytes")
        reactor.timers.after(IDLE_CHECK_MS, self._check_connections)

    def listen(self, listener: socket.socket, name: str) -> None:
        """Accept clients on this socket."""
        self._acceptors.append(Acceptor(self.reactor, listener, lambda sock, host: self._accepted(sock, host, name)))

    def settle(self) -> None:
        """End of a wake-up. Who has more to say than fits into it goes on in the next one."""
        dispatcher, clock = self.core.dispatcher, self.core.clock
        began_ms = -1
        while True:
            self.core.settle()
            if dispatcher.dirty_connections:
                dirty, dispatcher.dirty_connections = dispatcher.dirty_connections, []
                for connection in dirty:
                    transport = self.transports.get(connection.number)
                    if transport is not None:
                        transport.flush()
            if dispatcher.held_bytes > TRIM_BYTES:
                self._trim_due = True
            if dispatcher.room_waiters:
                self._give_room()
            if dispatcher.unsent_bytes > self._unsent_bytes_max:
                self._relieve()
            if dispatcher.closed_connections:
                self._drop_closed()
            if not dispatcher.resumable:
                break
            if began_ms < 0:
                began_ms = clock.monotonic_ms()
            elif clock.monotonic_ms() - began_ms >= SETTLE_MS:
                self.reactor.post(_nothing)  # it is to come back at once
                break
            resumable, dispatcher.resumable = dispatcher.resumable, []
            for connection in resumable:
                connection.resume()
                transport = self.transports.get(connection.number)
                if transport is not None:
                    transport.unblocked()

    def close(self) -> None:
        """Stop accepting and drop every connection."""
        for acceptor in self._acceptors:
            acceptor.close()
        self.core.dispatcher.strangers.all_due(self.core.dispatcher.complain)
        for transport in list(self.transports.values()):
            transport.connection.close("")
        self._drop_closed()

    def _accepted(self, sock: socket.socket, host: str, listener: str) -> None:
        core = self.core
        if len(self.transports) >= core.setting_int("max.connections"):
            core.dispatcher.complain(f"refused a connection from {host}: max.connections is reached")
            sock.close()
            return
        if sock.fileno() >= self._sockets_max and len(self.transports) >= self._sockets_max // 2:
            core.dispatcher.complain(f"refused a connection from {host}: raise the limit of open files (ulimit -n)")
            sock.close()
            return
        if self._per_host.get(host, 0) >= core.setting_int("max.connections.per.ip"):
            core.dispatcher.complain(f"refused a connection from {host}: max.connections.per.ip is reached")
            sock.close()
            return
        if self._send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        connection = core.connect(host, listener)
        transport = Transport(self.reactor, core.disk, sock, connection)
        transport.unreadable = core.storage.unreadable
        transport.active_ms = core.clock.monotonic_ms()
        self.transports[connection.number] = transport
        self._per_host[host] = self._per_host.get(host, 0) + 1

    def _drop_closed(self) -> None:
        dispatcher = self.core.dispatcher
        closed, dispatcher.closed_connections = dispatcher.closed_connections, []
        for connection in closed:
            transport = self.transports.pop(connection.number, None)
            if transport is not None:
                transport.close()
                left = self._per_host.get(connection.peer_host, 1) - 1
                if left > 0:
                    self._per_host[connection.peer_host] = left
                else:
                    self._per_host.pop(connection.peer_host, None)

    def _check_connections(self) -> None:
        core = self.core
        idle_ms = core.setting_int("connections.max.idle.ms")
        now_ms = core.clock.monotonic_ms()
        for transport in list(self.transports.values()):
            if 0 < idle_ms < now_ms - transport.active_ms and not transport.connection.calls:
                transport.connection.close("")
        core.dispatcher.strangers.due(now_ms, core.dispatcher.complain)
        if self._trim_due and core.dispatcher.held_bytes < TRIM_BYTES:
            self._trim_due = False
            give_memory_back()
        self.reactor.timers.after(IDLE_CHECK_MS, self._check_connections)

    def _give_room(self) -> None:
        """Let large requests read on where that is possible; watch that it is, sooner or later."""
        dispatcher = self.core.dispatcher
        dispatcher.give_room()
        if dispatcher.room_waiters and not self._impatient:
            self._impatient = True
            given = dispatcher.rooms_given
            self.reactor.timers.after(ROOM_PATIENCE_MS, lambda: self._check_room(given))

    def _check_room(self, given: int) -> None:
        """Nobody has moved since: the half-received request of which nothing came for longest is given up."""
        self._impatient = False
        dispatcher = self.core.dispatcher
        if not dispatcher.room_waiters or dispatcher.rooms_given != given:
            return
        halted = [
            one.connection
            for one in sorted(self.transports.values(), key=lambda transport: transport.active_ms)
            if one.connection.reserved and not one.connection.waits_for_room and not one.connection.held_back
        ]
        if not halted:  # they have the room that they wait for: one of them has to go for the others
            halted = sorted(dispatcher.room_waiters, key=lambda connection: -connection.reserved)
        victim = halted[0]
        victim.close(f"a request of {victim.wanted} bytes came to a halt, and others wait for the room it takes")

    def _relieve(self) -> None:
        """Too much memory is held by answers that clients do not read: those who read least have to go."""
        for transport in sorted(self.transports.values(), key=lambda transport: -transport.unsent):
            unsent = self.core.dispatcher.unsent_bytes
            if unsent <= self._unsent_bytes_max:
                return
            transport.connection.close(
                f"{unsent} bytes of answers are not read, more than tapelog.unsent.max.bytes; most of them here"
            )
            transport.forget_unsent()


def _nothing() -> None:
    """For the sake of the wake-up."""
