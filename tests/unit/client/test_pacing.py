"""Connections within a machine are not paced; others, and those that cannot be asked, stay as they are."""

from __future__ import annotations

import socket

import pytest

from tapelog.client.pacing import unpace, unpace_at

needs_option = pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="needs TCP_CONGESTION, which Linux has")


class Elsewhere:
    """A socket whose peer is on another machine."""

    family = socket.AF_INET

    def getpeername(self) -> tuple[str, int]:
        return "192.0.2.1", 9092

    def getsockname(self) -> tuple[str, int]:
        return "192.0.2.2", 50000

    def setsockopt(self, *_: object) -> None:
        raise AssertionError("its congestion control was changed")


@needs_option
def test_a_connection_over_loopback_sends_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sock:
        assert unpace(sock)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"


@needs_option
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10"])
def test_what_a_loopback_listener_accepts_is_not_paced_from_the_beginning(host: str) -> None:
    with socket.create_server((host, 0)) as server:
        assert unpace_at(server, host)
        with socket.create_connection(server.getsockname()):
            accepted, _ = server.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "::", "localhost.example", ""])
def test_an_address_that_others_may_reach_stays_as_it_is(host: str) -> None:
    assert not unpace_at(Elsewhere(), host)  # type: ignore[arg-type]


def test_a_connection_to_another_machine_stays_as_it_is() -> None:
    assert not unpace(Elsewhere())  # type: ignore[arg-type]


def test_a_socket_that_is_not_connected_or_not_tcp_stays_as_it_is() -> None:
    with socket.socket() as sock:
        assert not unpace(sock)
    one, other = socket.socketpair()
    with one, other:
        assert not unpace(one)
