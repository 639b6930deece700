"""`tape format --join` with real nodes: a broker joins from its own directory, gets data, and may become a voter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapelog.cli.main import main
from tapelog.testing import Broker, BrokerError, Cluster
from tapelog.testing.cluster import Node
from tests.support.names import Fresh
from tests.support.ports import free_ports
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTINGS = {"offsets.topic.num.partitions": 1, "num.partitions": 3}


def formatted(tape: Tape, *words: str) -> Node:
    """`tape format` as typed; the node it made."""
    tape.capsys.readouterr()
    assert main(["format", *words, "--json"]) == 0
    (entry,) = json.loads(tape.capsys.readouterr().out)
    return Node(entry["node"], Path(entry["directory"]), entry["listen"], parent="watch", env={})


@contextmanager
def stopped_at_the_end(node: Node) -> Iterator[Node]:
    try:
        yield node
    finally:
        node.kill()


def neighbour() -> str:
    """An address on the loopback's second host; its controller's port is free, too."""
    port = next(port for port in free_ports(50) if port < 65000)
    return f"127.0.0.2:{port}"


def leaders(tape: Tape, topic: str) -> list[int]:
    return [part["leader"] for part in tape.json("topic", "describe", topic)["partitions"]]


def test_a_broker_joins_a_cluster_of_one_takes_partitions_and_votes(
    tmp_path: Path, fresh: Fresh, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(nodes=1, settings=SETTINGS) as one:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", one.bootstrap)
        tape, topic = Tape(capsys, monkeypatch), fresh()
        tape("topic", "create", topic)
        tape("produce", topic, stdin="\n".join(map(str, range(300))))
        assert leaders(tape, topic) == [1, 1, 1], "num.partitions, and there is one broker"
        at = neighbour()
        node = formatted(tape, "--join", one.bootstrap, "--on", at, "--data", str(tmp_path / "new"), "--controller")
        assert (node.number, node.address) == (2, at)
        with stopped_at_the_end(node):
            node.start()
            brokers = tape.json("broker", "list")
            assert [(entry["id"], entry["address"], entry["state"]) for entry in brokers] == [
                (1, one.bootstrap, "up"),
                (2, at, "up"),
            ]
            described = tape.json("config", "describe", "broker", "2", "num.partitions", "-b", at)
            assert described["num.partitions"] == {**described["num.partitions"], "value": "3"}
            tape("rebalance", "--apply", "--yes")
            assert sorted(set(leaders(tape, topic))) == [1, 2]
            assert sorted(map(int, tape("consume", topic, "--values").split())) == list(range(300))
            tape("cluster", "add-voter", str(node.directory), "--yes")
            voters = tape.json("cluster", "describe")["quorum"]["voters"]
            assert sorted(voter["id"] for voter in voters) == [1, 2]
            taken = ["format", "--join", one.bootstrap, "--on", neighbour(), "--data", str(tmp_path / "x"), "--id", "2"]
            assert main(taken) == 2 and "node id 2 is taken" in capsys.readouterr().err
            third = formatted(tape, "--join", at, "--on", neighbour(), "--data", str(tmp_path / "third"))
            voters = re.findall(r'"([0-9])@', (third.directory / "node.toml").read_text())
            assert third.number == 3 and voters == ["1", "2"], "it is told who votes now"


def test_a_broker_that_runs_alone_takes_no_other_until_its_file_names_the_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Broker(settings=SETTINGS) as alone:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", alone.bootstrap)
        tape = Tape(capsys, monkeypatch)
        words = ["--join", alone.bootstrap, "--on", neighbour(), "--data", str(tmp_path / "new")]
        assert main(["format", *words]) == 2
        told = capsys.readouterr().err
        found = re.search(r"voters = \[.*\]", told)
        assert found is not None and "runs alone" in told
        own = alone.data_dir / "node-1/node.toml"
        by_hand = tmp_path / "hand/node-2"
        by_hand.mkdir(parents=True)
        text = f'node_id = 2\nroles = ["broker"]\nlisteners = ["PLAINTEXT://{neighbour()}"]\nlog_dirs = ["logs"]\n'
        text += f"{found[0]}\n{re.search('cluster_id = .*', own.read_text())[0]}\n"  # type: ignore[index]
        (by_hand / "node.toml").write_text(text)
        stranger = Node(2, by_hand, "", parent="watch", env={})
        with stopped_at_the_end(stranger), pytest.raises(BrokerError):
            stranger.start()
        assert "INVALID_REGISTRATION" in stranger.log() and "runs alone" in stranger.log()
        assert len(tape.json("broker", "list")) == 1, "half a member would never be fenced"
        alone.stop()
        own.write_text(own.read_text().replace("\n[settings]", f"{found[0]}\n\n[settings]"))
        alone.start()
        node = formatted(tape, *words)
        with stopped_at_the_end(node):
            node.start()
            assert [entry["id"] for entry in tape.json("broker", "list")] == [1, 2]
            node.kill()
            until(lambda: tape.json("broker", "list")[1]["state"] == "fenced", "node 2 is noticed to be gone")
