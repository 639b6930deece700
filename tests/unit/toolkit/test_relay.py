"""The outbox relay removes an event only after the broker has stored it, whatever else happens in its batch."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from confluent_kafka import KafkaError

from tapelog.toolkit import Send
from tapelog.toolkit.outbox import Relay, SQLiteOutbox
from tapelog.toolkit.sink import SendFailed, Sink
from tests.unit.toolkit.fakes import FakeProducer, error

BUSY = error(KafkaError.NOT_ENOUGH_REPLICAS, retriable=True)
PURGED = error(KafkaError._PURGE_QUEUE)
FATAL = error(KafkaError._FATAL, fatal=True)
TOO_LARGE = error(KafkaError.MSG_SIZE_TOO_LARGE)


class Shop:
    """An outbox with four events; the first producer's next messages are answered as planned."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, *answers: KafkaError | None) -> None:
        self.made: list[FakeProducer] = []
        self.box = SQLiteOutbox(path / "shop.db")
        self.db = sqlite3.connect(path / "shop.db")
        self.box.create(self.db)
        for number in range(4):
            self.box.put(self.db, Send("orders", f"event{number}"))
        self.db.commit()
        self._answers = answers
        monkeypatch.setattr("tapelog.toolkit.outbox.relay.Sink", partial(Sink, make=self._make))

    def _make(self, config: dict[str, Any]) -> FakeProducer:
        producer = FakeProducer(config)
        if not self.made:
            producer.plan("deliver", *self._answers)
        self.made.append(producer)
        return producer

    def relay(self, on_refused: Literal["stop", "park"] = "park") -> Relay:
        return Relay(self.box, "127.0.0.1:1", on_refused=on_refused)

    @property
    def stored(self) -> list[str]:
        return [value.decode() for one in self.made for _, value in one.stored]

    def last_stored(self) -> list[str]:
        """Each event once, in the order in which its last copy was stored."""
        return list(reversed(dict.fromkeys(reversed(self.stored))))

    def left(self) -> list[str]:
        """Events that are still in the table."""
        return [value.decode() for (value,) in self.db.execute("SELECT value FROM outbox ORDER BY seq")]


@pytest.mark.parametrize("failure", [BUSY, PURGED, FATAL])
def test_an_event_that_was_not_stored_stays_when_another_of_its_batch_is_no_message(
    failure: KafkaError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, monkeypatch, failure)  # for event1: event0 never gets so far
    shop.db.execute("UPDATE outbox SET topic = 'not a topic!' WHERE value = ?", (b"event0",))
    shop.db.commit()
    assert shop.relay().run(until_empty=True) == 3
    assert shop.left() == ["event0"], "parked"
    assert shop.last_stored() == ["event1", "event2", "event3"], "all of them, and in order"


@pytest.mark.parametrize("failure", [BUSY, PURGED, FATAL])
def test_an_event_that_was_not_stored_stays_when_the_broker_refuses_another_of_its_batch(
    failure: KafkaError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, monkeypatch, TOO_LARGE, failure)
    assert shop.relay().run(until_empty=True) == 4
    assert shop.left() == []
    assert shop.last_stored() == ["event0", "event1", "event2", "event3"]


def test_an_event_that_was_not_stored_is_still_there_when_a_refused_one_stops_the_relay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, monkeypatch, TOO_LARGE, BUSY, None, None, TOO_LARGE)
    with pytest.raises(SendFailed):
        shop.relay("stop").run(until_empty=True)
    assert shop.left() == ["event0", "event1", "event2", "event3"]


def test_what_was_stored_before_the_first_failure_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, monkeypatch, None, BUSY)
    assert shop.relay().run(until_empty=True) == 4
    assert shop.left() == []
    assert shop.stored == ["event0", "event2", "event3", "event1", "event2", "event3"]
