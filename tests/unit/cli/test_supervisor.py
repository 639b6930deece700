"""The parent of a local cluster: one ready line, signals passed on, nobody restarted, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import until

NODE = """
import os, signal, sys, threading, time
directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
open(os.path.join(directory, "pid"), "w").write(str(os.getpid()))
behaviour = os.environ.get("BEHAVIOUR_" + os.path.basename(directory)[-1], "")
if behaviour == "fails":
    others = [os.path.join(os.path.dirname(directory), "node-" + i, "listening") for i in "13"]
    deadline = time.monotonic() + 15
    while not all(map(os.path.exists, others)) and time.monotonic() < deadline:
        time.sleep(0.01)
    sys.exit(3)
stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: None if behaviour == "deaf" else stopped.set())
def watch():
    while os.read(0, 100):
        pass
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
open(os.path.join(directory, "listening"), "w").close()
if behaviour != "slow":
    print("ready 127.0.0.1:900" + directory[-1], flush=True)
stopped.wait()
open(os.path.join(directory, "stopped"), "w").write("yes")
"""

PARENT = """
import os, sys
from tapelog.cli import supervisor
supervisor.STOP_S_MAX = float(os.environ.get("STOP_S", "15"))
names = [(i, sys.argv[2] + "/node-" + str(i)) for i in (1, 2, 3)]
ready = lambda addresses: print("ready " + ",".join(addresses), flush=True)
sys.exit(supervisor.Supervisor(names, ready, [sys.executable, "-c", sys.argv[1]]).run())
"""


class Cluster:
    """A supervisor of three stand-ins."""

    def __init__(self, directory: Path, **behaviour: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, NODE, str(directory)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **behaviour},
        )

    def ready(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def pid(self, number: int) -> int:
        path = self.directory / f"node-{number}" / "pid"
        return int(until(lambda: path.exists() and path.read_text(), "its pid"))

    def end(self, number: signal.Signals | None = signal.SIGTERM) -> tuple[int, str]:
        if number is not None:
            self.process.send_signal(number)
        _, told = self.process.communicate(timeout=20)
        return self.process.returncode, told


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False
    return state == "Z"


@pytest.fixture
def clusters() -> Iterator[list[Cluster]]:
    made: list[Cluster] = []
    yield made
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_line_names_all_nodes_in_order_and_a_signal_stops_them_all(
    tmp_path: Path, clusters: list[Cluster], number: signal.Signals
) -> None:
    clusters.append(Cluster(tmp_path))
    assert clusters[0].ready() == "ready 127.0.0.1:9001,127.0.0.1:9002,127.0.0.1:9003"
    assert clusters[0].end(number) == (0, "")
    assert all((tmp_path / f"node-{i}" / "stopped").exists() for i in (1, 2, 3))


def test_a_node_that_dies_is_named_and_nobody_restarts_it(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path))
    clusters[0].ready()
    pids = [clusters[0].pid(i) for i in (1, 2, 3)]
    os.kill(pids[1], signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pids[1]}").exists(), "the parent has noticed")
    assert not gone(pids[0]) and not gone(pids[2])
    code, told = clusters[0].end()
    assert code == 0, told
    assert f"node 2 (pid {pids[1]}) was ended by SIGKILL; `tape node {tmp_path}/node-2` starts it again" in told
    assert clusters[0].pid(2) == pids[1]


def test_it_stays_when_every_node_has_died_and_still_stops_with_zero(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path))
    clusters[0].ready()
    for i in (1, 2, 3):
        os.kill(clusters[0].pid(i), signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{clusters[0].pid(i)}").exists() for i in (1, 2, 3)), "it has noticed")
    assert clusters[0].process.poll() is None
    assert clusters[0].end()[0] == 0


def test_a_node_that_cannot_start_stops_the_others(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path, BEHAVIOUR_2="fails", BEHAVIOUR_3="slow"))
    assert clusters[0].ready() == ""
    code, told = clusters[0].end(None)
    assert code == 1 and "node 2 ended with exit code 3 before all nodes were ready" in told
    assert gone(clusters[0].pid(1)) and gone(clusters[0].pid(3))
    assert all((tmp_path / f"node-{i}" / "stopped").exists() for i in (1, 3))


def test_a_node_that_does_not_stop_is_killed_and_told(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path, BEHAVIOUR_3="deaf", STOP_S="0.5"))
    clusters[0].ready()
    code, told = clusters[0].end()
    assert code == 1 and "node 3 did not stop within 0.5 s: killed" in told
    assert gone(clusters[0].pid(3))


def test_nodes_go_with_a_supervisor_that_is_killed(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path))
    clusters[0].ready()
    pids = [clusters[0].pid(i) for i in (1, 2, 3)]
    clusters[0].end(signal.SIGKILL)
    until(lambda: all(map(gone, pids)), "nodes gone with their parent")


def test_a_signal_before_all_are_ready_stops_the_start(tmp_path: Path, clusters: list[Cluster]) -> None:
    clusters.append(Cluster(tmp_path, BEHAVIOUR_1="slow"))
    pids = [clusters[0].pid(i) for i in (1, 2, 3)]
    time.sleep(0.1)  # for its handlers: a node that has no handler yet would end by the signal, which is an end too
    clusters[0].end()
    assert all(map(gone, pids))
