"""The connections of one node to all others: one per address and lane, opened when first needed, kept, opened again.

A connection answers in order, so requests that may be parked on the other side (a replica's fetch, a vote behind a slow
disk) have a lane of their own. A lane whose connection failed waits before it tries again, longer each time; meanwhile
its requests fail at once, and whoever sent them decides when to ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Clock, Net
from tapelog.base.timers import Timers
from tapelog.client.connection import ClientConnection
from tapelog.wire.message import Message

RECONNECT_BACKOFF_MS: Final = 50
RECONNECT_BACKOFF_MS_MAX: Final = 1000
IN_FLIGHT_MAX: Final = 256
"""Requests of one lane without an answer; more fail at once."""

Key = tuple[str, int, str]


class _Lane:
    """One connection that may have to be opened again."""

    __slots__ = ("connection", "failures", "retry_at_ms")

    def __init__(self) -> None:
        self.connection: ClientConnection | None = None
        self.failures = 0
        self.retry_at_ms = 0


class Peers:
    """Sends requests to other nodes."""

    def __init__(self, net: Net, timers: Timers, clock: Clock, client_id: str) -> None:
        self.net = net
        self.timers = timers
        self.clock = clock
        self.client_id = client_id
        self._lanes: dict[Key, _Lane] = {}
        self._closed = False

    def send(
        self,
        host: str,
        port: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """Send on the lane's connection. done gets the answer, or None when none came: refused, closed, timed out (then
        the connection is dropped, too), or the lane is still waiting after a failure. Exactly once, never before send
        returns."""
        connection = None if self._closed else self._connection((host, port, lane))
        if connection is None or connection.in_flight >= IN_FLIGHT_MAX:
            self.timers.after(0, lambda: done(None))
            return
        connection.send(request, version, timeout_ms, done)

    def forget(self, host: str, port: int) -> None:
        """The node there is gone or has moved: drop its connections; what is in flight gets no answer."""
        for key in [key for key in self._lanes if key[:2] == (host, port)]:
            connection = self._lanes.pop(key).connection
            if connection is not None:
                self.timers.after(0, connection.close)

    def close(self) -> None:
        """The node stops: drop every connection. Nothing is sent any more, and nobody is told."""
        self._closed = True
        for lane in self._lanes.values():
            if lane.connection is not None:
                lane.connection.abandon()
        self._lanes.clear()

    def _connection(self, key: Key) -> ClientConnection | None:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        if lane.connection is None and self.clock.monotonic_ms() >= lane.retry_at_ms:
            host, port, _ = key
            lane.connection = ClientConnection(
                self.net, self.timers, host, port, self.client_id, lambda connection, _: self._lost(lane, connection)
            )
        return lane.connection

    def _lost(self, lane: _Lane, connection: ClientConnection) -> None:
        if lane.connection is not connection:
            return
        lane.connection = None
        lane.failures = 0 if connection.answers else lane.failures + 1
        if lane.failures:
            backoff_ms = RECONNECT_BACKOFF_MS << min(lane.failures - 1, 10)
            lane.retry_at_ms = self.clock.monotonic_ms() + min(backoff_ms, RECONNECT_BACKOFF_MS_MAX)
