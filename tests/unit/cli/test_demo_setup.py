"""What brings Spark for the demo: a command in the background, its progress in a line, nothing left of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapelog.cli import demo_setup, demo_watch
from tapelog.cli.demo_pipeline import Pipeline
from tapelog.cli.demo_setup import Setup
from tapelog.cli.demo_watch import Watch
from tapelog.cli.output import CliError
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; empty at the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(demo_setup, "LOOK_S", 0.0)
    yield tmp_path
    assert not list(tmp_path.iterdir())


def test_it_shows_how_long_it_takes_and_how_much_it_has_fetched() -> None:
    setup = Setup('cd "$TMPDIR"; mkdir pip-unpack-1; head -c 3000000 /dev/zero >pip-unpack-1/a.whl; exec sleep 600')
    try:
        assert setup.line().startswith("pipeline: Spark is being installed, ")
        until(lambda: "2.9 MiB fetched" in setup.line(), "what it has fetched")
        assert setup.running() and not setup.succeeded()
    finally:
        setup.end()


def test_it_succeeds_or_says_why_not() -> None:
    good, bad, silent = (Setup(command) for command in ("true", "echo one; echo no network >&2; exit 3", "exit 4"))
    until(lambda: not (good.running() or bad.running() or silent.running()), "their ends")
    assert good.succeeded() and not bad.succeeded()
    assert bad.line() == "no pipeline: Spark could not be installed: no network"
    assert silent.line() == "no pipeline: Spark could not be installed: exit code 4"
    for setup in (good, bad, silent):
        setup.end()


def test_ending_it_ends_its_children_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_setup, "STOP_S_MAX", 0.05)
    setup = Setup('trap "" TERM; sleep 600 & echo $! >"$TMPDIR/child"; wait; sleep 600')
    (child,) = until(lambda: [p for p in tmp_path.glob("*/tmp/child") if p.read_text().strip()], "its child")
    pid = int(child.read_text())
    setup.end()
    until(lambda: not alive(pid), "the child gone")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]


class Installing:
    """A set-up whose end the test decides."""

    state = "running"

    def running(self) -> bool:
        return self.state == "running"

    def succeeded(self) -> bool:
        return self.state == "succeeded"

    def line(self) -> str:
        return self.state


class Begun:
    """A pipeline that is ready when the test says so."""

    is_ready = False

    def failure(self) -> str:
        return ""

    def ready(self) -> bool:
        return self.is_ready


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Of a demo that is to last for no time once its pipeline works; it looks at no cluster."""
    monkeypatch.setattr(demo_watch, "Observer", lambda connection, pid: None)
    return Watch(None, None, threading.Event(), seconds=0.0)  # type: ignore[arg-type]


def test_the_pipeline_begins_when_spark_is_there_and_time_counts_from_its_first_batch(watch: Watch) -> None:
    setup = Installing()
    watch.begin_pipeline(Begun, setup)  # type: ignore[arg-type]
    assert not watch.check() and watch.pipeline is None and watch.pipeline_line() == "running"
    setup.state = "succeeded"
    assert not watch.check() and isinstance(watch.pipeline, Begun)
    watch.pipeline.is_ready = True
    assert watch.check()


def test_where_spark_cannot_be_installed_or_run_the_demo_goes_on_without(watch: Watch) -> None:
    def no_java() -> Pipeline:
        raise CliError("there is no Java 17")

    setup = Installing()
    watch.begin_pipeline(no_java, setup)  # type: ignore[arg-type]
    setup.state = "failed"
    assert watch.check() and (watch.pipeline, watch.fatal, watch.pipeline_line()) == (None, "", "failed")
    setup.state = "succeeded"
    assert watch.check() and watch.pipeline_line() == "no pipeline: there is no Java 17"
