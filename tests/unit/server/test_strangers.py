"""TLS, HTTP and noise at a listener: closed, and named in the log once per address and minute."""

from __future__ import annotations

import logging

import pytest

from tapelog.server.routes import ON_CONTROLLER
from tapelog.wire.strangers import MINUTE_MS
from tests.support.rig import Rig

HELLO = bytes.fromhex("16030102000100")
NOISE = b"\xff\xff\xff\xff...."


@pytest.fixture(autouse=True)
def audible(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    caplog.set_level(logging.WARNING, "tapelog.server")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records if record.name == "tapelog.server"]
    caplog.clear()
    return lines


def send(rig: Rig, data: bytes, host: str, listener: str = "PLAINTEXT") -> bool:
    """Whether the node closed the connection."""
    connection = rig.node.core.connect(host, listener)
    connection.feed(data)
    rig.node.settle()
    return connection.closed


def test_a_tls_client_is_told_of_once_however_often_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    said(caplog)
    assert all(send(rig, HELLO, "10.0.0.1") for _ in range(100))
    assert said(caplog) == ["closed the connection from 10.0.0.1: looks like TLS; this listener is PLAINTEXT"]
    rig.clock.advance(MINUTE_MS)
    assert send(rig, b"GET / HTTP/1.1\r\n\r\n", "10.0.0.1")
    assert said(caplog) == [
        "closed 99 more from 10.0.0.1 within a minute: looks like TLS; this listener is PLAINTEXT",
        "closed the connection from 10.0.0.1: looks like HTTP; this listener is for Kafka clients",
    ]


def test_other_sizes_are_limited_likewise_and_other_mistakes_are_not(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    said(caplog)
    for _ in range(5):
        assert send(rig, NOISE, "10.0.0.2")
        assert send(rig, (8).to_bytes(4, "big") + b"\x7f\xff" + bytes(6), "10.0.0.3")
    lines = said(caplog)
    assert lines.count("closed the connection from 10.0.0.3: unknown API key 32767") == 5
    assert [line for line in lines if "10.0.0.2" in line] == [
        "closed the connection from 10.0.0.2: a frame of -1 bytes (8 to socket.request.max.bytes=104857600 are allowed)"
    ]


def test_a_controllers_listener_says_its_name(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    said(caplog)
    connection = rig.node.core.connect("10.0.0.4", "CONTROLLER")
    connection.side = ON_CONTROLLER
    connection.feed(HELLO)
    assert connection.closed
    assert said(caplog) == ["closed the connection from 10.0.0.4: looks like TLS; listener CONTROLLER is PLAINTEXT"]
