"""The client's side of one connection, without its socket: requests out, answers back in order, and time limits.

`Peers` makes one per lane and is told when it is lost. Answers carry the correlation ids of their requests, in their
order; anything else (a strange frame, an answer that does not decode or comes too late) costs the connection, and with
it every request in flight: nobody could tell any more which answer belongs to whom.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Channel, Net
from tapelog.base.timers import Timer, Timers
from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import response_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, WireError, Writer

RESPONSE_BYTES_MAX: Final = 1 << 28
"""No answer between nodes is longer; one that says so is no answer."""

_RESPONSES: Final[dict[int, type[Message]]] = {}

Done = Callable[[Message | None], None]


class _Waiting:
    """A request whose answer is to come."""

    __slots__ = ("correlation_id", "deadline_ms", "done", "key", "version")

    def __init__(self, key: int, version: int, correlation_id: int, deadline_ms: int, done: Done) -> None:
        self.key = key
        self.version = version
        self.correlation_id = correlation_id
        self.deadline_ms = deadline_ms
        self.done = done


class ClientConnection:
    """One connection, opened at once. `lost` is called once when it is over by anything but `close`."""

    def __init__(
        self,
        net: Net,
        timers: Timers,
        host: str,
        port: int,
        client_id: str,
        lost: Callable[[ClientConnection, str], None],
    ) -> None:
        self.timers = timers
        self.client_id = client_id
        self.answers = 0
        """How many came: a connection that never gave one has failed, whatever the net says about it."""
        self.over = False
        self._lost = lost
        self._waiting: deque[_Waiting] = deque()
        self._correlation = 0
        self._timer: Timer | None = None
        self._pieces: list[bytes] = []
        self._held = 0
        self._wanted = 4
        self._channel: Channel = net.connect(host, port, self)

    @property
    def in_flight(self) -> int:
        """Requests without an answer."""
        return len(self._waiting)

    def send(self, request: Message, version: int, timeout_ms: int, done: Done) -> None:
        """Send a request; done gets its answer, or None when there will be none."""
        assert not self.over, "sent on a connection that is over"
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        key = request.API_KEY
        if key not in _RESPONSES:
            _RESPONSES[key] = response_class(key)
        writer = Writer()
        writer.begin_frame()
        writer.i16(key)
        writer.i16(version)
        writer.i32(self._correlation)
        writer.nullable_string(self.client_id)
        if request_header_version(key, version) >= 2:
            writer.uvarint(0)
        request.encode(writer, version)
        writer.end_frame()
        deadline_ms = self.timers.clock.monotonic_ms() + timeout_ms
        self._waiting.append(_Waiting(key, version, self._correlation, deadline_ms, done))
        self._watch(deadline_ms)
        self._channel.send(writer.tobytes())

    def close(self) -> None:
        """Drop it. What is in flight is told that no answer will come; `lost` is not called."""
        if not self.over:
            self._channel.close()
            self._end()

    def abandon(self) -> None:
        """Drop it and forget what is in flight: nobody is left to be told."""
        self._waiting.clear()
        self.close()

    # -- ChannelEvents

    def opened(self) -> None:
        """Nothing to do: what was sent leaves by itself."""

    def received(self, data: bytes) -> None:
        """Cut answers out of the bytes and hand them over."""
        self._pieces.append(data)
        self._held += len(data)
        if self._held < self._wanted:
            return
        data = data if len(self._pieces) == 1 else b"".join(self._pieces)
        position, size = 0, len(data)
        self._wanted = 4
        while size - position >= 4:
            length = int.from_bytes(data[position : position + 4], "big", signed=True)
            if not 4 <= length <= RESPONSE_BYTES_MAX:
                self._break(f"it sent a frame of {length} bytes")
                return
            end = position + 4 + length
            if end > size:
                self._wanted = 4 + length
                break
            self._answered(data, position + 4, end)
            if self.over:
                return
            position = end
        self._pieces = [data[position:]] if position < size else []
        self._held = size - position

    def closed(self, reason: str) -> None:
        """The net says it is over."""
        if not self.over:
            self._fail(reason)

    # -- inside

    def _answered(self, data: bytes, start: int, end: int) -> None:
        if not self._waiting:
            self._break("it sent an answer that nobody asked for")
            return
        waiting = self._waiting[0]
        try:
            reader = Reader(data, start, end)
            correlation_id = reader.i32()
            if correlation_id != waiting.correlation_id:
                self._break(f"it answered request {correlation_id} instead of {waiting.correlation_id}")
                return
            if response_header_version(waiting.key, waiting.version) >= 1:
                reader.skip_tags()
            response = _RESPONSES[waiting.key].decode(reader, waiting.version)
        except WireError as error:
            self._break(f"it sent a malformed answer: {error}")
            return
        self._waiting.popleft()
        self.answers += 1
        waiting.done(response)

    def _watch(self, deadline_ms: int) -> None:
        """See to it that the earliest deadline is noticed. One timer per connection: answers do not touch it."""
        timer = self._timer
        if timer is None or timer.action is None or timer.due_ms > deadline_ms:
            if timer is not None:
                timer.cancel()
            self._timer = self.timers.after(deadline_ms - self.timers.clock.monotonic_ms(), self._check_deadlines)

    def _check_deadlines(self) -> None:
        if not self._waiting:
            return
        earliest_ms = min(waiting.deadline_ms for waiting in self._waiting)
        if earliest_ms > self.timers.clock.monotonic_ms():
            self._watch(earliest_ms)
        else:
            self._break("an answer did not come in time")

    def _break(self, reason: str) -> None:
        self._channel.close()
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        self.over = True
        self._lost(self, reason)
        self._end()

    def _end(self) -> None:
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self._pieces = []
        self._held = 0
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.done(None)
