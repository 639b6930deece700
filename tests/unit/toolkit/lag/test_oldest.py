"""The oldest unread record of many partitions, from a consumer that is driven by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from tapelog.toolkit import clients
from tapelog.toolkit.lag import oldest
from tapelog.toolkit.lag.oldest import OldestReader
from tapelog.toolkit.lag.values import Oldest

DAMAGED, FINE = ("t", 0), ("t", 1)


class Log:
    """A consumer of two partitions: one has a damaged batch at offset 1, of which it tells again and again."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.assigned: dict[tuple[str, int], int] = {}

    def incremental_assign(self, places: list[Any]) -> None:
        self.assigned |= {(place.topic, place.partition): place.offset for place in places}

    def incremental_unassign(self, places: list[Any]) -> None:
        for place in places:
            del self.assigned[place.topic, place.partition]

    def close(self) -> None: ...

    def consume(self, limit: int, wait_s: float) -> list[Any]:
        return [self._message(place, offset) for place, offset in self.assigned.items()]

    def _message(self, place: tuple[str, int], offset: int) -> Any:
        error = KafkaError(self.code) if place == DAMAGED and offset == 1 else None
        told = {"topic": place[0], "partition": place[1], "offset": offset, "error": error, "timestamp": (1, 5)}
        return SimpleNamespace(**{name: lambda value=value: value for name, value in told.items()})


@pytest.mark.parametrize("code", clients.DAMAGED)
def test_a_damaged_batch_takes_no_time_from_what_else_is_asked(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(code)
    monkeypatch.setattr(oldest, "make_consumer", lambda *given, **more: log)
    with OldestReader("here:1") as reader:
        found = reader.read([(DAMAGED, 1), (DAMAGED, 2), (FINE, 1)], 0.5)
    assert found == {(DAMAGED, 2): Oldest(2, 5), (FINE, 1): Oldest(1, 5)}, "the second question is of the second turn"
    assert log.assigned == {}
