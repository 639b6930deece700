"""The embedded broker: a real process that starts quickly, keeps its promises and goes with its parent."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tapelog.testing import Broker, BrokerError

CPU_S_MAX = 0.5


def reachable(bootstrap: str) -> bool:
    host, port = bootstrap.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def wait_gone(pid: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError(f"pid {pid} still lives after {seconds} s")


def test_a_broker_serves_and_leaves_nothing_behind() -> None:
    with Broker() as broker:
        assert reachable(broker.bootstrap)
        data = broker.data_dir
        assert (data / "node-1" / "node.toml").exists()
    assert not data.exists()
    assert not reachable(broker.bootstrap)


def test_it_needs_well_under_half_a_second_of_cpu_to_start_and_stop() -> None:
    """CPU time, because on a busy machine the wall clock tells about the others."""
    costs = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with Broker() as broker:
            assert broker.start_seconds > 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs) < CPU_S_MAX, costs


def test_settings_reach_the_broker_and_bad_ones_are_told() -> None:
    with Broker(settings={"num.partitions": 7, "auto.create.topics.enable": False}) as broker:
        text = (broker.data_dir / "node-1" / "node.toml").read_text()
        assert '"num.partitions" = "7"' in text
        assert '"auto.create.topics.enable" = "false"' in text
    with pytest.raises(BrokerError, match=r"no\.such\.config"):
        Broker(settings={"no.such.config": 1}).start()


def test_a_given_directory_is_kept_and_used_again(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        first = (tmp_path / "node-1" / "node.toml").read_text().split("cluster_id")[1].splitlines()[0]
    assert tmp_path.exists()
    with Broker(data=tmp_path) as broker:
        assert first in (broker.data_dir / "node-1" / "node.toml").read_text()


def test_it_can_be_killed_and_restarted_on_the_same_port_and_files() -> None:
    with Broker() as broker:
        address, data, pid = broker.bootstrap, broker.data_dir, broker.pid
        broker.kill()
        assert not broker.running and not reachable(address)
        broker.restart()
        assert (broker.bootstrap, broker.data_dir) == (address, data)
        assert broker.pid != pid and reachable(address)
        broker.stop()
        assert data.exists(), "a stopped broker can be started again"
        broker.start()
        assert reachable(address)


def test_two_brokers_have_nothing_in_common() -> None:
    with Broker() as one, Broker() as other:
        assert one.bootstrap != other.bootstrap
        assert one.data_dir != other.data_dir


def test_before_the_start_there_is_no_address() -> None:
    with pytest.raises(BrokerError, match="not been started"):
        _ = Broker().bootstrap


@pytest.mark.parametrize("how", ["kill", "exit", "exception"])
def test_the_broker_goes_with_its_parent_however_that_ends(how: str) -> None:
    code = (
        "import os, sys; from tapelog.testing import Broker; broker = Broker().start();"
        "print(broker.pid, broker.data_dir, flush=True); line = sys.stdin.readline();"
        "1 / 0 if line.strip() == 'exception' else None"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None and parent.stdin is not None
    pid, data = parent.stdout.readline().split()
    if how == "kill":
        parent.send_signal(signal.SIGKILL)
    else:
        parent.stdin.write(how + "\n")
        parent.stdin.flush()
    parent.wait(60)
    parent.stdin.close()
    parent.stdout.close()
    wait_gone(int(pid))
    assert not Path(data).exists()


def test_names_are_unique() -> None:
    names = {Broker.unique("orders") for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith("orders-") for name in names)


def test_the_plugin_loads_nothing_until_it_is_used() -> None:
    code = (
        "import sys; import pytest; before = set(sys.modules); import tapelog.testing.plugin;"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('tapelog')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout.strip() == "['tapelog', 'tapelog._compiled', 'tapelog.testing', 'tapelog.testing.plugin']"


def test_the_fixtures_work_also_under_xdist(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import socket, pytest\n"
        "@pytest.mark.parametrize('number', range(6))\n"
        "def test_reachable(tapelog_broker, tapelog_name, number):\n"
        "    host, port = tapelog_broker.bootstrap.split(':')\n"
        "    socket.create_connection((host, int(port)), timeout=5).close()\n"
        "    assert tapelog_name('orders') != tapelog_name('orders')\n"
        "def test_cluster(tapelog_cluster):\n"
        "    assert ':' in tapelog_cluster.bootstrap\n"
    )
    words = ["-m", "pytest", "-q", "-n", "2", "-p", "tapelog.testing.plugin", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        [sys.executable, *words[:2], "-p", "xdist", *words[2:]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "7 passed" in ran.stdout
