"""The node's own clock tells of strangers that were left out, also when none comes any more."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tapelog.node.shell import IDLE_CHECK_MS
from tapelog.wire.strangers import MINUTE_MS
from tests.support.house import House


def test_strangers_left_out_are_told_of_when_the_minute_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tapelog"), "propagate", True)
    caplog.set_level(logging.WARNING, "tapelog.server")
    house = House(tmp_path)
    for _ in range(3):
        client = house.connect()
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        house.turn_until(client.closed, "closed")
    house.clock.ahead_ms = MINUTE_MS + IDLE_CHECK_MS

    def told() -> bool:
        return any("2 more from 127.0.0.1" in record.getMessage() for record in caplog.records)

    house.turn_until(told, "told of the two others")
    house.close()
