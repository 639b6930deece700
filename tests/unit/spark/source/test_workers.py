"""Which Python Spark's workers run after register(spark)."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tapelog.spark.source.workers import SETTING, VARIABLE, run_this_python


def python_of(master: str, **settings: str) -> str:
    context = SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: settings)
    run_this_python(SimpleNamespace(sparkContext=context))
    return context.pythonExec


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_local_workers_run_the_drivers_python(master: str) -> None:
    assert python_of(master) == sys.executable


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host"])
def test_a_clusters_workers_keep_theirs(master: str) -> None:
    assert python_of(master) == "python3"


def test_a_python_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_of("local[2]", **{SETTING: "python3.12"}) == "python3"
    monkeypatch.setenv(VARIABLE, "python3.12")
    assert python_of("local[2]") == "python3"


def test_a_session_of_spark_connect_has_no_workers_here() -> None:
    run_this_python(SimpleNamespace())
