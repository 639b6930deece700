"""A server of ranges of one object that answers as it is told, for tests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tapelog.node.ranged_reads import RangedReads

DATA = bytes(range(256)) * 1024
Answer = Callable[[socket.socket, int, int], bool]
"""Sends something for a range; whether the connection goes on."""


def head(first: int, last: int, *more: str, status: str = "HTTP/1.1 206 Partial Content") -> bytes:
    lines = [status, f"Content-Length: {last - first + 1}", f"content-range: bytes {first}-{last}/{len(DATA)}", *more]
    return "\r\n".join([*lines, "", ""]).encode()


def good(peer: socket.socket, first: int, last: int) -> bool:
    peer.sendall(head(first, last) + DATA[first : last + 1])
    return True


class Server:
    """Answers every request as it is told at that time."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.connections = 0
        self.requests: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer = self._socket.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with peer, suppress(ConnectionError):
            while data := peer.recv(4096):
                text = data.decode()
                self.requests.append(text)
                first, last = text.partition("bytes=")[2].partition("\r")[0].split("-")
                if not self.answer(peer, int(first), int(last)):
                    return

    def close(self) -> None:
        self._socket.close()


@contextmanager
def served(complain: Callable[[str], None] | None = None) -> Iterator[tuple[Server, RangedReads, list[str]]]:
    server = Server()
    signed: list[str] = []

    def sign(name: str) -> str:
        signed.append(name)
        return f"http://127.0.0.1:{server.port}/bucket/{name}?X-Amz-Signature=1"

    try:
        yield server, RangedReads(sign, complain), signed
    finally:
        server.close()


def read(reads: RangedReads, first: int, size: int) -> bytes | None:
    memory = bytearray(b"?" * size)
    return bytes(memory) if reads.read_into("a", first, [memoryview(memory)], ignored) else None


def ignored() -> None:
    pass
