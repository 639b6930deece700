"""`tape format --join`: what the new node is told, and what is refused with reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tapelog.base.node_config import Listener
from tapelog.cli.cluster_files import PlanError, write
from tapelog.cli.cluster_state import Broker
from tapelog.cli.join import RunningBroker, RunningCluster, Voter, planned_join, shared_settings
from tapelog.cli.join_asks import _asked, static_settings
from tapelog.cli.main import main
from tapelog.cli.node_files import load
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, CliError
from tapelog.cli.raw import Node, Wire
from tapelog.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

VOTERS = "1@a.example:9093,2@b.example:9093"
STATIC = {
    "controller.quorum.voters": VOTERS,
    "controller.listener.names": "CONTROLLER",
    "node.id": "1",
    "log.dirs": "elsewhere/logs",
    "num.partitions": "6",
}
CLUSTER = RunningCluster(
    "AAAAAAAAAAAAAAAAAAAAAg",
    (
        RunningBroker(1, "a.example", 9092, STATIC | {"listeners": "PLAINTEXT://a.example:9092"}),
        RunningBroker(2, "b.example", 9092, STATIC | {"listeners": "PLAINTEXT://b.example:9092", "node.id": "2"}),
    ),
    (
        Voter(2, "b.example", 9093, "AAAAAAAAAAAAAAAAAAAABA"),
        Voter(1, "a.example", 9093, "AAAAAAAAAAAAAAAAAAAAAw"),
    ),
    frozenset((1, 2, 5)),
    {"metadata.version": 30},
)


def plan(data: Path, cluster: RunningCluster = CLUSTER, host: str = "d.example", port: int = 9092, **more: Any) -> Any:
    return planned_join(cluster, str(data), (host, port), **more)


def with_brokers(*brokers: RunningBroker) -> RunningCluster:
    return replace(CLUSTER, brokers=brokers)


def test_the_node_knows_the_cluster_and_takes_its_settings(tmp_path: Path) -> None:
    joining = plan(tmp_path / "new", settings={"log.retention.hours": "24"}, places=[str(tmp_path / "disk")])
    write([joining.node])
    config = load(str(tmp_path / "new/node-6"))
    assert (config.node_id, config.cluster_id, config.roles) == (6, CLUSTER.cluster_id, ("broker",))
    assert config.listeners == [Listener("PLAINTEXT", "d.example", 9092)] and config.controller_listener is None
    assert config.voters == ["1@a.example:9093:AAAAAAAAAAAAAAAAAAAAAw", "2@b.example:9093:AAAAAAAAAAAAAAAAAAAABA"]
    assert config.settings == {"num.partitions": "6", "log.retention.hours": "24"}
    assert config.log_dirs == [str(tmp_path / "new/node-6/logs"), str(tmp_path / "disk/node-6")]
    assert joining.remarks == ()


def test_with_a_controller_it_can_be_made_a_voter(tmp_path: Path) -> None:
    config = plan(tmp_path, controller=True, node_id=3).node.config
    assert config.node_id == 3 and config.is_controller
    assert str(config.controller_listener) == "CONTROLLER://d.example:9093"


def test_ipv6_addresses_stay_addresses(tmp_path: Path) -> None:
    v6 = Voter(1, "2001:db8::1", 9093, "AAAAAAAAAAAAAAAAAAAAAw")
    config = plan(tmp_path, replace(CLUSTER, voters=(v6,)), "2001:db8::2").node.config
    assert config.voters == ["1@[2001:db8::1]:9093:AAAAAAAAAAAAAAAAAAAAAw"]
    assert str(config.listeners[0]) == "PLAINTEXT://[2001:db8::2]:9092"


def test_the_node_has_the_listener_that_brokers_use_among_themselves(tmp_path: Path) -> None:
    both = {"listeners": "INSIDE://a.example:9092,OUTSIDE://a.example:9999,CONTROLLER://a.example:9093"}
    joining = plan(
        tmp_path,
        with_brokers(replace(CLUSTER.brokers[0], settings=STATIC | both | {"inter.broker.listener.name": "INSIDE"})),
    )
    config = joining.node.config
    assert str(config.listeners[0]) == "INSIDE://d.example:9092" and config.inter_broker_listener == "INSIDE"
    assert joining.remarks == (
        "the brokers also listen on OUTSIDE: add it to `listeners` in node.toml before the start",
    )


def test_settings_that_differ_are_left_out_and_told() -> None:
    brokers = [
        RunningBroker(1, "a", 1, {"num.partitions": "6", "broker.rack": "x", "log.dirs": "/1"}),
        RunningBroker(2, "b", 1, {"num.partitions": "7", "broker.rack": "y", "log.dirs": "/2"}),
    ]
    shared, remarks = shared_settings(brokers)
    assert shared == {} and len(remarks) == 2
    assert remarks[0].startswith("num.partitions differs among the brokers (1: 6, 2: 7) and was left out")
    assert remarks[1] == "the brokers have racks (x, y): --set broker.rack=… sets one"
    assert shared_settings(brokers, {"num.partitions": "1", "broker.rack": "z"}) == ({}, [])


LOCAL = RunningBroker(1, "127.0.0.1", 9092, STATIC)
ALONE = RunningBroker(1, "a.example", 9092, {"node.id": "1"})


@pytest.mark.parametrize(
    ("cluster", "more", "message", "hint"),
    [
        (CLUSTER, {"host": "0.0.0.0"}, "0.0.0.0:9092 is not an address that clients", "change `listeners`"),
        (CLUSTER, {"host": "::"}, "is not an address that clients", "--on"),
        (CLUSTER, {"port": 0}, "port 0 cannot be", "--on HOST:9092"),
        (CLUSTER, {"port": 65535, "controller": True}, "port 65535 cannot be", "--on HOST:9092"),
        (CLUSTER, {"node_id": 2}, "node id 2 is taken: broker 2 is at b.example:9092", "--id 6 is free"),
        (CLUSTER, {"node_id": 5}, "node id 5 is taken", "--id 6 is free"),
        (CLUSTER, {"host": "a.example"}, "a.example:9092 is the address of broker 1", "--on"),
        (CLUSTER, {"host": "localhost"}, "can be reached from this machine only", "--on"),
        (with_brokers(LOCAL), {}, "broker 1 listens on 127.0.0.1:9092, where a node on d.example", "stop node 1"),
        (
            replace(CLUSTER, voters=(Voter(1, "127.0.0.1", 9093, "AAAAAAAAAAAAAAAAAAAAAw"),)),
            {},
            "the controller of node 1 listens on 127.0.0.1:9093",
            "stop node 1",
        ),
        (
            replace(with_brokers(ALONE), voters=CLUSTER.voters[1:]),
            {},
            "broker 1 at a.example:9092 runs alone: it takes no other nodes",
            'above [settings]: voters = ["1@a.example:9093:AAAAAAAAAAAAAAAAAAAAAw"]; then',
        ),
        (
            replace(with_brokers(ALONE), voters=(Voter(1, "127.0.0.1", 2, "AAAAAAAAAAAAAAAAAAAAAw"),)),
            {},
            "broker 1 at a.example:9092 runs alone: it takes no other nodes",
            'controller_listener = "CONTROLLER://a.example:2" and voters = ["1@a.example:2:AAAAAAAAAAAAAAAAAAAAAw"]',
        ),
        (
            with_brokers(replace(LOCAL, tapelog=False)),
            {},
            "not all brokers of the cluster are Tapelog's",
            "MirrorMaker",
        ),
        (with_brokers(), {}, "no broker of the cluster is up", "tape node"),
        (replace(CLUSTER, features={"metadata.version": 99}), {}, "the cluster has metadata.version 99", "version"),
        (replace(CLUSTER, features={"share.version": 1}), {}, "has share.version 1; this version supports 0 to 0", ""),
    ],
)
def test_what_cannot_be_is_refused_with_reasons(
    tmp_path: Path, cluster: RunningCluster, more: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan(tmp_path, cluster, **more)
    assert message in str(caught.value) and hint in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_a_directory_that_holds_anything_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node-1").mkdir()
    with pytest.raises(PlanError, match="is not empty: there is node-1"):
        plan(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="is not a directory"):
        plan(tmp_path / "file")


def test_what_a_broker_was_started_with_is_known_although_it_was_changed_since() -> None:
    def entry(name: str, *synonyms: tuple[str, str, int]) -> DescribeConfigsResourceResult:
        return DescribeConfigsResourceResult(name, "now", synonyms=[DescribeConfigsSynonym(*one) for one in synonyms])

    result = DescribeConfigsResult(
        configs=[
            entry("num.io.threads", ("num.io.threads", "9", 2), ("num.io.threads", "4", 4), ("num.io.threads", "8", 5)),
            entry("log.retention.ms", ("log.retention.hours", "24", 4)),
            entry("num.partitions", ("num.partitions", "1", 5)),
        ]
    )
    assert static_settings(result) == {"num.io.threads": "4"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--controller"], "--controller is of a node that joins"),
        (["--id", "3"], "--id is of a node that joins"),
        (["--id", "three", "--join", "h:1"], "--id 'three' is not a number"),
        (["--join", "127.0.0.1:1"], "one node joins at a time"),
        (["--join", "127.0.0.1:1", "--on", "a:1", "--on", "b:1"], "one node joins at a time"),
        (["--join", "127.0.0.1:1", "--on", "a:1", "--nodes", "2"], "one node joins at a time"),
        (["--join", "127.0.0.1:1", "--on", "9092"], "--on '9092' is not HOST:PORT"),
        (["--on", "a:1", "--nodes", "2"], "--on says how many nodes and where"),
    ],
)
def test_contradictions_are_usage_errors(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["format", "--data", str(tmp_path / "new"), *words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().err)["error"]
    assert not (tmp_path / "new").exists()


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["format", "--join", "127.0.0.1:1", "--on", "127.0.0.2:9092", "--data", str(tmp_path / "new")]
    assert main(words) == 3
    told = capsys.readouterr().err
    assert "no broker answers (127.0.0.1:1" in told and "--join takes the address of a running broker" in told
    words[2] = "host:port"
    assert main(words) == 2
    assert "--join takes the address" in capsys.readouterr().err


def test_a_broker_that_is_gone_unnoticed_does_not_hinder_the_others() -> None:
    class Deaf:
        exit_code = EXIT_UNREACHABLE

        def ask(self, *question: object) -> None:
            raise CliError("no answer", "", self.exit_code)

    broker, deaf = Broker(Node(3, "c.example", 9092), None, False), Deaf()
    assert _asked(cast(Wire, deaf), broker) is None
    deaf.exit_code = EXIT_FAILED
    with pytest.raises(CliError, match="no answer"):
        _asked(cast(Wire, deaf), broker)
