"""Strangers at the port: what they look like, and how seldom the log tells of them."""

from __future__ import annotations

import ssl

import pytest

from tapelog.wire.strangers import ADDRESSES_MAX, MINUTE_MS, Strangers, foreign

TLS = "looks like TLS; this listener is PLAINTEXT"


def client_hello(least: ssl.TLSVersion) -> bytes:
    """What a TLS client says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.minimum_version = False, ssl.CERT_NONE, least
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("least", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_tls_client_is_known_by_its_hello(least: ssl.TLSVersion) -> None:
    assert foreign(client_hello(least)[:4]) == TLS
    assert foreign(client_hello(least)[:4], "CONTROLLER") == "looks like TLS; listener CONTROLLER is PLAINTEXT"


@pytest.mark.parametrize(
    "request_line", [b"GET / HTTP/1.1", b"POST /x HTTP/1.0", b"PRI * HTTP/2.0", b"HEAD / HTTP/1.1"]
)
def test_http_is_known_by_its_method(request_line: bytes) -> None:
    assert foreign(request_line[:4]) == "looks like HTTP; this listener is for Kafka clients"


@pytest.mark.parametrize("head", [b"\0\0\0\x10", b"\x7f\xff\xff\xff", b"\x16\x04\0\0", b"GETX", b"\x16\x03\x05\0"])
def test_other_sizes_look_like_nothing_known(head: bytes) -> None:
    assert foreign(head) == ""


class Port:
    """Strangers under a clock one sets."""

    def __init__(self) -> None:
        self.strangers = Strangers()
        self.now_ms = 5_000
        self.said: list[str] = []

    def came(self, host: str, reason: str = TLS) -> list[str]:
        self.strangers.came(host, reason, self.now_ms, self.said.append)
        return self._said()

    def passed(self, by_ms: int) -> list[str]:
        self.now_ms += by_ms
        self.strangers.due(self.now_ms, self.said.append)
        return self._said()

    def _said(self) -> list[str]:
        said, self.said = self.said, []
        return said


def test_an_address_is_told_of_once_a_minute_and_then_how_often_it_came() -> None:
    port = Port()
    assert port.came("10.0.0.1") == [f"closed the connection from 10.0.0.1: {TLS}"]
    assert [port.came("10.0.0.1") for _ in range(1000)] == [[]] * 1000
    assert port.came("10.0.0.2", "a frame of 9 bytes") == ["closed the connection from 10.0.0.2: a frame of 9 bytes"]
    assert port.passed(MINUTE_MS - 1) == []
    assert port.passed(1) == [f"closed 1000 more from 10.0.0.1 within a minute: {TLS}"]
    assert port.passed(MINUTE_MS) == []
    assert port.came("10.0.0.1") == [f"closed the connection from 10.0.0.1: {TLS}"]


def test_what_was_left_out_is_told_by_the_next_one_where_nobody_asks() -> None:
    port = Port()
    port.came("10.0.0.1")
    port.came("10.0.0.1")
    port.now_ms += MINUTE_MS
    assert port.came("10.0.0.3") == [
        f"closed 1 more from 10.0.0.1 within a minute: {TLS}",
        f"closed the connection from 10.0.0.3: {TLS}",
    ]


def test_addresses_are_bounded_and_those_beyond_are_counted() -> None:
    port = Port()
    told = [len(port.came(f"10.0.{number // 256}.{number % 256}")) for number in range(ADDRESSES_MAX + 500)]
    assert sum(told) == ADDRESSES_MAX == len(port.strangers._seen)
    assert port.passed(MINUTE_MS) == ["closed 500 more from other addresses (more than 256 within a minute)"]
    assert port.strangers._seen == {}
    assert len(port.came("10.9.9.9")) == 1


def test_the_count_of_those_beyond_comes_though_the_others_stay() -> None:
    port = Port()
    for number in range(ADDRESSES_MAX):
        port.came(f"10.0.0.{number}")
    port.now_ms += 10
    port.came("10.1.0.0")
    assert port.passed(MINUTE_MS - 10) == []
    assert port.passed(10) == ["closed 1 more from other addresses (more than 256 within a minute)"]
