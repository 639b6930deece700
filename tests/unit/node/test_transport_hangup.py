"""A peer that is gone while its connection waits: noticed at once, and never by turning round and round."""

from __future__ import annotations

import socket
import struct

from tapelog.base.timers import Timers
from tapelog.node.reactor import Reactor
from tapelog.node.system import SystemClock
from tapelog.node.transport import Transport
from tapelog.server.call import Call
from tapelog.server.connection import Connection
from tapelog.server.dispatch import Dispatcher
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy


class Silent(Dispatcher):
    """Takes requests and answers none."""

    def __init__(self) -> None:
        self.dirty_connections: list[Connection] = []
        self.resumable: list[Connection] = []
        self.closed: list[Connection] = []
        self.held_bytes = 0
        self.held_bytes_max = 1 << 20
        self.unsent_bytes = 0
        self.pressed = False

    def dispatch(self, connection: Connection, buf: bytes, start: int, end: int) -> None:
        connection.calls.append(Call(connection, 1, 4, 1, ""))

    def connection_closed(self, connection: Connection) -> None:
        self.closed.append(connection)


def turn(reactor: Reactor, times: int) -> None:
    """Turn the loop; it never waits long."""
    for _ in range(times):
        reactor.timers.after(20, lambda: None)
        reactor.turn(lambda: None)


def test_a_reset_while_requests_wait_closes_the_connection_instead_of_spinning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        sock, _ = listener.accept()
    sock.setblocking(False)
    reactor, dispatcher = Reactor(Timers(SystemClock())), Silent()
    connection = Connection(dispatcher, 1, "127.0.0.1", "PLAINTEXT", 1000)
    transport = Transport(reactor, SimDisk(SimEntropy(1)), sock, connection)
    frame = struct.pack(">ihhi", 8, 1, 4, 1)
    client.sendall(frame * 3)
    turn(reactor, 3)
    assert connection.blocked
    assert not dispatcher.closed
    client.sendall(frame)  # makes the loop notice that it does not read at the moment
    turn(reactor, 2)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()  # RST
    turn(reactor, 1)  # left open it would be reported again at every turn
    assert dispatcher.closed == [connection]
    transport.close()
