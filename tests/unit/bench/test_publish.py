"""Confirmations of the other brokers' protocols are counted once each, wherever the network cuts them."""

from __future__ import annotations

import struct

import pytest

from bench import publish
from bench.__main__ import main


def cut(protocol: publish.Protocol, data: bytes, size: int) -> int:
    return sum(protocol.confirmed(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 5, 7, 1000])
def test_redis_ids_are_counted(size: int) -> None:
    assert cut(publish.Redis(10), b"$15\r\n1731712345678-0\r\n" * 4, size) == 4


@pytest.mark.parametrize("size", [1, 3, 6, 7, 1000])
def test_jetstream_acknowledgements_are_counted(size: int) -> None:
    one = b'MSG _INBOX.9 1 30\r\n{"stream":"bench", "seq":17}\r\n'
    assert cut(publish.Nats(10), one * 5, size) == 5


@pytest.mark.parametrize("size", [1, 8, 1000])
def test_one_amqp_confirmation_may_cover_several_messages(size: int) -> None:
    def ack(tag: int, multiple: int) -> bytes:
        body = struct.pack(">HHQB", 60, 80, tag, multiple)
        return struct.pack(">BHI", 1, 1, len(body)) + body + b"\xce"

    assert cut(publish.Amqp(10), ack(1, 0) + ack(4, 1) + ack(5, 0), size) == 5


def test_a_publish_carries_the_whole_payload() -> None:
    for kind in publish.PROTOCOLS.values():
        assert b"x" * 1024 in kind(1024).message()


def test_the_command_names_its_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "fetch"]) == 0
    assert "fetch-1m-4c" in capsys.readouterr().out


def test_an_unknown_scenario_or_side_is_refused_with_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nonsense"]) == 2
    assert "produce-16k" in capsys.readouterr().err
    assert main(["--sides", "pulsar"]) == 2
    assert "interpreted" in capsys.readouterr().err
