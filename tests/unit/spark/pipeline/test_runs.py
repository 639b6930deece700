"""Runs are written down, told apart from processes that merely have their id, and stopped by that id only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tapelog.spark.pipeline.runs import Run, Runs, is_alive, process_start, runs_directory
from tapelog.spark.plan.errors import PlanError

RUN = Run(
    "shop", "/x/shop.toml", 77, "start-77", 1, 2, "running", "local[*]", "./cp", "/x/shop.log", "", {"q": {"rows": 3}}
)


def living(*processes: tuple[int, str]) -> object:
    """A machine on which these processes live."""
    return lambda pid, start: (pid, start) in processes


def runs(place: Path, *processes: tuple[int, str]) -> Runs:
    """A directory of runs on such a machine."""
    return Runs(place, living(*processes))  # type: ignore[arg-type]


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    here = runs(tmp_path, (77, "start-77"))
    here.write(RUN)
    assert here.read("shop") == RUN and here.all() == [RUN] and here.read("other") is None
    assert [path.name for path in tmp_path.iterdir()] == ["shop.json"]


def test_a_run_whose_process_is_gone_has_died_even_if_its_id_is_used_again(tmp_path: Path) -> None:
    here = runs(tmp_path, (77, "somebody else's start"))
    here.write(RUN)
    found = here.read("shop")
    assert found is not None and found.state == "died" and "77" in found.error
    here.write(replace(RUN, state="ended"))
    assert here.all()[0].state == "ended"


def test_the_same_name_runs_once(tmp_path: Path) -> None:
    here = runs(tmp_path, (77, "start-77"))
    here.claim(RUN)
    with pytest.raises(PlanError, match="runs already: process 77"):
        here.claim(replace(RUN, pid=78, process_start="start-78"))
    runs(tmp_path).claim(replace(RUN, pid=78))


def test_a_process_that_is_not_its_own_is_never_asked_to_end(tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []
    assert runs(tmp_path).stop(RUN, kill=lambda *given: asked.append(given))
    assert asked == []


def test_a_real_process_is_stopped_and_seen_to_be_gone(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        start = process_start(process.pid)
        assert start and is_alive(process.pid, start) and not is_alive(process.pid, "another")
        here = Runs(tmp_path)
        mine = replace(RUN, pid=process.pid, process_start=start)
        here.write(mine)
        assert here.stop(mine, seconds=20) and not here.alive(mine)
        assert here.all()[0].state == "died"
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGTERM


def test_this_process_is_alive() -> None:
    assert is_alive(os.getpid(), process_start(os.getpid()))


def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "odd.json").write_text('{"name": "x"}')
    assert runs(tmp_path).all() == []


def test_where_runs_are_written_down() -> None:
    assert runs_directory({"TAPELOG_PIPELINES": "/a"}) == Path("/a")
    assert runs_directory({"XDG_STATE_HOME": "/s"}) == Path("/s/tapelog/pipelines")
    assert runs_directory({}).parts[-3:] == ("state", "tapelog", "pipelines")
