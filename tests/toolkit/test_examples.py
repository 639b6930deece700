"""Every example runs and says that it found what it expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.rules import ROOT

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_finds_what_it_expects(name: str, bootstrap: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / name), "--bootstrap", bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(f"{Path(name).stem.replace('_', ' ')}: ok")


def test_an_example_starts_a_broker_of_its_own_when_given_none() -> None:
    command = [sys.executable, str(ROOT / "examples" / "outbox.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and "broker on" in done.stdout and "outbox: ok" in done.stdout, done.stderr


def test_an_example_without_a_broker_says_what_to_do() -> None:
    command = [sys.executable, str(ROOT / "examples" / "quickstart.py"), "--bootstrap", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1 and "tape up" in done.stderr and "Traceback" not in done.stderr


def test_every_example_is_in_the_list() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert not [name for name in EXAMPLES if f"]({name})" not in listed]
