"""One client connection without its socket: bytes in, answers out, in request order.

The transport (or the simulator) feeds received bytes and takes `outgoing`. Consecutive Produce requests
overlap; any other request waits until everything before it has been answered, as in Kafka, save for one case. A
JoinGroup or SyncGroup is answered when the others have come. A member that commits and leaves meanwhile is heard at
once: in Kafka its LeaveGroup waits behind its own JoinGroup, the client gives up after some seconds, and the group goes
on with a member that is gone. What a connection can hold is bounded: one partial frame, `IN_FLIGHT_MAX` produces, one
other request and what its sender says while it waits for others, and `OUTGOING_BYTES_MAX` unsent bytes before it stops
starting new work. After `TURN_MAX` requests other than Produce in a row others have their turn. A large frame that is
still on its way reserves room among all connections (`dispatch.Dispatcher`), and is not read on where there is none; a
Produce does not start while the disk is behind (`Dispatcher.pressed`).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from librt.strings import read_i16_be, read_i32_be

from tapelog.wire.primitives import Region
from tapelog.wire.strangers import foreign

if TYPE_CHECKING:
    from tapelog.server.call import Call
    from tapelog.server.dispatch import Dispatcher

IN_FLIGHT_MAX: Final = 256
OUTGOING_BYTES_MAX: Final = 1 << 18
RESERVED_BYTES: Final = 1 << 20
"""A larger frame reserves this much when it begins, and then twice what has come of it."""
SMALL_BYTES: Final = 1 << 16
"""A frame up to this never waits for room."""
TURN_MAX: Final = 16
"""So many requests that are no Produce are begun in a row, however many have come; Kafka begins one."""
PRODUCE: Final = 0
OFFSET_COMMIT: Final = 8
JOIN_GROUP: Final = 11
LEAVE_GROUP: Final = 13
SYNC_GROUP: Final = 14


class Connection:
    """The server's side of one connection, as a machine over bytes."""

    def __init__(
        self, dispatcher: Dispatcher, number: int, peer_host: str, listener: str, request_bytes_max: int
    ) -> None:
        self.dispatcher = dispatcher
        self.number = number
        self.peer_host = peer_host
        self.listener = listener
        self.side = 1
        """What is served here: `routes.ON_BROKER`, or ON_CONTROLLER."""
        self.broker_id = -1
        """The broker whose heartbeats come here, if any do."""
        self.principal = "User:ANONYMOUS"
        self.client_software_name = ""
        self.client_software_version = ""
        self.request_bytes_max = request_bytes_max
        self.calls: deque[Call] = deque()
        self.only_produce = True
        self.outgoing: list[bytes | Region] = []
        self.outgoing_bytes = 0
        self.blocked = False
        self.closed = False
        self.close_reason = ""
        self.stranger = False
        """It sent what cannot be a frame: its line in the log is one per address and minute."""
        self.dirty = False
        self.resuming = False
        self.requests = 0
        self.partial: list[bytes] = []
        self.partial_bytes = 0
        self.reserved = 0
        """What it has of the room for half-received requests."""
        self.waits_for_room = False
        self.held_back = False
        """A Produce waits here until the disk has caught up."""
        self.last_frame = 0
        self.wanted = 4
        """How many bytes the frame at the head of `partial` needs before parsing makes sense."""

    def feed(self, data: bytes) -> None:
        """Take received bytes and start every request that may start now."""
        if self.partial_bytes:
            self.partial.append(data)
            self.partial_bytes += len(data)
            if self.partial_bytes < self.wanted or self.blocked:
                if self.partial_bytes > self.reserved:
                    self._reserve()
                return
            data = b"".join(self.partial)
            self.partial = []
            self.partial_bytes = 0
        self._parse(data)

    def resume(self) -> None:
        """Earlier answers have left: go on with the frames that had to wait."""
        self.resuming = False
        if self.closed or not self.blocked or not self._may_go_on():
            return
        self.blocked = False
        if self.partial_bytes:
            data = b"".join(self.partial)
            self.partial = []
            self.partial_bytes = 0
            self._parse(data)

    def room_given(self) -> None:
        """There is room for the frame that had to wait: read on."""
        self.waits_for_room = False
        if not self.closed:
            self.blocked = False
            self._reserve()
            self.dispatcher.resumable.append(self)

    def answered(self) -> None:
        """A call is done: queue every answer whose turn has come."""
        calls = self.calls
        while calls and calls[0].done:
            call = calls.popleft()
            for chunk in call.chunks:
                self.outgoing.append(chunk)
                self.outgoing_bytes += len(chunk) if isinstance(chunk, bytes) else chunk.size
        if self.outgoing and not self.dirty:
            self.dirty = True
            self.dispatcher.dirty_connections.append(self)
        if self.blocked:
            self.sent()

    def sent(self) -> None:
        """Answers have left: if frames wait here, ask to be resumed."""
        if self.blocked and not self.resuming and self._may_go_on():
            self.resuming = True
            self.dispatcher.resumable.append(self)

    def close(self, reason: str) -> None:
        """Answer nothing more; the transport closes the socket. An empty reason is a client that left."""
        if self.closed:
            return
        self.closed = True
        self.close_reason = reason
        for call in self.calls:
            if call.abandoned is not None:
                call.abandoned()
                call.abandoned = None
        self.calls.clear()
        for chunk in self.outgoing:
            if not isinstance(chunk, bytes):
                chunk.release()
        self.outgoing.clear()
        self.outgoing_bytes = 0
        self.partial.clear()
        self.partial_bytes = 0
        self._hold(0)
        self.dispatcher.connection_closed(self)

    def _turn_away(self, head: bytes, length: int) -> None:
        """This is no frame, so no Kafka client that may speak here."""
        self.stranger = True
        self.close(
            foreign(head, self.listener)
            or f"a frame of {length} bytes (8 to socket.request.max.bytes={self.request_bytes_max} are allowed)"
        )

    def _hold(self, size: int) -> None:
        """Account for what half-received requests keep in memory, here and over all connections."""
        self.dispatcher.held_bytes += size - self.reserved
        self.reserved = size

    def _reserve(self) -> None:
        """Account for a half-received frame as it is and soon will be; it stops growing where that is too much."""
        size, need = self.partial_bytes, self.soon()
        if need > size and need > SMALL_BYTES and self.dispatcher.no_room(self, need):
            self.blocked = True
            if not self.waits_for_room:
                self.waits_for_room = True
                self.dispatcher.room_waiters.append(self)
            need = size
        self._hold(need)

    def soon(self) -> int:
        """How much memory the half-received frame takes, or soon will."""
        size = self.partial_bytes
        return max(size, min(self.wanted, max(RESERVED_BYTES, 2 * size)))

    def _may_go_on(self) -> bool:
        if self.waits_for_room or (self.held_back and self.dispatcher.pressed):
            return False
        return not self.calls and self.outgoing_bytes <= OUTGOING_BYTES_MAX

    def _hold_back(self) -> None:
        """A Produce came and the disk is behind: it waits, and nothing more is read here."""
        if not self.held_back:
            self.held_back = True
            self.dispatcher.held_back.append(self)

    def _heard_while_waiting(self, api_key: int) -> bool:
        """Whether this request may start although the one before it still waits for other members of the group."""
        waits = self.calls[0].api_key
        return (
            waits in (JOIN_GROUP, SYNC_GROUP)
            and api_key in (OFFSET_COMMIT, LEAVE_GROUP)
            and len(self.calls) < IN_FLIGHT_MAX
        )

    def _parse(self, data: bytes) -> None:
        pos, size, begun = 0, len(data), 0
        self.wanted = 4
        while size - pos >= 4:
            length: int = read_i32_be(data, pos)
            if length < 8 or length > self.request_bytes_max:
                self._turn_away(data[pos : pos + 4], length)
                return
            end = pos + 4 + length
            self.last_frame = 4 + length
            if end > size:
                self.wanted = 4 + length
                break
            api_key: int = read_i16_be(data, pos + 4)
            produce = api_key == PRODUCE
            calls = self.calls
            if self.outgoing_bytes > OUTGOING_BYTES_MAX or (
                calls
                and not (produce and self.only_produce and len(calls) < IN_FLIGHT_MAX)
                and not self._heard_while_waiting(api_key)
            ):
                self.blocked = True
                break
            if produce:
                if self.dispatcher.pressed:
                    self.blocked = True
                    self._hold_back()
                    break
            elif not calls:  # all before it are answered
                if begun == TURN_MAX:
                    self.blocked = True
                    self.sent()
                    break
                begun += 1
            self.only_produce = produce
            self.requests += 1
            self.dispatcher.dispatch(self, data, pos + 4, end)
            if self.closed:
                return
            pos = end
        if pos < size:
            self.partial = [data[pos:] if pos else data]
            self.partial_bytes = size - pos
            self._reserve()
        elif self.reserved:
            self._hold(0)
