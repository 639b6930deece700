"""Answers in memory are sent from where they lie: whole, in order, however little the socket takes at a time; what they
were sent from is free when they are sent, or when the client is gone."""

from __future__ import annotations

import socket

import pytest

from tapelog.base.timers import Timers
from tapelog.log.memory_region import MemoryRegion
from tapelog.node.reactor import Reactor
from tapelog.node.system import SystemClock
from tapelog.node.transport import Transport
from tapelog.server.connection import Connection
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tests.unit.node.test_transport_hangup import Silent

PIECE = bytes(range(256)) * 1024


class Watched(MemoryRegion):
    """Remembers that it let go."""

    released = False

    def release(self) -> None:
        super().release()
        self.released = True


def pair() -> tuple[Transport, Connection, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.setblocking(False)
    reactor, dispatcher = Reactor(Timers(SystemClock())), Silent()
    connection = Connection(dispatcher, 1, "127.0.0.1", "PLAINTEXT", 1000)
    return Transport(reactor, SimDisk(SimEntropy(1)), ours, connection), connection, theirs


@pytest.mark.parametrize("size", [100, 40_000, 1_000_000])
def test_regions_and_bytes_arrive_in_order_and_nothing_is_held_afterwards(size: int) -> None:
    transport, connection, client = pair()
    data = (PIECE * 4)[:size]
    regions = [Watched([memoryview(data)[: size // 3], memoryview(data)[size // 3 :]]) for _ in range(3)]
    connection.outgoing += [b"first", regions[0], b"second", regions[1], regions[2], b"last"]
    connection.outgoing_bytes = expected = 3 * size + 15
    transport.flush()
    got = b""
    client.settimeout(30)
    while len(got) < expected:
        assert transport.unsent == connection.dispatcher.unsent_bytes <= expected - len(got)
        got += client.recv(50_000)
        transport.flush()
    assert got == b"first" + data + b"second" + data + data + b"last"
    assert connection.outgoing_bytes == transport.unsent == 0
    assert all(region.released for region in regions)
    transport.close()
    client.close()


def test_who_hangs_up_holds_nothing() -> None:
    transport, connection, client = pair()
    regions = [Watched([memoryview(PIECE)]) for _ in range(2)]
    connection.outgoing += regions
    connection.outgoing_bytes = 2 * len(PIECE)
    transport.flush()
    assert not regions[0].released
    client.close()
    connection.close("")
    assert all(region.released for region in regions)
    transport.close()
