"""Half-received requests and unread answers of all connections share bounds, and whoever holds up the others goes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapelog.node.shell import ROOM_PATIENCE_MS
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tests.support.house import House

pytestmark = pytest.mark.both_ways

MB = 1 << 20
API_VERSIONS = ApiVersionsRequest()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path, {"queued.max.request.bytes": str(8 * MB)})
    yield made
    made.close()


def begin(house: House, announced: int, sent: int) -> object:
    """A request of which only so much is sent."""
    client = house.connect()
    before = house.core.dispatcher.held_bytes
    client.send(struct.pack(">i", announced) + bytes(sent - 4))
    house.turn_until(lambda: house.core.dispatcher.held_bytes > before, "received")
    return client


def wait(house: House) -> None:
    """Longer than anybody waits for room."""
    house.clock.ahead_ms += ROOM_PATIENCE_MS + 1000
    house.turn()
    house.turn()


def test_requests_that_wait_for_the_room_of_each_other_come_to_an_end(house: House) -> None:
    clients = [begin(house, 50 * MB, 64_000) for _ in range(4)]
    for client in clients:
        client.sock.setblocking(False)  # type: ignore[attr-defined]
    waiters = house.core.dispatcher.room_waiters

    def pour() -> bool:
        for client in clients:
            try:
                client.sock.send(bytes(100_000))  # type: ignore[attr-defined]
            except (BlockingIOError, OSError):
                pass
        return len(waiters) == 4

    house.turn_until(pour, "all wait")
    assert house.core.dispatcher.held_bytes <= 9 * MB
    wait(house)
    house.turn_until(lambda: len(house.shell.transports) == 3, "one had to go")
    house.turn_until(lambda: len(waiters) < 3, "the others have its room")


def test_a_request_that_came_to_a_halt_goes_when_another_needs_its_room(house: House) -> None:
    halted = [begin(house, MB, 64_000) for _ in range(8)]
    late = begin(house, MB, 64_000)
    assert len(house.core.dispatcher.room_waiters) == 1
    wait(house)
    house.turn_until(lambda: not house.core.dispatcher.room_waiters, "room")
    assert len(house.shell.transports) == 8
    assert halted and late


def test_small_requests_never_wait_for_room(house: House) -> None:
    kept = [begin(house, MB, 64_000) for _ in range(9)]
    client = house.connect()
    client.send(client.frame(API_VERSIONS, 0))
    assert struct.unpack_from(">i", client.take_frame())[0] == 1
    assert kept
