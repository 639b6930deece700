"""Apache Kafka's own command-line tools: console, performance, verifiable clients, topics, configs, groups."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import KafkaTools, java, prepare, run
from tests.support.names import Fresh, MakeTopic
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = pytest.mark.needs("java")

TOOLS = "org.apache.kafka.tools."
CONSOLE_CONSUMER = TOOLS + "consumer.ConsoleConsumer"
GROUPS = TOOLS + "consumer.group.ConsumerGroupCommand"

AdminTool = Callable[..., str]


@pytest.fixture(autouse=True)
def jars() -> None:
    """The tools' jars are here, or the test is left out."""
    prepare("java")


@pytest.fixture
def admin_tool(bootstrap: str, kafka_tools: KafkaTools) -> AdminTool:
    """admin_tool(CLASS, ARGUMENT…) runs a tool of Kafka's on the broker."""
    return lambda name, *arguments, **more: kafka_tools(name, bootstrap, *arguments, **more)


def tool(bootstrap: str, name: str, *arguments: str, stdin: str = "") -> str:
    """Run one of Kafka's tools to its end, in a JVM of its own; its standard output."""
    return run(java(name, "--bootstrap-server", bootstrap, *arguments), stdin=stdin)


def test_console_producer_and_consumer(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(), fresh()
    lines = "".join(f"h:{number},g:x\tkey-{number}\tvalue {number}\n" for number in range(20))
    properties = ["--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"]
    tool(
        bootstrap, TOOLS + "ConsoleProducer", "--topic", topic, "--compression-codec", "zstd", *properties, stdin=lines
    )
    shown = ["key", "headers", "offset", "partition", "timestamp"]
    printing = [part for name in shown for part in ("--formatter-property", f"print.{name}=true")]
    arguments = ["--topic", topic, "--from-beginning", "--max-messages", "20", "--group", group, *printing]
    out = tool(bootstrap, CONSOLE_CONSUMER, *arguments).splitlines()
    assert len(out) == 20
    for number, line in enumerate(out):
        assert re.fullmatch(
            rf"CreateTime:\d+\tPartition:0\tOffset:{number}\th:{number},g:x\tkey-{number}\tvalue {number}", line
        )


def test_performance_tools(admin_tool: AdminTool, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    sizes = ["--topic", topic, "--num-records", "50000"]
    out = admin_tool(TOOLS + "ProducerPerformance", *sizes, "--record-size", "100", "--throughput", "-1")
    assert "50000 records sent" in out
    out = admin_tool(TOOLS + "ConsumerPerformance", *sizes)
    header, values = (line.split(", ") for line in out.strip().splitlines()[-2:])
    assert int(dict(zip(header, values, strict=True))["data.consumed.in.nMsg"]) >= 50_000
    out = admin_tool(TOOLS + "GetOffsetShell", "--topic", topic)
    assert sum(int(line.rsplit(":", 1)[1]) for line in out.split()) == 50_000


def test_end_to_end_latency_tool(admin_tool: AdminTool, make_topic: MakeTopic) -> None:
    topic = make_topic()
    arguments = ["--topic", topic, "--num-records", "500", "--producer-acks", "all", "--record-size", "100"]
    assert "Percentiles" in admin_tool(TOOLS + "EndToEndLatency", *arguments)


def events(path: Path) -> list[dict[str, Any]]:
    """What a verifiable tool has printed so far."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{") and line.endswith("}")]


def test_verifiable_producer_and_consumers(bootstrap: str, make_topic: MakeTopic, fresh: Fresh, tmp_path: Path) -> None:
    topic, group = make_topic(4), fresh()
    producing = ["--topic", topic, "--max-messages", "5000", "--acks", "-1"]
    out = tool(bootstrap, TOOLS + "VerifiableProducer", *producing)
    sent = [event for line in out.splitlines() if (event := json.loads(line))["name"] == "producer_send_success"]
    assert len(sent) == 5000
    wanted = {(event["partition"], event["offset"]) for event in sent}
    assert len(wanted) == 5000

    members: list[subprocess.Popen[bytes]] = []
    outputs = [tmp_path / "first", tmp_path / "second"]
    consuming = ["--topic", topic, "--group-id", group, "--reset-policy", "earliest", "--verbose"]
    try:
        for output in outputs:
            with output.open("wb") as sink:
                command = java(TOOLS + "VerifiableConsumer", "--bootstrap-server", bootstrap, *consuming)
                members.append(subprocess.Popen(command, stdout=sink, stderr=subprocess.DEVNULL))

        def read() -> set[tuple[int, int]]:
            everything = [event for output in outputs for event in events(output)]
            return {(event["partition"], event["offset"]) for event in everything if event["name"] == "record_data"}

        until(lambda: read() == wanted, "every record")

        def assigned(output: Path) -> int:
            found = [event for event in events(output) if event["name"] == "partitions_assigned"]
            return len(found[-1]["partitions"]) if found else 0

        until(lambda: [assigned(output) for output in outputs] == [2, 2], "two share")
        members[0].terminate()
        members[0].wait(20)
        until(lambda: assigned(outputs[1]) == 4, "one owns all")
    finally:
        for member in members:
            member.terminate()
            member.wait(20)
    assert events(outputs[0])[-1]["name"] == "shutdown_complete"


def test_topics_and_configs_tools(admin_tool: AdminTool, fresh: Fresh) -> None:
    topic = fresh()
    topics = TOOLS + "TopicCommand"
    create = ["--create", "--topic", topic, "--partitions", "3", "--config", "retention.ms=1000000"]
    assert f"Created topic {topic}." in admin_tool(topics, *create)
    assert topic in admin_tool(topics, "--list").split()
    described = admin_tool(topics, "--describe", "--topic", topic)
    assert "PartitionCount: 3" in described
    assert "retention.ms=1000000" in described
    assert len(re.findall(r"Partition: \d\s+Leader: \d+\s+Replicas: \d+\s+Isr: \d+", described)) == 3
    admin_tool(topics, "--alter", "--topic", topic, "--partitions", "5")
    assert "PartitionCount: 5" in admin_tool(topics, "--describe", "--topic", topic)

    configs, entity = "kafka.admin.ConfigCommand", ["--entity-type", "topics", "--entity-name", topic]
    change = "segment.bytes=2000000,cleanup.policy=[compact,delete]"
    admin_tool(configs, "--alter", *entity, "--add-config", change)
    out = admin_tool(configs, "--describe", *entity)
    assert "segment.bytes=2000000" in out
    assert "cleanup.policy=compact,delete" in out
    admin_tool(configs, "--alter", *entity, "--delete-config", "segment.bytes")
    assert "segment.bytes=" not in admin_tool(configs, "--describe", *entity)
    brokers = admin_tool(configs, "--describe", "--entity-type", "brokers", "--all")
    assert "log.segment.bytes=1073741824" in brokers
    admin_tool(topics, "--delete", "--topic", topic)
    assert topic not in admin_tool(topics, "--list").split()


def test_groups_and_offsets_tools(
    bootstrap: str, admin_tool: AdminTool, make_topic: MakeTopic, fresh: Fresh, tmp_path: Path
) -> None:
    topic, group = make_topic(), fresh()
    tool(bootstrap, TOOLS + "ConsoleProducer", "--topic", topic, stdin="".join(f"{n}\n" for n in range(30)))
    reading = ["--topic", topic, "--group", group, "--from-beginning", "--max-messages", "12"]
    tool(bootstrap, CONSOLE_CONSUMER, *reading)

    def row() -> list[str]:
        out = admin_tool(GROUPS, "--describe", "--group", group)
        return next(line.split()[1:6] for line in out.splitlines() if line.startswith(group))

    assert row() == [topic, "0", "12", "30", "18"]
    assert group in admin_tool(GROUPS, "--list").split()
    for target, wanted in ((["--to-earliest"], "0"), (["--shift-by", "7"], "7"), (["--to-latest"], "30")):
        admin_tool(GROUPS, "--reset-offsets", "--group", group, "--topic", topic, *target, "--execute")
        assert row()[2] == wanted
    admin_tool(GROUPS, "--delete", "--group", group)
    assert group not in admin_tool(GROUPS, "--list").split()

    request = tmp_path / "records.json"
    request.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 10}]}))
    admin_tool(TOOLS + "DeleteRecordsCommand", "--offset-json-file", str(request))
    earliest = admin_tool(TOOLS + "GetOffsetShell", "--topic", topic, "--time", "earliest")
    assert earliest.strip() == f"{topic}:0:10"


def test_cluster_tools(admin_tool: AdminTool, make_topic: MakeTopic, tape: Tape) -> None:
    topic = make_topic()
    tape("produce", topic, stdin="busy")  # then its log directory has tagged fields that Kafka does not know
    out = admin_tool(TOOLS + "LogDirsCommand", "--describe", "--topic-list", topic)
    (broker,) = json.loads(out.splitlines()[-1])["brokers"]
    assert broker["logDirs"][0]["partitions"][0]["partition"] == f"{topic}-0"
    versions = admin_tool(TOOLS + "BrokerApiVersionsCommand")
    assert re.search(r"Produce\(0\): 0 to 13 \[usable: 13\]", versions)
    for api in ("Fetch(1)", "JoinGroup(11)", "CreateTopics(19)", "InitProducerId(22)", "DescribeTopicPartitions(75)"):
        assert re.search(rf"{re.escape(api)}: [\d to]+ \[usable: \d+\]", versions), versions
    quorum = admin_tool(TOOLS + "MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+\d+", quorum)
    features = admin_tool(TOOLS + "FeatureCommand", "describe")
    assert "Feature: metadata.version" in features
    identity = admin_tool(TOOLS + "ClusterTool", "cluster-id", address_at=1)
    assert re.search(r"Cluster ID: \S{22}", identity)
