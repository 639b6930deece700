"""One request on its way to an answer.

A handler gets a Call and answers it once, now or later; the connection sends answers in request order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.wire.errors import KafkaError
from tapelog.wire.message import Message
from tapelog.wire.primitives import Region, Writer

if TYPE_CHECKING:
    from tapelog.server.connection import Connection


class Call:
    """A request that a connection waits to answer."""

    def __init__(self, connection: Connection, api_key: int, version: int, correlation_id: int, client_id: str) -> None:
        self.connection = connection
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.flexible_header = False
        self.done = False
        self.chunks: list[bytes | Region] = []
        self.abandoned: Callable[[], None] | None = None
        """Called if the connection closes before the answer: whoever waits for something may stop."""

    def reply(self, response: Message) -> None:
        """Answer with this message; the first answer counts, later ones are ignored."""
        if self.done:
            return
        writer = Writer()
        writer.begin_frame()
        writer.i32(self.correlation_id)
        if self.flexible_header:
            writer.i8(0)
        try:
            response.encode(writer, self.version)
        except Exception:  # a defect of ours: it must not reach whoever runs this answer
            self.connection.dispatcher.failed(self)
            return
        writer.end_frame()
        self.chunks = writer.finish()
        self._finish()
        self.connection.answered()

    def reply_bytes(self, data: bytes) -> None:
        """Answer with a response that is encoded already, header included, as another node gave it."""
        if not self.done:
            self.chunks = [len(data).to_bytes(4, "big") + data]
            self._finish()
            self.connection.answered()

    def outcome(self, response: Message | KafkaError) -> None:
        """Answer with a message, or refuse with an error that the API's response may be able to carry."""
        if isinstance(response, KafkaError):
            self.connection.dispatcher.reply_error(self, response)
        else:
            self.reply(response)

    def reply_nothing(self) -> None:
        """A request that has no response (Produce with acks=0)."""
        if not self.done:
            self._finish()
            self.connection.answered()

    def _finish(self) -> None:
        """The answer is decided. `abandoned` usually holds what holds this call: without it, there is no cycle."""
        self.done = True
        self.abandoned = None

    def refuse(self, reason: str) -> None:
        """Close the connection, as Kafka does for what it cannot answer."""
        self.done = True
        self.connection.close(reason)


class LocalCall(Call):
    """A request of this node to itself, or one that came in an envelope: the answer goes to `receive`, once.

    None when it is refused in a way that would cost a client its connection.
    """

    def __init__(
        self,
        connection: Connection,
        api_key: int,
        version: int,
        client_id: str,
        receive: Callable[[Message | None], None],
    ) -> None:
        super().__init__(connection, api_key, version, 0, client_id)
        self.receive = receive

    def reply(self, response: Message) -> None:
        """Hand the answer over."""
        if not self.done:
            self._finish()
            self.receive(response)

    def reply_bytes(self, data: bytes) -> None:
        """Only a client's call is forwarded, never one of our own."""
        raise AssertionError("forwarded twice")

    def reply_nothing(self) -> None:
        """There is no answer."""
        self.refuse("")

    def refuse(self, reason: str) -> None:
        """There is no answer."""
        if not self.done:
            self._finish()
            self.receive(None)
