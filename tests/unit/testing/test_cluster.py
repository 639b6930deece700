"""The embedded cluster: real nodes that can be killed, paused and started again, and that go with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tapelog.testing import BrokerError, Cluster
from tests.support.waiting import until


def state_of(pid: int) -> str:
    """The letter that ps shows; empty once the process has gone."""
    ran = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return ran.stdout.strip()[:1]


def test_before_the_start_there_is_no_address_and_no_node() -> None:
    with pytest.raises(BrokerError, match="not been started"):
        _ = Cluster().bootstrap
    with pytest.raises(BrokerError, match="at least one"):
        Cluster(nodes=0)
    with pytest.raises(BrokerError, match="no node 1"):
        Cluster().node(1)


def test_settings_no_node_can_run_with_are_told() -> None:
    with pytest.raises(BrokerError, match=r"no\.such\.config"):
        Cluster(settings={"no.such.config": 1}).start()


@pytest.mark.slow
def test_nodes_are_killed_stopped_paused_and_started_one_by_one() -> None:
    with Cluster(nodes=3) as cluster:
        assert len(cluster.bootstrap.split(",")) == 3
        one, two, three = cluster.nodes
        assert one.bootstrap == cluster.bootstrap.split(",")[0]
        before = two.pid
        two.kill()
        assert not two.running and one.running and three.running
        two.start()
        assert two.running and two.pid != before
        three.pause()
        until(lambda: state_of(three.pid) == "T", "node 3 stopped")
        three.resume()
        until(lambda: state_of(three.pid) in ("S", "R"), "node 3 goes on")
        one.restart()
        assert all(node.running for node in cluster.nodes)
        data = cluster.data_dir
    assert not data.exists()


@pytest.mark.slow
def test_a_given_directory_is_kept_and_the_cluster_continues_in_it(tmp_path: Path) -> None:
    with Cluster(nodes=3, data=tmp_path) as cluster:
        address = cluster.bootstrap
    first = (tmp_path / "node-3" / "node.toml").read_text()
    with Cluster(nodes=3, data=tmp_path) as cluster:
        assert cluster.bootstrap == address
        cluster.kill()
        cluster.start()
    assert (tmp_path / "node-3" / "node.toml").read_text() == first


@pytest.mark.slow
def test_the_nodes_go_with_their_parent() -> None:
    code = (
        "from tapelog.testing import Cluster; c = Cluster(nodes=3).start();"
        "print(c.data_dir, *(n.pid for n in c.nodes), flush=True); import time; time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    data, *pids = parent.stdout.readline().split()
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    until(lambda: not any(state_of(int(pid)) for pid in pids), "the nodes gone")
    until(lambda: not Path(data).exists(), "their files gone")


def test_a_cluster_of_one_is_a_cluster_too() -> None:
    begun = time.monotonic()
    with Cluster(nodes=1) as cluster:
        assert cluster.node(1).running
        assert 0 < cluster.start_seconds <= time.monotonic() - begun
        assert os.path.exists(cluster.data_dir / "node-1" / "pid")
