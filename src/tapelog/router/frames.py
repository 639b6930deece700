"""Requests and answers as bytes: what the router must understand of a frame, and how it writes one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeVar

from tapelog.wire.api_keys import request_header_version, response_header_version
from tapelog.wire.catalog import request_class, response_class
from tapelog.wire.message import Message
from tapelog.wire.messages.request_header import RequestHeader
from tapelog.wire.messages.response_header import ResponseHeader
from tapelog.wire.reader import Reader
from tapelog.wire.strangers import foreign
from tapelog.wire.values import WireError
from tapelog.wire.writer import Writer

FRAME_BYTES_MAX = 100 * 1024 * 1024
"""Kafka's socket.request.max.bytes; answers of that size are also more than any client asks for."""

M = TypeVar("M", bound=Message)
_requests: dict[int, type[Message]] = {}
_responses: dict[int, type[Message]] = {}


class StrangerError(WireError):
    """What came is no frame; the text says what it looks like."""


class Call:
    """One request of a client: its header, and the whole frame as it came."""

    __slots__ = ("api_key", "body_at", "client_id", "correlation_id", "payload", "version")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        if len(payload) < 8:
            raise WireError("a request without a header")
        self.api_key = int.from_bytes(payload[0:2], "big")
        self.version = int.from_bytes(payload[2:4], "big")
        self.correlation_id = int.from_bytes(payload[4:8], "big", signed=True)
        self.client_id: str | None = None
        self.body_at = 8

    def decode(self) -> Any:
        """The request as a message of its API and version; WireError if it is none."""
        reader = Reader(self.payload)
        header = RequestHeader.decode(reader, request_header_version(self.api_key, self.version))
        self.client_id = header.client_id
        if self.api_key not in _requests:
            _requests[self.api_key] = request_class(self.api_key)
        return _requests[self.api_key].decode(reader, self.version)

    def encode(self, request: Message) -> bytes:
        """Another request of the same API, version and client, as a frame."""
        return request_frame(request, self.version, self.correlation_id, self.client_id)

    def answer(self, frame: bytes) -> Any:
        """The answer of a node to this request (the payload of its frame), as a message."""
        return decoded(frame, self.api_key, self.version)

    def reply(self, response: Message) -> bytes:
        """The frame that answers this request."""
        w = Writer()
        header = ResponseHeader(self.correlation_id)
        header.encode(w, response_header_version(self.api_key, self.version))
        response.encode(w, self.version)
        return framed(w.tobytes())


def request_frame(request: Message, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A request as a frame."""
    w = Writer()
    header = RequestHeader(request.API_KEY, version, correlation_id, client_id)
    header.encode(w, request_header_version(request.API_KEY, version))
    request.encode(w, version)
    return framed(w.tobytes())


def framed(payload: bytes) -> bytes:
    """A frame with its size before it."""
    return len(payload).to_bytes(4, "big") + payload


def decoded(payload: bytes, api_key: int, version: int) -> Any:
    """An answer as a message; WireError if it is none."""
    reader = Reader(payload)
    ResponseHeader.decode(reader, response_header_version(api_key, version))
    if api_key not in _responses:
        _responses[api_key] = response_class(api_key)
    return _responses[api_key].decode(reader, version)


def changed(message: M, **values: object) -> M:
    """A copy with some fields replaced."""
    fields = {name: getattr(message, name) for name in message.FIELDS}
    return type(message)(**{**fields, **values})


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next payload; None when the other side has closed. StrangerError for a size nobody sends."""
    try:
        head = await reader.readexactly(4)
        size = int.from_bytes(head, "big")
        if size > FRAME_BYTES_MAX:
            raise StrangerError(foreign(head) or f"a frame of {size} bytes")
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        return None


def greatest(values: Iterable[int]) -> int:
    """The greatest, 0 of none: throttle times of many answers."""
    return max(values, default=0)
