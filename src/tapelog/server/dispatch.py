"""Frames to handlers: parse the header, find the route, decode, call; and what happens when that goes wrong.

Bad input costs its sender the connection and us one (rate-limited) log line. Errors that a handler does not
expect become UNKNOWN_SERVER_ERROR where the response can carry it, with the traceback in our log. What all connections
share is kept here, too: the room for half-received requests, and whether Produces may start.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import mypyc_attr

from tapelog.base.ports import DiskError
from tapelog.server.call import Call
from tapelog.server.connection import Connection
from tapelog.server.routes import FORWARDED, ON_BROKER, ROUTES, Route, unsupported_version_response
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, WireError
from tapelog.wire.strangers import Strangers

if TYPE_CHECKING:
    from tapelog.server.node_api import NodeApi

log = logging.getLogger("tapelog.server")

API_VERSIONS: Final = 18
LOG_LINES_PER_SECOND: Final = 10
HELD_BYTES_MAX: Final = 1 << 29  # unless queued.max.request.bytes says otherwise
"""So much memory half-received requests may take together."""


@mypyc_attr(allow_interpreted_subclasses=True)  # tests stand in for it
class Dispatcher:
    """Starts requests on behalf of connections and collects the connections that have something to send."""

    def __init__(self, node: NodeApi) -> None:
        self.node = node
        self.dirty_connections: list[Connection] = []
        self.resumable: list[Connection] = []
        self.closed_connections: list[Connection] = []
        self.held_bytes = 0
        """What half-received requests of all connections keep in memory, or have reserved."""
        self.held_bytes_max = HELD_BYTES_MAX
        self.room_waiters: deque[Connection] = deque()
        """Connections with a large frame for which there is no room yet, in the order of their coming."""
        self.rooms_given = 0
        self.pressed = False
        """Producers are ahead of the disk: no Produce starts."""
        self.held_back: list[Connection] = []
        """Connections with a Produce that waits for that."""
        self.unsent_bytes = 0
        """Answers in memory that clients' sockets do not take."""
        self.strangers = Strangers()
        self._routes: list[Route | None] = ROUTES
        self._log_second = 0
        self._log_lines = 0

    def dispatch(self, connection: Connection, buf: bytes, start: int, end: int) -> None:
        """Start the request in buf[start:end]. Every failure is handled here."""
        api_key: int = read_i16_be(buf, start)
        version: int = read_i16_be(buf, start + 2)
        correlation_id: int = read_i32_be(buf, start + 4)
        route = self._routes[api_key] if 0 <= api_key < len(self._routes) else None
        if route is None or not route.on & connection.side:
            connection.close(f"unknown API key {api_key}")
            return
        if version < route.min_version or version > route.max_version:
            self._unsupported(connection, route, version, correlation_id)
            return
        try:
            reader = Reader(buf, start + 8, end)
            client_id = reader.nullable_string() or ""
            if version >= route.flexible_from:
                reader.skip_tags()
            request = route.decode(reader, version)
        except WireError as bad:  # not `error`: compiled, a name has one type per function
            connection.close(f"a malformed {route.name} v{version} request: {bad}")
            return
        call = Call(connection, api_key, version, correlation_id, client_id)
        call.flexible_header = version >= route.flexible_from and api_key != API_VERSIONS
        connection.calls.append(call)
        if route.on == FORWARDED and connection.side == ON_BROKER and not self.node.controls:
            self._forward(call, buf[start:end])
        else:
            self.start(route, call, request)

    def start(self, route: Route, call: Call, request: Message) -> None:
        """Let the handler answer; whatever it raises becomes an answer too."""
        try:
            route.handle(self.node, call, request)
        except KafkaError as error:
            self.reply_error(call, error)
        except DiskError as trouble:
            self.node.disk_trouble(trouble)
            self.reply_error(call, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(trouble)))
        except Exception:
            self.failed(call)

    def _forward(self, call: Call, data: bytes) -> None:
        from tapelog.server.forward import forward

        try:
            forward(self.node, call, data)
        except Exception:
            self.failed(call)

    def no_room(self, connection: Connection, size: int) -> bool:
        """Whether its half-received request cannot grow to that size: others have the room. Alone it always can."""
        others = self.held_bytes - connection.reserved
        return others > 0 and others + size > self.held_bytes_max

    def give_room(self) -> None:
        """Let the frames read on that there is room for by now, first come, first served."""
        waiters = self.room_waiters
        while waiters and (waiters[0].closed or not self.no_room(waiters[0], waiters[0].soon())):
            self.rooms_given += 1
            waiters.popleft().room_given()

    def press(self, pressed: bool) -> None:
        """Hold Produces back from now on, or let them go on."""
        self.pressed = pressed
        if not pressed:
            waiting, self.held_back = self.held_back, []
            for connection in waiting:
                connection.held_back = False
                connection.sent()

    def connection_closed(self, connection: Connection) -> None:
        """Called by a connection that closed itself: the transport must drop its socket."""
        self.closed_connections.append(connection)
        if connection.broker_id >= 0:
            self.node.hung_up(connection.broker_id, connection.number)
        if connection.stranger:
            now_ms = self.node.clock.monotonic_ms()
            self.strangers.came(connection.peer_host, connection.close_reason, now_ms, self.complain)
        elif connection.close_reason:
            self.complain(f"closed the connection from {connection.peer_host}: {connection.close_reason}")

    def complain(self, line: str) -> None:
        """One log line about bad input; at most LOG_LINES_PER_SECOND of them."""
        second = self.node.clock.monotonic_ms() // 1000
        if second != self._log_second:
            if self._log_lines > LOG_LINES_PER_SECOND:
                log.warning("%d more lines like these were left out", self._log_lines - LOG_LINES_PER_SECOND)
            self._log_second, self._log_lines = second, 0
        self._log_lines += 1
        if self._log_lines <= LOG_LINES_PER_SECOND:
            log.warning("%s", line)

    def _unsupported(self, connection: Connection, route: Route, version: int, correlation_id: int) -> None:
        if route.api_key != API_VERSIONS:
            connection.close(f"{route.name} v{version} (v{route.min_version} to v{route.max_version} are served)")
            return
        call = Call(connection, API_VERSIONS, 0, correlation_id, "")
        connection.calls.append(call)
        call.reply(unsupported_version_response())

    def failed(self, call: Call) -> None:
        """An exception nobody expected is being handled: the traceback goes to our log, the client gets what it can."""
        route = self._routes[call.api_key]
        assert route is not None
        log.exception("%s v%d from %s failed", route.name, call.version, call.connection.peer_host)
        self.reply_error(call, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, ""))

    def reply_error(self, call: Call, error: KafkaError) -> None:
        """Answer with the error where this API's response can carry one; close the connection where it cannot."""
        route = self._routes[call.api_key]
        assert route is not None
        response = route.error_response(int(error.code), error.message, call.version)
        if response is None:
            call.refuse(f"{route.name} failed with {error.code.name} {error.message}")
        else:
            call.reply(response)
