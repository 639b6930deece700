"""The swarm's groups settle on a real broker, and its figures are of answers that came."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bench import admin
from bench.sides import REPOSITORY
from tapelog.testing import Broker


@pytest.fixture(scope="module")
def port() -> object:
    with Broker() as broker:
        number = int(broker.bootstrap.rpartition(":")[2])
        with admin.Admin(number) as a:
            a.create("events", 12, {})
            a.wait_online("events", 12)
        yield number


def swarm(port: object, *words: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.swarm", *words, f"--port={port}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=REPOSITORY, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_forms_and_takes_in_one_more(port: object, protocol: str) -> None:
    figures = swarm(port, "members", f"--protocol={protocol}", "--members=5", "--partitions=12")
    assert 0 < figures["form_s"] < 30 and 0 < figures["rebalance_s"] < 30


def test_commits_are_counted_when_they_are_answered(port: object) -> None:
    assert swarm(port, "commits", "--groups=50", "--secs=0.2")["requests"] > 0


def test_what_was_committed_is_found_again(port: object) -> None:
    assert swarm(port, "fill", "--groups=600", "--partitions=3")["requests"] == 600
    assert swarm(port, "loaded", "--groups=600")["loaded_s"] < 30
