"""What register(spark) does before Python ends."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tapelog.spark.listener.ending import WAIT_MS, hear_everything


def ending(monkeypatch: pytest.MonkeyPatch, spark: object) -> Callable[[], None]:
    asked: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", asked.append)
    hear_everything(spark)
    return asked[0]


def test_the_end_of_a_job_waits_until_listeners_have_heard_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    bus = SimpleNamespace(waitUntilEmpty=waited.append)
    context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(listenerBus=lambda: bus)))
    end = ending(monkeypatch, SimpleNamespace(sparkContext=context))
    assert not waited
    end()
    assert waited == [WAIT_MS]


def test_a_session_that_was_stopped_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None)))()
