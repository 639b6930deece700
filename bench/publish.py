"""The publisher for brokers with other protocols: `python -m bench.publish PROTOCOL PORT CONNS DEPTH SECS SIZE`.

Runs as a process of its own on the client core: many connections, a bound on what each has in flight, every
publish confirmed by the server. Prints one JSON object. Three protocols: Redis Streams, NATS JetStream, AMQP 0-9-1.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time

STREAM = "bench"


class Protocol:
    """Bytes to say hello, bytes of one publish, and how many confirmations a chunk of answers holds."""

    marker = b""

    def __init__(self, size: int) -> None:
        self.payload = b"x" * size
        self.carry = b""

    def hello(self, s: socket.socket) -> None:
        """Whatever must be said once per connection (blocking)."""

    def message(self) -> bytes:
        """One publish on the wire."""
        raise NotImplementedError

    def confirmed(self, chunk: bytes) -> int:
        """How many publishes this chunk confirms; a marker cut in two by the network is counted once."""
        text = self.carry + chunk
        self.carry = text[1 - len(self.marker) :] if len(self.marker) > 1 else b""
        return text.count(self.marker)


class Redis(Protocol):
    """XADD with one field; an entry id comes back as a bulk string, which begins with a dollar sign."""

    marker = b"$"

    def message(self) -> bytes:
        parts = [b"XADD", STREAM.encode(), b"*", b"v", self.payload]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

    def confirmed(self, chunk: bytes) -> int:
        if b"-ERR" in chunk:
            raise SystemExit(f"redis: {chunk[:200]!r}")
        return super().confirmed(chunk)


class Nats(Protocol):
    """PUB with a reply subject; JetStream answers there with the sequence number it stored the message under."""

    marker = b'"seq":'
    inbox = b"_INBOX.bench"

    def hello(self, s: socket.socket) -> None:
        _until(s, b"\r\n")
        options = b'{"verbose":false,"pedantic":false}'
        self.inbox = b"_INBOX.%d" % s.fileno()
        s.sendall(b"CONNECT %s\r\nSUB %s 1\r\nPING\r\n" % (options, self.inbox))
        _until(s, b"PONG\r\n")

    def message(self) -> bytes:
        return b"PUB %s %s %d\r\n%s\r\n" % (STREAM.encode(), self.inbox, len(self.payload), self.payload)


class Amqp(Protocol):
    """Persistent messages to a durable queue with publisher confirms; one confirmation may cover several."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.done = 0

    def hello(self, s: socket.socket) -> None:
        s.sendall(b"AMQP\0\0\x09\x01")
        _frame(s)
        login = b"\0guest\0guest"
        s.sendall(
            _method(
                0,
                10,
                11,
                struct.pack(">i", 0) + _short("PLAIN") + struct.pack(">i", len(login)) + login + _short("en_US"),
            )
        )
        _frame(s)
        s.sendall(_method(0, 10, 31, struct.pack(">HIH", 16, 131072, 0)) + _method(0, 10, 40, _short("/") + b"\0\0"))
        _frame(s)
        queue = struct.pack(">H", 0) + _short(STREAM) + b"\x02" + struct.pack(">i", 0)
        for method in (_method(1, 20, 10, b"\0"), _method(1, 50, 10, queue), _method(1, 85, 10, b"\0")):
            s.sendall(method)
            _frame(s)

    def message(self) -> bytes:
        head = struct.pack(">HHQHB", 60, 0, len(self.payload), 0x1000, 2)
        publish = _method(1, 60, 40, struct.pack(">H", 0) + _short("") + _short(STREAM) + b"\0")
        return publish + _wrap(2, 1, head) + _wrap(3, 1, self.payload)

    def confirmed(self, chunk: bytes) -> int:
        text, pos, before = self.carry + chunk, 0, self.done
        while len(text) - pos >= 7:
            (length,) = struct.unpack_from(">I", text, pos + 3)
            if len(text) - pos < length + 8:
                break
            if text[pos] == 1:
                kind = struct.unpack_from(">HH", text, pos + 7)
                if kind != (60, 80):
                    raise SystemExit(f"amqp: unexpected method {kind}")
                tag, multiple = struct.unpack_from(">QB", text, pos + 11)
                self.done += tag - self.done if multiple else 1
            pos += length + 8
        self.carry = text[pos:]
        return self.done - before


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _wrap(kind: int, channel: int, body: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(body)) + body + b"\xce"


def _method(channel: int, group: int, number: int, arguments: bytes) -> bytes:
    return _wrap(1, channel, struct.pack(">HH", group, number) + arguments)


def _frame(s: socket.socket) -> bytes:
    head = _exactly(s, 7)
    return _exactly(s, struct.unpack(">I", head[3:])[0] + 1)


def _exactly(s: socket.socket, size: int) -> bytes:
    out = b""
    while len(out) < size:
        chunk = s.recv(size - len(out))
        if not chunk:
            raise OSError("the server closed the connection")
        out += chunk
    return out


def _until(s: socket.socket, end: bytes) -> bytes:
    out = b""
    while not out.endswith(end):
        out += _exactly(s, 1)
    return out


PROTOCOLS: dict[str, type[Protocol]] = {"redis": Redis, "nats": Nats, "amqp": Amqp}


class Connection:
    """One publisher connection with its prepared burst of messages."""

    def __init__(self, protocol: Protocol, port: int, depth: int) -> None:
        self.protocol = protocol
        self.socket = socket.create_connection(("127.0.0.1", port), 10.0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        protocol.hello(self.socket)
        self.message = protocol.message()
        self.burst = self.message * depth

    def publish(self, count: int) -> None:
        """Send `count` messages; bursts are small enough for the socket's buffer."""
        self.socket.sendall(self.burst[: len(self.message) * count])


def publish(protocol: str, port: int, conns: int, depth: int, secs: float, size: int) -> dict[str, float]:
    """Publish for so long after a warm-up second; messages a second that were confirmed within the time."""
    kind, poller = PROTOCOLS[protocol], select.epoll()
    by_fd: dict[int, Connection] = {}
    for _ in range(conns):
        made = Connection(kind(size), port, depth)
        by_fd[made.socket.fileno()] = made
        poller.register(made.socket.fileno(), select.EPOLLIN)
    for made in by_fd.values():
        made.publish(depth)
    begin = time.monotonic() + 1.0
    end, count, counting, own = begin + secs, 0, False, 0.0
    while (now := time.monotonic()) < end:
        if not counting and now >= begin:
            counting, count, begin, own = True, 0, now, _own_cpu_s()
            print("begin", flush=True)
        for fd, _event in poller.poll(1.0):
            made = by_fd[fd]
            confirmed = made.protocol.confirmed(made.socket.recv(1 << 16))
            if confirmed:
                count += confirmed
                made.publish(confirmed)
    print("end", flush=True)
    took = time.monotonic() - begin
    return {"elapsed_s": took, "requests": float(count), "client_cpu_s": _own_cpu_s() - own}


def _own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system


def main(argv: list[str]) -> int:
    """Command line of the publisher process."""
    protocol, port, conns, depth, secs, size = argv
    print(json.dumps(publish(protocol, int(port), int(conns), int(depth), float(secs), int(size))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
