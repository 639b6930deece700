"""`tape pipeline` without Spark: plan, init, list, status, stop, and the plans of jobs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tapelog.cli.app import run
from tapelog.spark.pipeline.runs import Run, Runs, process_start

SHOP = Path(__file__).parents[3] / "examples" / "pipelines" / "shop.toml"


def test_a_plan_is_drawn_and_told_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "plan", str(SHOP)]) == 0
    text = capsys.readouterr().out
    assert "orders → countries → valid → once → enriched → revenue → topic revenue" in text and "exactly once" in text
    assert run(["pipeline", "plan", str(SHOP), "--json"]) == 0
    assert [query["name"] for query in json.loads(capsys.readouterr().out)["queries"]][-1] == "dead_letters"


def test_mistakes_are_told_by_line_and_all_of_them_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHOP.read_text().replace("topic = ", "topc = ").replace("window = ", "windw = "))
    assert run(["pipeline", "plan", str(file)]) == 2
    told = capsys.readouterr().err
    assert f"{file}:13: [sources.orders] has none of topic" in told and len(told.strip().splitlines()) <= 3
    assert run(["pipeline", "plan", str(file), "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert any("Did you mean window?" in one["text"] for one in problems) and len(problems) > 3


def test_an_option_that_the_source_would_refuse_is_told_without_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHOP.read_text().replace('start = "earliest"', "options = { startingOffsts = 'earliest' }"))
    assert run(["pipeline", "plan", str(file)]) == 2
    told = capsys.readouterr().err
    assert "startingOffsets" in told and "[sources.orders]" in told


@pytest.mark.parametrize("name", ["shop.toml", "shop.yaml"])
def test_init_writes_what_plan_accepts_and_does_not_write_over_it(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / name
    assert run(["pipeline", "init", str(file), "--bootstrap", "h:1"]) == 0
    assert run(["pipeline", "plan", str(file), "--json"]) == 0
    assert '"h:1' in capsys.readouterr().out or "h:1" in file.read_text()
    file.write_text("mine")
    assert run(["pipeline", "init", str(file)]) == 2
    assert "--force" in capsys.readouterr().err and file.read_text() == "mine"


def test_runs_are_listed_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "list", "--runs", str(tmp_path)]) == 0
    assert "tape pipeline init" in capsys.readouterr().out
    query = {"batch": 3, "rows": 1200, "rows_per_s": 50.0, "processed_per_s": 99.0, "batch_ms": 10, "behind": 7}
    query |= {"watermark": None, "expectations": {"valid": {"rows": 1200, "amount > 0": 5, "order IS NOT NULL": 0}}}
    pid = os.getpid()
    one = Run(
        "shop", "shop.toml", pid, process_start(pid), 0, 0, "running", "local[*]", "cp", "log", "", {"out": query}
    )
    Runs(tmp_path).write(one)
    assert run(["pipeline", "list", "--runs", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert "running" in listed and "read/s" in listed and "rows" not in listed
    assert run(["pipeline", "status", "shop", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "1,200" in text and "amount > 0: 5 of 1,200 rows failed" in text
    assert "order IS NOT NULL: all 1,200 rows pass" in text
    assert ["query", "batch", "read"] in [line.split()[:3] for line in text.splitlines()]
    assert run(["pipeline", "status", "shop", "--runs", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"]["out"]["behind"] == 7


def test_what_does_not_run_is_not_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Runs(tmp_path).write(Run("shop", "f", 1, "another start", 0, 0, "running", "m", "cp", "log"))
    assert run(["pipeline", "stop", "shop", "--runs", str(tmp_path)]) == 0
    assert "shop: died" in capsys.readouterr().out
    assert run(["pipeline", "stop", "other", "--runs", str(tmp_path)]) == 4
    assert "there are: shop" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["archive", "orders", "--to", "file:///lake/orders"],
        ["dedupe", "orders", "--to", "clean", "--within", "10m"],
        ["cdc-apply", "t", "--table", "o", "--schema", "id BIGINT, n STRING", "--key", "id", "--dsn", "secret-dsn"],
    ],
    ids=lambda words: words[0],
)
def test_the_plan_of_a_job_is_shown_without_starting_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "job", *words, "--plan", "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)["queries"][0]["promise"] == "exactly once" and "secret-dsn" not in text


def test_without_pyspark_one_line_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pyspark" else find(name, *more)
    )
    from tapelog.spark.pipeline.run import session

    with pytest.raises(session.MissingError) as error:
        session.check_spark(importlib.util.find_spec)
    assert str(error.value).count("\n") == 0 and "tapelog[spark-local]" in str(error.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [(None, "no java that runs"), ('openjdk version "11.0.2"', "is Java 11"), ('java version "1.8.0_1"', "is Java 8")],
)
def test_without_a_fitting_java_one_line_says_what_to_install(said: str | None, words: str) -> None:
    from tapelog.spark.pipeline.run.session import MissingError, check_java

    with pytest.raises(MissingError) as error:
        check_java({"JAVA_HOME": "/j"}, lambda java: said)
    assert words in str(error.value) and "JAVA_HOME" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(MissingError, match="not installed here"):
        check_java({"PATH": "/nowhere"})
    assert check_java({"JAVA_HOME": "/j"}, lambda java: 'openjdk version "21"') == "/j/bin/java"


def test_a_table_is_replayed_from_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def replay_shown(spark: Any, source: Any, sink: Any, *more: Any, **others: Any) -> dict[str, Any]:
        seen.append((source, sink))
        return {"rows": 3, "to": sink["topic"]}

    monkeypatch.setattr(
        "tapelog.cli.pipeline_job_view.with_session", lambda name, master, conf, report, quiet: report(0)
    )
    monkeypatch.setattr("tapelog.cli.pipeline_job_view.replay_shown", replay_shown)
    monkeypatch.setattr("tapelog.spark.pipeline.run.topics.make_missing", lambda sinks, references: seen.append(sinks))
    words = ["pipeline", "job", "replay", "file:///lake/orders", "--to", "again", "--partitions", "4", "-b", "h:1"]
    assert run(words) == 0
    ((made,), (table, sink)) = seen
    assert made.partitions == 4 and made.options == sink == {"kafka.bootstrap.servers": "h:1", "topic": "again"}
    assert (table.url, table.format) == ("file:///lake/orders", "iceberg")
    assert run([*words, "--format", "files"]) == 0 and seen[-1][0] == "file:///lake/orders"


def test_a_format_that_no_table_has_is_told_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "job", "replay", "file:///lake/orders", "--to", "again", "--format", "icebreg"]) == 2
    assert "icebreg" in capsys.readouterr().err


def test_a_cluster_that_is_down_is_told_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tapelog.spark.pipeline.run.topics.LOOK_S_MAX", 0.2)
    monkeypatch.setattr("tapelog.spark.pipeline.run.session.check_spark", lambda: None)
    monkeypatch.setattr("tapelog.spark.pipeline.run.session.check_java", lambda env: "java")
    file = tmp_path / "shop.toml"
    file.write_text(SHOP.read_text().replace("127.0.0.1:9092", "127.0.0.1:1"))
    assert run(["pipeline", "run", str(file), "--runs", str(tmp_path / "runs")]) == 1
    told = capsys.readouterr().err
    assert "127.0.0.1:1 cannot be reached" in told and len(told.strip().splitlines()) <= 3
    assert run(["pipeline", "status", "shop", "--runs", str(tmp_path / "runs")]) == 0
    assert "failed" in capsys.readouterr().out
