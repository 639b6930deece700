"""Spark waits ten seconds for each Python that it starts, whatever it is told: a test that meets that is begun anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import ROOT, TOO_BUSY

CONFTEST = """
from tests.spark.conftest import TOO_BUSY
from tests.support import anew

def pytest_runtest_protocol(item, nextitem):
    return anew.protocol(item, nextitem, TOO_BUSY)
"""
TESTS = """
import pathlib
import pytest

@pytest.fixture
def place(tmp_path, request):
    (tmp_path / "used").touch(exist_ok=False)
    log = pathlib.Path(__file__).with_name(request.node.name)
    with log.open("a") as file:
        file.write("begun ")
    yield log
    with log.open("a") as file:
        file.write("ended ")

def test_busy_once(place):
    if place.read_text().count("begun") == 1:
        raise RuntimeError("terminated with exception: {words}. SQLSTATE: XXKST")

def test_busy_for_ever(place):
    raise RuntimeError("{words}")

def test_wrong(place):
    assert "right" == "wrong"

def test_right(place):
    pass
"""


@pytest.mark.parametrize("words", TOO_BUSY)
def test_only_what_met_sparks_limit_is_begun_anew_and_not_for_ever(tmp_path: Path, words: str) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS.replace("{words}", words))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, capture_output=True, text=True
    )
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    told = {name: (tmp_path / name).read_text() for name in ("test_busy_once", "test_busy_for_ever", "test_wrong")}
    assert told == {
        "test_busy_once": "begun ended " * 2,
        "test_busy_for_ever": "begun ended " * 3,
        "test_wrong": "begun ended ",
    }
