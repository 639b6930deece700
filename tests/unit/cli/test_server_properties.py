"""`tape format --from server.properties`: what is taken over, what is named, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapelog.base.node_config import NodeConfig
from tapelog.cli.main import main
from tapelog.cli.node_files import load
from tapelog.cli.properties_file import parse

SHIPPED = """\
# what Kafka's own file for one node sets
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
log.dirs=somewhere/kraft-combined-logs
offsets.topic.replication.factor=1
log.retention.hours=168
"""


def formatted(tmp_path: Path, text: str, *words: str, code: int = 0) -> None:
    (tmp_path / "server.properties").write_text(text)
    data = str(tmp_path / "new")
    assert main(["format", "--from", str(tmp_path / "server.properties"), "--data", data, *words]) == code


def made(tmp_path: Path, text: str, *words: str) -> NodeConfig:
    formatted(tmp_path, text, *words)
    return load(str(tmp_path / "new/node-1"))


def refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    formatted(tmp_path, text, *words, code=2)
    assert not (tmp_path / "new").exists()
    return capsys.readouterr().err


def test_kafkas_own_file_makes_a_node_that_listens_where_the_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = made(tmp_path, SHIPPED)
    assert [str(one) for one in config.listeners] == ["PLAINTEXT://:9092"]
    assert [str(one) for one in config.advertised()] == ["PLAINTEXT://localhost:9092"]
    assert str(config.controller_listener) == "CONTROLLER://localhost:9093"
    assert config.voters[0].startswith("1@localhost:9093:") and config.is_controller and config.is_broker
    taken = {name: config.settings[name] for name in ("offsets.topic.replication.factor", "log.retention.hours")}
    assert taken == {"offsets.topic.replication.factor": "1", "log.retention.hours": "168"}
    assert config.log_dirs == [str(tmp_path / "new/node-1/logs")], "Kafka's files are left alone"
    assert "num.network.threads" not in config.settings
    said = [line.partition("server.properties ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "line 3: node.id is not taken over: nodes are numbered from 1",
        "line 4: controller.quorum.bootstrap.servers is not taken over: a new cluster has voters of its own",
        "line 10: num.network.threads is not taken over: it has no effect here",
        "line 11: log.dirs is not taken over: new directories are made below --data (and --log-dir); "
        "Kafka's own files are not read",
    ]


def test_what_is_not_taken_over_is_told_to_programs_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formatted(tmp_path, "listeners=PLAINTEXT://h:1\nnum.netwok.threads=3\nsuper.users=\n", "--json")
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["node"], entry["listen"]) == (1, "h:1")
    assert [text.partition(": ")[2] for text in entry["remarks"]] == [
        "num.netwok.threads is not taken over: neither Kafka 4.3 nor Tapelog has it; "
        "did you mean 'num.network.threads'?",
        "super.users is not taken over: this value asks for nothing",
    ]


def test_the_command_line_overrules_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on = [word for host in "abc" for word in ("--on", f"{host}.example:9092")]
    config = made(tmp_path, SHIPPED + "broker.rack=r\n", *on, "--set", "log.retention.hours=1")
    assert [str(one) for one in config.listeners] == ["PLAINTEXT://a.example:9092"] and not config.advertised_listeners
    assert config.settings["log.retention.hours"] == "1" and len(config.voters) == 3
    assert config.settings["default.replication.factor"] == "3" and "broker.rack" not in config.settings
    said = capsys.readouterr().err
    assert "listeners is not taken over: the command line says where nodes listen" in said
    assert "broker.rack is not taken over: each node has its own" in said
    assert "--set offsets.topic.replication.factor=3 is safer" in said, "the file is of one node, the cluster of three"


def test_a_rack_is_taken_for_one_node_and_a_file_of_several_nodes_says_how_to_make_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "broker.rack=r\nlisteners=PLAINTEXT://h:9092\ncontroller.quorum.voters=1@a:1,2@b:1,3@c:1\n"
    config = made(tmp_path, text)
    assert config.settings["broker.rack"] == "r" and len(config.voters) == 1
    assert "--on HOST:PORT for each node makes them together" in capsys.readouterr().err


def test_listeners_keep_their_names(tmp_path: Path) -> None:
    config = made(
        tmp_path,
        "listeners=INSIDE://h:1,OUTSIDE://0.0.0.0:2,CTL://h:3\ncontroller.listener.names=CTL\n"
        "advertised.listeners=OUTSIDE://public.example:2\ninter.broker.listener.name=INSIDE\n"
        "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CTL:PLAINTEXT,SASL_SSL:SASL_SSL\n",
    )
    assert [str(one) for one in config.listeners] == ["INSIDE://h:1", "OUTSIDE://0.0.0.0:2"]
    assert [str(one) for one in config.advertised()] == ["INSIDE://h:1", "OUTSIDE://public.example:2"]
    assert config.inter_broker_listener == "INSIDE" and str(config.controller_listener) == "CONTROLLER://h:3"


@pytest.mark.parametrize("words", [[], ["--on", "a.example:9092"]])
def test_a_file_that_asks_for_protection_is_refused_with_every_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    told = refused(
        tmp_path,
        "listeners=CLIENTS://h:1\nlog.retention.hours=1\nlistener.security.protocol.map=CLIENTS:SASL_SSL\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\nsuper.users=User:a\n"
        "sasl.enabled.mechanisms=SCRAM-SHA-512\nlistener.name.clients.ssl.keystore.location=ks.jks\n",
        capsys,
        *words,
    )
    lines = [line.strip().partition(": ") for line in told.splitlines()[1:-1]]
    assert [(number, words.partition(":")[0]) for number, _, words in lines] == [
        ("line 1", "listener CLIENTS"),
        ("line 4", "authorizer.class.name"),
        ("line 5", "super.users"),
        ("line 6", "sasl.enabled.mechanisms"),
        ("line 7", "listener.name.clients.ssl.keystore.location"),
    ]
    assert "SASL_SSL is not available yet" in told and "take these lines out" in told and "ks.jks" not in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zookeeper.connect=zk:2181", "line 1: zookeeper.connect: Tapelog has no ZooKeeper, only KRaft"),
        ("\nprocess.roles=controller", "line 2: process.roles=controller is the file of a controller"),
        ("num.partitions=many", "line 1: "),
        ("listeners=nonsense", "'nonsense' is not a listener"),
        ("listeners=PLAINTEXT://0.0.0.0:9092", "listens on all interfaces"),
        ("a=\\u12", "line 1: \\u must be followed"),
    ],
)
def test_files_that_no_node_can_start_with_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert message in refused(tmp_path, text, capsys)


def test_a_zookeeper_cluster_is_told_its_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(tmp_path, "broker.id=0\nzookeeper.connect=zk:2181\n", capsys)
    assert "migrate the cluster to KRaft" in told and "MirrorMaker 2" in told
    assert main(["up", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "up"), "--set", "zookeeper.connect=zk"]) == 2
    assert "Tapelog has no ZooKeeper, only KRaft" in capsys.readouterr().err


def test_a_missing_file_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "--from", str(tmp_path / "nosuch"), "--data", str(tmp_path / "new")]) == 4
    assert "cannot read" in capsys.readouterr().err


def test_the_syntax_is_that_of_java() -> None:
    text = "# c\n! c\n\n a = b \nc:d\ne f\ng=h\\\n   i\nj\\ k=l\\u00e9\\tm\\q\nn\na=again\no=p\\\\\n"
    assert [(one.line, one.name, one.value) for one in parse(text)] == [
        (5, "c", "d"),
        (6, "e", "f"),
        (7, "g", "hi"),
        (9, "j k", "l\u00e9\tmq"),
        (10, "n", ""),
        (11, "a", "again"),
        (12, "o", "p\\"),
    ]


def test_lines_end_where_java_ends_them() -> None:
    text = "log.dirs=/data/\xc3\x85re\r# \x0ba comment\x0c with blanks\x1c\r\nnode.id=1\n"
    assert [(one.name, one.value) for one in parse(text)] == [("log.dirs", "/data/\xc3\x85re"), ("node.id", "1")]
