"""A net whose other side is the test: it sees what was sent and says what comes back."""

from __future__ import annotations

from tapelog.base.ports import ChannelEvents
from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import request_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, Writer


class FakeChannel:
    """One connection, as the other side sees it."""

    def __init__(self, host: str, port: int, events: ChannelEvents) -> None:
        self.address = (host, port)
        self.events = events
        self.sent = b""
        self.closed = False

    def send(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def requests(self) -> list[tuple[int, int, int, str | None, Message]]:
        """(api key, version, correlation id, client id, request) of everything sent since the last call."""
        found = []
        while self.sent:
            size = int.from_bytes(self.sent[:4], "big")
            reader = Reader(self.sent, 4, 4 + size)
            key, version, correlation, client = reader.i16(), reader.i16(), reader.i32(), reader.nullable_string()
            if request_header_version(key, version) >= 2:
                reader.skip_tags()
            found.append((key, version, correlation, client, request_class(key).decode(reader, version)))
            self.sent = self.sent[4 + size :]
        return found

    def answer(self, correlation: int, response: Message, version: int) -> None:
        self.events.received(frame(correlation, response, version))


class FakeNet:
    """Remembers every connection, in the order they were opened."""

    def __init__(self) -> None:
        self.channels: list[FakeChannel] = []

    def connect(self, host: str, port: int, events: ChannelEvents) -> FakeChannel:
        channel = FakeChannel(host, port, events)
        self.channels.append(channel)
        return channel


def frame(correlation: int, response: Message, version: int) -> bytes:
    """A response as it goes over the wire."""
    writer = Writer()
    writer.begin_frame()
    writer.i32(correlation)
    if response_header_version(response.API_KEY, version) >= 1:
        writer.uvarint(0)
    response.encode(writer, version)
    writer.end_frame()
    return writer.tobytes()
