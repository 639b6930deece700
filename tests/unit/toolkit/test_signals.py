"""A signal ends a loop or a relay in order; the second one at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from tapelog.toolkit.outbox import Relay, SQLiteOutbox
from tapelog.toolkit.signals import StopOnSignal


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_and_the_second_is_as_before(number: signal.Signals) -> None:
    told: list[str] = []
    before = signal.signal(number, lambda *_: told.append("as before"))
    try:
        with StopOnSignal(lambda: told.append("stop")):
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)
    assert told == ["stop", "as before", "as before"]


def test_a_relay_on_a_database_without_the_table_makes_it_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "typo.db"
    assert Relay(SQLiteOutbox(path, table="Events"), "127.0.0.1:1").run(until_empty=True) == 0
    (line,) = caplog.messages
    assert f"no table Events in {path}: made it" in line and "is this the database" in line
    caplog.clear()
    assert Relay(SQLiteOutbox(path, table="Events"), "127.0.0.1:1").run(until_empty=True) == 0
    SQLiteOutbox(tmp_path / "other.db").create(sqlite3.connect(tmp_path / "other.db"))
    assert Relay(SQLiteOutbox(tmp_path / "other.db"), "127.0.0.1:1").run(until_empty=True) == 0
    assert caplog.messages == [], "the application made it"


def test_a_row_that_cannot_be_a_message_is_parked_like_one_that_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "shop.db")
    SQLiteOutbox(tmp_path / "shop.db").create(db)
    db.execute("INSERT INTO outbox (name, topic, value, headers) VALUES ('a', 'bad topic!', 'x', '[]')")
    db.commit()
    with pytest.raises(ValueError, match="'bad topic!' is not a topic's name"):
        Relay(SQLiteOutbox(tmp_path / "shop.db"), "127.0.0.1:1").run(until_empty=True)
    Relay(SQLiteOutbox(tmp_path / "shop.db"), "127.0.0.1:1", on_refused="park").run(until_empty=True)
    assert "bad topic!" in db.execute("SELECT parked FROM outbox").fetchone()[0]


def test_a_relay_refuses_a_policy_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="on_refused='drop'"):
        Relay(SQLiteOutbox("x.db"), "127.0.0.1:1", on_refused="drop")  # type: ignore[arg-type]


def test_a_relay_ends_by_a_signal() -> None:
    class Empty:
        def open(self) -> bool:
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
            return False

        def close(self) -> None:
            told.append("closed")

    told: list[str] = []
    assert Relay(Empty(), "127.0.0.1:1", poll_seconds=5).run() == 0  # type: ignore[arg-type]
    assert told == ["closed"]
