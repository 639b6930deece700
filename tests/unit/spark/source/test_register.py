"""register(spark) where Spark has found the source by itself: PySpark 4.0 refuses it then, and nothing is wrong."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException

import tapelog.spark
from tapelog.spark.source import datasource

FOUND = {"errorClass": "DATA_SOURCE_ALREADY_EXISTS", "messageParameters": {"provider": "tapelog"}}
FORBIDDEN = {"errorClass": "DATA_SOURCE_NOT_FOUND", "messageParameters": {"provider": "tapelog"}}


def session(refusal: dict[str, Any] | None) -> Any:
    """As much of a session as register needs; it takes a source, or refuses it."""
    taken: list[type] = []

    def take(source: type) -> None:
        if refusal is not None:
            raise AnalysisException("refused", **refusal)
        taken.append(source)

    settings: dict[str, str] = {}
    conf = SimpleNamespace(get=settings.get, set=settings.__setitem__)
    return SimpleNamespace(dataSource=SimpleNamespace(register=take), conf=conf, settings=settings, taken=taken)


def register(spark: Any) -> None:
    tapelog.spark.register(spark, publish=False, brief=False)


def test_a_source_that_spark_has_found_by_itself_is_no_error_and_the_rest_is_done() -> None:
    spark = session(FOUND)
    register(spark)
    assert spark.settings, "secrets are hidden all the same"


def test_that_it_stays_is_told_once_and_what_to_set(caplog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(datasource, "_TOLD", set())
    with caplog.at_level(logging.WARNING):
        register(session(None))
        assert caplog.messages == []
        for _ in range(2):
            register(session(FOUND))
    assert len(caplog.messages) == 1 and "Set PYSPARK_PYTHON" in caplog.messages[0]
    assert len(caplog.messages[0].splitlines()) <= 3


def test_who_has_chosen_the_workers_python_is_told_nothing(caplog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    monkeypatch.setattr(datasource, "_TOLD", set())
    with caplog.at_level(logging.WARNING):
        register(session(FOUND))
    assert caplog.messages == []


def test_every_other_refusal_is_told() -> None:
    with pytest.raises(AnalysisException):
        register(session(FORBIDDEN))


def test_a_session_that_lacks_the_source_gets_it() -> None:
    spark = session(None)
    register(spark)
    assert [source.name() for source in spark.taken] == ["tapelog"]
