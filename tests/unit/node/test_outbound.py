"""Sockets to other nodes: connect, send more than fits, receive, and every way to end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from tapelog.base.timers import Timers
from tapelog.node.outbound import Outbound, OutboundChannel
from tapelog.node.reactor import Reactor, bind
from tapelog.node.system import SystemClock

TURNS_MAX = 10_000


class Told:
    """Everything a channel said."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.data = b""

    def opened(self) -> None:
        self.events.append("opened")

    def received(self, data: bytes) -> None:
        self.data += data

    def closed(self, reason: str) -> None:
        self.events.append(f"closed: {reason}")


class World:
    """A reactor, a listening socket and a channel to it."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.reactor = Reactor(Timers(SystemClock()))
        self.net = Outbound(self.reactor, _at_once)
        self.listener = bind("127.0.0.1", 0, 16)
        self.listener.setblocking(True)
        self.listener.settimeout(30)
        self.port: int = self.listener.getsockname()[1]
        self.told = Told()
        self.channel: OutboundChannel = self.net.connect(host, self.port, self.told)

    def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(TURNS_MAX):
            if condition():
                return
            self.reactor.timers.after(1, _nothing)
            self.reactor.turn(_nothing)
        raise AssertionError(f"never happened; {self.told.events}")

    def close(self) -> None:
        self.channel.close()
        self.listener.close()


def _at_once(job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
    job()
    done(None)


def _nothing() -> None:
    pass


@pytest.fixture(params=["127.0.0.1", "localhost"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(request.param)
    yield made
    made.close()


def test_what_is_sent_before_it_opens_arrives(world: World) -> None:
    world.channel.send(b"hello ")
    world.channel.send(b"there")
    assert world.told.events == []
    world.until(lambda: world.told.events == ["opened"])
    other, _ = world.listener.accept()
    with other:
        other.settimeout(30)
        got = b""
        while len(got) < 11:
            got += other.recv(100)
        assert got == b"hello there"
        other.sendall(b"answer")
        world.until(lambda: world.told.data == b"answer")


@pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="needs TCP_CONGESTION, which Linux has")
def test_a_node_beside_this_one_is_sent_to_without_pacing(world: World) -> None:
    assert world.channel.sock is not None  # from the start: what begins with BBR keeps its timers
    chosen = world.channel.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert chosen.rstrip(b"\0") == b"reno"


def test_more_than_the_socket_takes_arrives_in_order(world: World) -> None:
    world.until(lambda: world.told.events == ["opened"])
    other, _ = world.listener.accept()
    pieces = [bytes([number]) * (1 << 20) for number in range(16)]
    for piece in pieces:
        world.channel.send(piece)
    with other:
        other.setblocking(False)
        got = bytearray()

        def take() -> bool:
            try:
                got.extend(other.recv(1 << 20))
            except BlockingIOError:
                pass
            return len(got) == 16 << 20

        world.until(take)
    assert bytes(got) == b"".join(pieces)


def test_a_hang_up_is_told_once(world: World) -> None:
    world.until(lambda: world.told.events == ["opened"])
    world.listener.accept()[0].close()
    world.until(lambda: len(world.told.events) == 2)
    assert world.told.events[1].startswith("closed")
    world.channel.send(b"ignored")
    world.reactor.post(_nothing)
    world.reactor.turn(_nothing)
    assert len(world.told.events) == 2


def test_ones_own_close_is_not_told(world: World) -> None:
    world.until(lambda: world.told.events == ["opened"])
    world.channel.close()
    world.reactor.post(_nothing)
    world.reactor.turn(_nothing)
    assert world.told.events == ["opened"]


def test_a_refused_connection_is_told_after_connect_returned() -> None:
    world = World()
    world.close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        told = Told()
        world.net.connect("127.0.0.1", taken.getsockname()[1], told)
        assert told.events == []
        world.until(lambda: len(told.events) == 1)
        assert "refused" in told.events[0]


def test_a_peer_that_takes_nothing_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tapelog.node.outbound.UNSENT_BYTES_MAX", 1 << 20)
    world.until(lambda: world.told.events == ["opened"])
    for _ in range(64):
        world.channel.send(bytes(1 << 20))
    world.until(lambda: len(world.told.events) == 2)
    assert world.told.events[1] == "closed: it takes nothing"


def _caught(job: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
    try:
        job()
    except Exception as error:
        done(error)
    else:
        done(None)


def test_a_name_that_cannot_be_one_is_a_connection_that_failed(world: World) -> None:
    told = Told()
    Outbound(world.reactor, _caught).connect("no\0body", 9092, told)
    assert told.events == []
    world.until(lambda: len(told.events) == 1)
    assert "cannot look up" in told.events[0]


def test_too_many_open_files_is_a_connection_that_failed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> socket.socket:
        raise OSError(24, "Too many open files")

    told = Told()
    with monkeypatch.context() as patch:
        patch.setattr("tapelog.node.outbound.socket.socket", none_left)
        world.net.connect("127.0.0.1", world.port, told)
    assert told.events == []
    world.until(lambda: len(told.events) == 1)
    assert "Too many open files" in told.events[0]


def test_a_host_is_looked_up_once_for_all_who_wait_for_it(world: World) -> None:
    jobs: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []
    net = Outbound(world.reactor, lambda job, done: jobs.append((job, done)))
    all_told = [Told() for _ in range(4)]
    channels = [net.connect("localhost", world.port, told) for told in all_told]
    assert len(jobs) == 1
    channels[1].close()
    _caught(*jobs.pop())
    others = [all_told[index] for index in (0, 2, 3)]
    world.until(lambda: all(told.events == ["opened"] for told in others))
    assert all_told[1].events == []
    again = Told()
    net.connect("localhost", world.port, again)
    assert len(jobs) == 1, "the next one asks anew"
    jobs[0][1](OSError("no name server"))
    world.until(lambda: len(again.events) == 1)
    for channel in channels:
        channel.close()


def test_the_kernel_asks_whether_a_silent_machine_is_still_there(world: World) -> None:
    world.until(lambda: world.told.events == ["opened"])
    assert world.channel.sock is not None
    assert world.channel.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
