"""Ctrl-C ends a loop: without a broker, and when the broker has died under open work. Real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapelog.testing import Broker
from tests.support.ports import free_port
from tests.support.waiting import until
from tests.tidy.rules import ROOT
from tests.toolkit.cluster import Cluster

HANG_S = 30.0
"""Only a loop that hangs takes that long to end; clients by themselves wait 45 s and more."""

KINDS = ["exactly_once", "at_least_once", "at_most_once", "idempotent", "aio.exactly_once", "aio.at_least_once"]


@contextmanager
def started(tmp_path: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process that runs a loop, and the file with all it says."""
    said = tmp_path / "said"
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(ROOT / "tests/toolkit/interrupted.py"), *words, str(tmp_path / "store.db")]
    with said.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process, said
    finally:
        process.kill()
        process.wait()


def ends(process: subprocess.Popen[bytes], said: Path) -> None:
    """One Ctrl-C is enough."""
    process.send_signal(signal.SIGINT)
    try:
        code = process.wait(HANG_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it hangs; it said:\n{said.read_text()}") from None
    text = said.read_text()
    assert code == 0 and "ended" in text.splitlines() and "Traceback" not in text, text


@pytest.mark.parametrize("kind", [*KINDS, "retries", "relay"])
def test_one_interrupt_ends_a_loop_that_never_found_a_broker(kind: str, tmp_path: Path) -> None:
    with started(tmp_path, kind, f"127.0.0.1:{free_port()}", "in") as (process, said):
        until(lambda: "no broker has answered" in said.read_text(), "it waits for a broker")
        ends(process, said)


@pytest.mark.parametrize("kind", KINDS)
def test_one_interrupt_ends_a_loop_whose_broker_has_died_under_open_work(kind: str, tmp_path: Path) -> None:
    with Broker() as broker:
        Cluster(broker.bootstrap, lambda *_: "", str).fill("in", range(3))
        with started(tmp_path, kind, broker.bootstrap, "in") as (process, said):
            until(lambda: "handled" in said.read_text(), "it works")
            broker.kill()
            ends(process, said)
