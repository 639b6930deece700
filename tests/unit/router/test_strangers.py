"""What is no Kafka client is sent away by the router, and named in its log once per address and minute."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tapelog.router.frames import StrangerError, read_frame
from tapelog.router.session import Self, Session
from tapelog.wire.strangers import Strangers

HELLO = bytes.fromhex("16030102000100")


class Writer:
    """The sending half of a client's connection."""

    def get_extra_info(self, name: str) -> tuple[str, int]:
        assert name == "peername"
        return "10.0.0.1", 4711

    def close(self) -> None:
        pass


def fed(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    return reader


async def visit(strangers: Strangers, data: bytes) -> None:
    nothing: Any = None
    writer: Any = Writer()
    await Session(nothing, Self(0, "h", 1), {}, fed(data), writer, strangers).run()


def test_a_tls_client_is_told_of_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    caplog.set_level(logging.WARNING, "tapelog.router")
    strangers = Strangers()

    async def three() -> None:
        for _ in range(3):
            await visit(strangers, HELLO)

    asyncio.run(three())
    assert [record.getMessage() for record in caplog.records] == [
        "closed the connection from 10.0.0.1: looks like TLS; this listener is PLAINTEXT"
    ]


def test_a_size_that_nobody_sends_is_refused() -> None:
    async def read() -> None:
        await read_frame(fed(b"\x7f\xff\xff\xff"))

    with pytest.raises(StrangerError, match="a frame of 2147483647 bytes"):
        asyncio.run(read())
