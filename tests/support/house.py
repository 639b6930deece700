"""A node with real sockets and files whose loop the test turns by hand, and its clients, all in one thread."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapelog.base.node_config import Listener, NodeConfig
from tapelog.base.timers import Timers
from tapelog.metadata.image import Endpoint
from tapelog.node.core import NodeCore
from tapelog.node.reactor import Reactor, bind
from tapelog.node.shell import Shell
from tapelog.node.system import SystemClock, SystemDisk, SystemEntropy
from tapelog.wire.catalog import response_class
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, Writer


class JumpingClock(SystemClock):
    """The real clock, which can be set forward."""

    ahead_ms = 0

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.ahead_ms


class House:
    """A node with real sockets and files whose loop the test turns by hand."""

    def __init__(self, directory: Path, settings: dict[str, str] | None = None) -> None:
        self.clock = JumpingClock()
        self.reactor = Reactor(Timers(self.clock))
        config = NodeConfig(
            node_id=1,
            cluster_id="AAAAAAAAAAAAAAAAAAAAAQ",
            listeners=[Listener("PLAINTEXT", "127.0.0.1", 9092)],
            controller_listener=Listener("CONTROLLER", "127.0.0.1", 9093),
            log_dirs=[str(directory)],
            settings=settings or {},
        )
        disk = SystemDisk(str(directory), self.reactor.post)
        self.core = NodeCore(config, self.clock, SystemEntropy(), disk, self.reactor.timers)
        self.core.boot()
        self.listener = bind("127.0.0.1", 0, 50)
        self.address = self.listener.getsockname()
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", self.address[1])
        self.core.register([endpoint], endpoint)
        self.shell = Shell(self.reactor, self.core)
        self.turn_until(lambda: self.core.metadata.broker_epoch >= 0, "registered")
        self.shell.listen(self.listener, "PLAINTEXT")
        self.core.housekeeping.start()

    def turn(self) -> None:
        """One round of the loop; waits a few milliseconds at most."""
        self.reactor.timers.after(5, lambda: None)
        self.reactor.turn(self.shell.settle)

    def turn_until(self, condition: Callable[[], Any], what: str, seconds: float = 20.0) -> None:
        """Turn until it is so."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"never: {what}"
            self.turn()

    def connect(self, receive_buffer: int = 0) -> Client:
        """A client that the node knows of."""
        before = self.core._connections
        client = Client(self, receive_buffer)
        self.turn_until(lambda: self.core._connections > before or client.closed(), "accepted")
        return client

    def close(self) -> None:
        """Stop, in order."""
        self.shell.close()
        self.core.shutdown()


class Client:
    """A socket that never blocks, in the same thread as the node."""

    def __init__(self, house: House, receive_buffer: int = 0) -> None:
        self.house = house
        self.sock = socket.socket()
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.connect(house.address)
        self.sock.setblocking(False)
        self.correlation = 0
        self.received = bytearray()
        self.ended = False

    def frame(self, request: Message, version: int) -> bytes:
        """The bytes of a request."""
        self.correlation += 1
        writer = Writer()
        writer.begin_frame()
        writer.i16(request.API_KEY)
        writer.i16(version)
        writer.i32(self.correlation)
        writer.nullable_string("t")
        if version >= request.FLEXIBLE_FROM:
            writer.i8(0)
        request.encode(writer, version)
        writer.end_frame()
        return writer.tobytes()

    def send(self, data: bytes) -> None:
        """Send everything, letting the node work meanwhile."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                self.house.turn()

    def receive(self, limit: int = 1 << 20) -> int:
        """Take what is there now; how much it was."""
        try:
            data = self.sock.recv(limit)
        except BlockingIOError:
            return 0
        except ConnectionError:
            data = b""
        self.ended = self.ended or not data
        self.received += data
        return len(data)

    def closed(self) -> bool:
        """Whether the node closed the connection."""
        self.receive()
        return self.ended

    def take_frame(self, limit: int = 1 << 20) -> bytes:
        """The next answer; at most limit bytes are received at a time."""
        while True:
            if len(self.received) >= 4:
                size = struct.unpack_from(">i", self.received)[0]
                if len(self.received) >= 4 + size:
                    frame = bytes(self.received[4 : 4 + size])
                    del self.received[: 4 + size]
                    return frame
            if not self.receive(limit):
                assert not self.ended, "closed instead of answered"
                self.house.turn()

    def answer(self, request: Message, version: int, limit: int = 1 << 20) -> Any:
        """Decode the next answer, which is one to this request."""
        frame = self.take_frame(limit)
        reader = Reader(frame, 4, len(frame))
        if version >= request.FLEXIBLE_FROM and request.API_KEY != 18:
            reader.skip_tags()
        response = response_class(request.API_KEY).decode(reader, version)
        assert reader.pos == len(frame)
        return response

    def call(self, request: Message, version: int) -> Any:
        """Send and receive."""
        self.send(self.frame(request, version))
        return self.answer(request, version)

    def reset(self) -> None:
        """Vanish: the node's side learns it by a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
