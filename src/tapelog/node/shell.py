"""The shell around the core: listeners, sockets, and the loop that drives them.

Owns every transport; after each wake-up it lets the core settle, sends what is to be sent, resumes connections whose
turn has come and drops those that closed. Bounds: `max.connections`, `max.connections.per.ip`, idle time, and the
bytes of half-received requests over all connections.
"""

from __future__ import annotations

import socket
from typing import Final

from tapelog.node.core import NodeCore
from tapelog.node.memory import give_memory_back
from tapelog.node.reactor import Reactor
from tapelog.node.transport import Acceptor, Transport

ROUNDS_MAX: Final = 1000
IDLE_CHECK_MS: Final = 10_000
TRIM_BYTES: Final = 64 << 20
HELD_BYTES_MAX: Final = 1 << 29  # unless queued.max.request.bytes says otherwise
"""Half-received requests may hold this much memory together; beyond it the largest one's connection is closed."""


class Shell:
    """Sockets of one node."""

    def __init__(self, reactor: Reactor, core: NodeCore) -> None:
        self.reactor = reactor
        self.core = core
        self.transports: dict[int, Transport] = {}
        self._per_host: dict[str, int] = {}
        self._acceptors: list[Acceptor] = []
        self._trim_due = False
        asked = core.setting_int("queued.max.request.bytes")
        self._held_bytes_max = asked if asked > 0 else HELD_BYTES_MAX
        self._send_buffer_bytes = core.setting_int("socket.send.buffer.bytes")
        reactor.timers.after(IDLE_CHECK_MS, self._check_connections)

    def listen(self, listener: socket.socket, name: str) -> None:
        """Accept clients on this socket."""
        self._acceptors.append(Acceptor(self.reactor, listener, lambda sock, host: self._accepted(sock, host, name)))

    def settle(self) -> None:
        """End of a wake-up."""
        dispatcher = self.core.dispatcher
        for _ in range(ROUNDS_MAX):
            self.core.settle()
            if dispatcher.dirty_connections:
                dirty, dispatcher.dirty_connections = dispatcher.dirty_connections, []
                for connection in dirty:
                    transport = self.transports.get(connection.number)
                    if transport is not None:
                        transport.flush()
            if dispatcher.held_bytes > TRIM_BYTES:
                self._trim_due = True
            if dispatcher.held_bytes > self._held_bytes_max:
                self._relieve()
            if dispatcher.closed_connections:
                self._drop_closed()
            if not dispatcher.resumable:
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
        for transport in list(self.transports.values()):
            transport.connection.close("")
        self._drop_closed()

    def _accepted(self, sock: socket.socket, host: str, listener: str) -> None:
        core = self.core
        if len(self.transports) >= core.setting_int("max.connections"):
            core.dispatcher.complain(f"refused a connection from {host}: max.connections is reached")
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
        if self._trim_due and core.dispatcher.held_bytes < TRIM_BYTES:
            self._trim_due = False
            give_memory_back()
        self.reactor.timers.after(IDLE_CHECK_MS, self._check_connections)

    def _relieve(self) -> None:
        """Too much memory is held by half-received requests: the largest ones have to go."""
        by_size = sorted(self.transports.values(), key=lambda transport: -transport.connection.partial_bytes)
        for transport in by_size:
            held = self.core.dispatcher.held_bytes
            if held <= self._held_bytes_max:
                return
            transport.connection.close(f"half-received requests hold {held} bytes; this one was the largest")
