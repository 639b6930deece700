"""`make test-spark-versions` is not green where tests were left out for lack of Spark's own Kafka connector."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.sides import Missing
from bench.spark import connector

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """tools/spark_versions.py in an empty directory, for one version whose tests all pass and two are left out."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool: Any = importlib.import_module("spark_versions")
    left_out = [[2, "tests/spark/test_swaps.py", "needs Spark's Kafka connector"]]

    def run(words: list[str], **_: object) -> Any:
        if "pytest" in words:
            (tmp_path / "report.json").write_text(json.dumps({"counts": {"passed": 90}, "left_out": left_out}))
        return SimpleNamespace(returncode=0, stdout="4.1.4\n", stderr="")

    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "HOME", tmp_path)
    monkeypatch.setattr(tool, "environment", lambda version: Path("python"))
    monkeypatch.setattr(tool, "probe", lambda python, arguments: {"batch": "yes"})
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["spark_versions.py", "4.1"])
    monkeypatch.delenv("TAPELOG_SPARK_KAFKA_JARS", raising=False)
    return tool


def test_a_missing_connector_fails_the_run_and_stands_in_the_table(versions: Any, capsys: Any) -> None:
    assert versions.main() == 1
    told = capsys.readouterr()
    assert "| connector | none |" in told.out
    assert "4.1.4" in told.err.splitlines()[-1] and "connector" in told.err.splitlines()[-1]


def test_with_it_the_table_says_which_and_what_was_left_out_is_listed(
    versions: Any, tmp_path: Path, capsys: Any
) -> None:
    folder = tmp_path / ".tools" / "spark-kafka" / "4.1.4"
    folder.mkdir(parents=True)
    (folder / "spark-sql-kafka-0-10_2.13-4.1.1.jar").touch()
    assert versions.main() == 0
    told = capsys.readouterr().out
    assert "| connector | 4.1.1 |" in told
    assert "left out with PySpark 4.1.4: 2 in tests/spark/test_swaps.py: needs Spark's Kafka connector" in told


def test_a_run_that_only_probes_needs_none(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["spark_versions.py", "4.1", "--probe"])
    assert versions.main() == 0


def maven(says: str, *brings: str) -> Callable[..., Any]:
    """A Maven that has these versions of anything, and says that of all others."""

    def run(words: list[str], **_: object) -> Any:
        given = dict(word[2:].split("=") for word in words if word.startswith("-D"))
        _, artifact, version = given["artifact"].split(":")
        if version in brings:
            (Path(given["outputDirectory"]) / f"{artifact}-{version}.jar").touch()
        return SimpleNamespace(returncode=1, stdout="" if version in brings else says, stderr="")

    return run


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(connector, "FOLDER", tmp_path)
    monkeypatch.setattr(connector.shutil, "which", lambda name: name)  # type: ignore[attr-defined]
    return tmp_path / "4.1.4"


def test_a_version_that_maven_could_not_ask_for_is_not_remembered_as_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(subprocess, "run", maven("Could not transfer artifact: connection refused"))
    with pytest.raises(Missing, match="in vain"):
        connector.find("4.1.4", asked.append)
    assert len(asked) == 1 and list(folder.iterdir()) == []
    monkeypatch.setattr(subprocess, "run", maven("Could not find artifact", "4.1.1", "3.9.1", "2.12.1"))
    assert connector.find("4.1.4", asked.append).version == "4.1.1"


def test_one_that_there_is_not_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", maven("Unable to find artifact. Could not find artifact x in y"))
    for _ in range(2):
        with pytest.raises(Missing, match="no Kafka connector"):
            connector.find("4.1.4", lambda line: None)
    assert [path.name for path in folder.iterdir()] == ["no-spark-sql-kafka-0-10"]
