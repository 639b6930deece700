"""tools/lanes.py: suites beside each other, nothing lost of what they say, and no success that is none."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tidy.rules import ROOT

WAIT_FOR = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nopen(sys.argv[2], 'w')"
MAKE = "import sys; open(sys.argv[1], 'w')"


@pytest.fixture(scope="module")
def tools() -> Iterator[Any]:
    """The modules of tools/, which are no package."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        yield importlib.import_module
    finally:
        sys.path.pop(0)


def python(tools: Any, name: str, code: str, *args: object, **more: Any) -> Any:
    """A job that runs these lines."""
    return tools("jobs").Job(name, (sys.executable, "-S", "-c", code, *map(str, args)), **more)


def run(tools: Any, lanes: list[list[Any]], build: Any = None) -> dict[str, Any]:
    """Run them; results by name."""
    return {result.name: result for result in tools("lanes").Lanes(lanes, build, tell_s=0.2).run()}


def test_lanes_run_beside_each_other_and_each_in_turn(tools: Any, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    lanes = [
        [python(tools, "waits", WAIT_FOR, second, third, limit_s=20)],
        [
            python(tools, "makes", MAKE, second, limit_s=20),
            python(tools, "then", WAIT_FOR, third, first, limit_s=20),
        ],
    ]
    results = run(tools, lanes)
    assert list(results) == ["makes", "waits", "then"] or list(results) == ["waits", "makes", "then"]
    assert all(result.ok for result in results.values())
    assert first.exists()


def test_compiled_suites_wait_for_the_build_and_others_do_not(tools: Any, tmp_path: Path) -> None:
    built, begun = tmp_path / "built", tmp_path / "begun"
    build = python(tools, "build", WAIT_FOR, begun, built, limit_s=20)
    look = "import os, sys; sys.exit(not os.path.exists(sys.argv[1]) or os.environ['TAPELOG_HOT'] != 'compiled')"
    lanes = [
        [python(tools, "compiled", look, built, hot="compiled")],
        [python(tools, "interpreted", MAKE, begun, hot="interpreted")],
    ]
    results = run(tools, lanes, build)
    assert sorted(results) == ["build", "compiled", "interpreted"] and list(results)[2] == "compiled"
    assert all(result.ok for result in results.values())


def test_without_a_build_compiled_suites_fail_and_the_others_run(tools: Any, tmp_path: Path) -> None:
    made = tmp_path / "made"
    lanes = [[python(tools, "compiled", MAKE, made, hot="compiled"), python(tools, "interpreted", "")]]
    results = run(tools, lanes, python(tools, "build", "raise SystemExit(3)"))
    assert not results["build"].ok and not results["compiled"].ok and results["interpreted"].ok
    assert results["compiled"].note == "not run: the build failed"
    assert not made.exists()
    assert tools("test").sum_up(list(results.values()), 1.0) == 1


def test_what_a_suite_says_is_printed_in_one_piece_and_its_progress_meanwhile(
    tools: Any, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    told = tmp_path / "told"
    begun = "import sys; print('..F.  [ 40%]', flush=True); open(sys.argv[3], 'w')\n"
    slow = begun + WAIT_FOR + "\nprint('.. [100%]\\nthe end'); sys.exit(1)"
    pause = "time.sleep(2); print('other')"  # ten times as long as it takes until progress is told
    after_progress = WAIT_FOR.replace("\nopen", f"\n{pause}\nopen")
    lanes = [
        [python(tools, "slow", slow, told, tmp_path / "x", tmp_path / "begun", tests=6)],
        [python(tools, "quick", after_progress, tmp_path / "begun", told)],
    ]
    results = run(tools, lanes)
    assert not results["slow"].ok and results["slow"].note == "exit code 1"
    said = capfdbinary.readouterr().out
    assert b"slow 4 of 6; quick" in said
    assert b"..F.  [ 40%]\n.. [100%]\nthe end\n" in said
    assert b"== slow: FAILED" in said and b"== quick: ok" in said


def test_colours_are_left_out_where_there_is_no_terminal(tools: Any, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run(tools, [[python(tools, "maven", r"print('\x1b[0m', end=''); print('\x1b[1;31mred\x1b[0m [x]')")]])
    said = capfdbinary.readouterr().out
    assert b"\nred [x]\n" in said and b"\x1b" not in said


def test_a_suite_without_an_end_is_ended_with_its_children(tools: Any, tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    results = run(tools, [[python(tools, "endless", code, child, limit_s=6)]])
    assert not results["endless"].ok and results["endless"].note == "no end after 6 s"
    gone = time.monotonic() + 60
    while os.path.exists(f"/proc/{child.read_text()}/cmdline") and time.monotonic() < gone:
        if not Path(f"/proc/{child.read_text()}/cmdline").read_bytes():  # nobody has waited for it yet
            break
        time.sleep(0.01)
    else:
        assert time.monotonic() < gone


def test_every_suite_of_the_plan_is_in_one_lane_in_its_order(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    test, plan, seen = tools("test"), tools("plan"), []

    class Seen:
        def __init__(self, lanes: list[list[Any]], build: Any) -> None:
            seen.extend([*lanes, [build]])

        def run(self) -> list[Any]:
            return []

    monkeypatch.setattr(test, "Lanes", Seen)
    runs = [(suite, way) for way in (plan.INTERPRETED, plan.COMPILED) for suite in plan.SUITES if way in suite.hot]
    test.run_suites(runs, [], {suite.name: 1 for suite in plan.SUITES})
    names = [job.name for lane in seen for job in lane]
    asked = [f"{suite.name}, {way}" for suite, way in runs]
    assert sorted(names) == sorted(["build", "client set-up", "spark set-up", *asked])
    assert names.index("spark set-up") + 1 == names.index("spark, compiled")
    assert [job.name for job in seen[0]][-1] == "chaos, compiled"
