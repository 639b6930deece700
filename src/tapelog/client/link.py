"""One connection to one broker: requests out, answers in their order, several in flight.

`handshake.open_link` makes one. `send` gives a ticket, `receive` its answer; answers
that come before it are kept with their own tickets. A Fetch's records are slices of the frame as it arrived. Whatever
goes wrong ends the link, and with it everything in flight: nobody could tell any more which answer belongs to whom. A
link belongs to the process that opened it; after a fork it refuses to be used.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar, cast

from tapelog.client.errors import ClientError, LinkError, ProtocolError
from tapelog.client.pace import Deadline, Pace
from tapelog.client.settings import Address, ConnectionSettings
from tapelog.client.transport import Transport
from tapelog.client.versions import Versions
from tapelog.wire.api_keys import NAMES, request_header_version, response_header_version
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, WireError, Writer

ANSWER_BYTES_MAX: Final = 1 << 28
"""No answer is longer; one that says so is none."""
IN_FLIGHT_MAX: Final = 256
"""Requests without an answer on one link."""
THROTTLE_SECONDS_MAX: Final = 30.0
"""A broker that wants us to be silent for longer is asked again after this."""

R = TypeVar("R", bound=Message)


class Ticket(Generic[R]):
    """A request that was sent, and its answer once that has come."""

    __slots__ = ("answer", "answers", "correlation_id", "key", "version")

    def __init__(self, key: int, version: int, correlation_id: int, answers: type[R]) -> None:
        self.key = key
        self.version = version
        self.correlation_id = correlation_id
        self.answers = answers
        self.answer: R | None = None


class Link:
    """A connection in use. Not for two threads at once."""

    def __init__(self, transport: Transport, settings: ConnectionSettings, pace: Pace) -> None:
        self.address: Address = transport.address
        self.settings = settings
        self.pace = pace
        self.versions = Versions({}, {}, str(transport.address))
        self.over = False
        self.used_at = pace.now()
        self.renew_at: float | None = None
        """When to log in again, and when it is too late for that: set by the login (KIP-368)."""
        self.expires_at: float | None = None
        self.log_in: Callable[[Link, Deadline], None] | None = None
        self._transport = transport
        self._process = os.getpid()
        self._waiting: deque[Ticket[Message]] = deque()
        self._correlation = 0
        self._silent_until = 0.0

    @property
    def in_flight(self) -> int:
        """Requests whose answer has not come."""
        return len(self._waiting)

    @property
    def usable(self) -> bool:
        """May requests be sent on it? For one that lay idle: asks the socket, too."""
        if self.over or self._process != os.getpid() or self._waiting:
            return False
        if self.expires_at is not None and self.pace.now() >= self.expires_at:
            return False
        return self._transport.quiet()

    @property
    def ready(self) -> bool:
        """Has an answer (or the end) come in?"""
        return self.over or self._transport.ready

    def send(self, request: Message, answers: type[R], version: int, deadline: Deadline) -> Ticket[R]:
        """Send a request; the ticket fetches its answer, which is decoded as `answers`."""
        self._check()
        if self.renew_at is not None and self.pace.now() >= self.renew_at:
            self._renew(deadline)
        silence = self._silent_until - self.pace.now()
        if silence > 0:
            self.pace.sleep(min(silence, deadline.left()))
        return self.send_now(request, answers, version, deadline)

    def send_now(self, request: Message, answers: type[R], version: int, deadline: Deadline) -> Ticket[R]:
        """The same without looking whether we should log in again or be silent: for the handshake itself."""
        assert len(self._waiting) < IN_FLIGHT_MAX, "more requests in flight than anybody needs"
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        key = request.API_KEY
        ticket = Ticket(key, version, self._correlation, answers)
        writer = Writer()
        writer.begin_frame()
        writer.i16(key)
        writer.i16(version)
        writer.i32(self._correlation)
        writer.nullable_string(self.settings.client_id)
        if request_header_version(key, version) >= 2:
            writer.uvarint(0)
        request.encode(writer, version)
        writer.end_frame()
        self._waiting.append(cast("Ticket[Message]", ticket))
        try:
            self._transport.send(writer.tobytes(), deadline.within(self.settings.request_timeout_ms / 1000))
        except ClientError:
            self.close()
            raise
        return ticket

    def receive(self, ticket: Ticket[R], deadline: Deadline) -> R:
        """The answer to that request; waits for it, no longer than a request may take."""
        if ticket.answer is None:
            self._check()
            limit = deadline.within(self.settings.request_timeout_ms / 1000)
            while ticket.answer is None:
                self._read_answer(limit)
        answer, ticket.answer = ticket.answer, None
        return answer

    def call(self, request: Message, answers: type[R], version: int, deadline: Deadline) -> R:
        """Send, and wait for the answer."""
        return self.receive(self.send(request, answers, version, deadline), deadline)

    def close(self) -> None:
        """Drop it, and what is in flight."""
        self.over = True
        self._waiting.clear()
        self._transport.close()

    # -- inside

    def _check(self) -> None:
        if self._process != os.getpid():
            raise LinkError(f"the connection to {self.address} belongs to the process that forked this one")
        if self.over:
            raise LinkError(f"the connection to {self.address} is over", f"broker {self.address}")

    def _read_answer(self, deadline: Deadline) -> None:
        """Read one frame, and give it to the oldest ticket."""
        try:
            size = int.from_bytes(self._transport.receive(4, deadline), "big", signed=True)
            if not 4 <= size <= ANSWER_BYTES_MAX:
                raise self._strange(
                    f"it sent a frame of {size} bytes",
                    "it speaks TLS: set kafka.security.protocol" if size >> 16 == 0x1503 else "",
                )
            data = self._transport.receive(size, deadline)
            ticket = self._waiting[0]
            try:
                self._decode(ticket, data)
            except WireError as error:
                raise self._strange(f"its answer to {NAMES[ticket.key]} is malformed: {error}") from None
        except BaseException:
            self.close()
            raise
        self._waiting.popleft()
        self.used_at = self.pace.now()
        throttle_ms: int = getattr(ticket.answer, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._silent_until = self.used_at + min(throttle_ms / 1000, THROTTLE_SECONDS_MAX)

    def _decode(self, ticket: Ticket[Message], data: bytes) -> None:
        reader = Reader(data)
        correlation_id = reader.i32()
        if correlation_id != ticket.correlation_id:
            raise self._strange(f"it answered request {correlation_id} instead of {ticket.correlation_id}")
        version = ticket.version
        if response_header_version(ticket.key, version) >= 1:
            reader.skip_tags()
        elif ticket.key == _API_VERSIONS and data[4:6] == _UNSUPPORTED:
            version = 0  # a broker that does not know the version asked for says so in version 0
        ticket.answer = ticket.answers.decode(reader, version)

    def _renew(self, deadline: Deadline) -> None:
        """Log in again. Answers to what is in flight come before that of the login, and are kept for their tickets."""
        if self.expires_at is not None and self.pace.now() >= self.expires_at:
            self.close()
            raise LinkError(f"the session with {self.address} is over", f"broker {self.address}")
        assert self.log_in is not None
        try:
            self.log_in(self, deadline)
        except BaseException:
            self.close()
            raise

    def _strange(self, what: str, do: str = "") -> ProtocolError:
        return ProtocolError(
            f"{self.address} does not speak Kafka's protocol: {what}",
            f"broker {self.address}, {self.settings.security_protocol}",
            do or "check kafka.bootstrap.servers and kafka.security.protocol",
        )


_API_VERSIONS: Final = 18
_UNSUPPORTED: Final = (35).to_bytes(2, "big")
