"""A broker that says what a test tells it to: real sockets, one thread per connection, answers from a function."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType

from tapelog.client.settings import Address
from tapelog.wire.api_keys import VERSIONS, request_header_version, response_header_version
from tapelog.wire.catalog import request_class
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from tapelog.wire.primitives import Reader, WireError, Writer

Answer = Message | bytes | None
"""A response; bytes that are sent as they are; or nothing: the connection is closed."""
Handler = Callable[[Message, int], Answer]


def versions(ranges: dict[int, tuple[int, int]] | None = None, **features: int) -> ApiVersionsResponse:
    """What a broker with these APIs (default: all of ours) says about itself."""
    return ApiVersionsResponse(
        api_keys=[ApiVersion(key, low, high) for key, (low, high) in (VERSIONS if ranges is None else ranges).items()],
        finalized_features=[FinalizedFeatureKey(name.replace("_", "."), level, 0) for name, level in features.items()],
    )


FRAME_BYTES_MAX = 104857600
"""A longer frame, such as what begins a TLS handshake, closes the connection: socket.request.max.bytes."""


class FakeBroker:
    """Listens until the test is over. `asked` lists every request with its version, ApiVersions left out."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.handler = handler
        self.about = versions()
        self.asked: list[tuple[Message, int]] = []
        self.connections = 0
        self._tls = tls
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address("127.0.0.1", self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> FakeBroker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """No more connections, and none of those there are."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """Cut all connections."""
        for sock in self._open:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.append(sock)
            with sock, sock.makefile("rb") as stream:
                while 0 < (size := int.from_bytes(stream.read(4), "big")) <= FRAME_BYTES_MAX:
                    if not self._exchange(sock, stream.read(size)):
                        break
        except (OSError, WireError):
            pass

    def _exchange(self, sock: socket.socket, frame: bytes) -> bool:
        if not frame:
            return False
        reader = Reader(frame)
        key, version, correlation_id, _ = reader.i16(), reader.i16(), reader.i32(), reader.nullable_string()
        if request_header_version(key, version) >= 2:
            reader.skip_tags()
        request = request_class(key).decode(reader, version)
        answer: Answer
        if isinstance(request, ApiVersionsRequest):
            answer = self.about
        else:
            self.asked.append((request, version))
            answer = self.handler(request, version)
        if isinstance(answer, Message):
            answer = framed(answer, key, version, correlation_id)
        if answer is None:
            return False
        sock.sendall(answer)
        return True


def framed(answer: Message, key: int, version: int, correlation_id: int) -> bytes:
    """The bytes of an answer, with size and header."""
    writer = Writer()
    writer.begin_frame()
    writer.i32(correlation_id)
    if response_header_version(key, version) >= 1:
        writer.uvarint(0)
    answer.encode(writer, version)
    writer.end_frame()
    return writer.tobytes()
