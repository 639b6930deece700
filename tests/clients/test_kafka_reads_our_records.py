"""Apache Kafka's dumper decodes our group records of both protocols, transactional offsets, and transaction states."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.clients.programs import java, prepare, run
from tests.support.waiting import until

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow]

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
CLASSIC_GROUP, OFFSET = 2, 1
GROUP_EPOCH, MEMBER, TARGET_EPOCH, TARGET_MEMBER, CURRENT_MEMBER, REGEX = 3, 5, 6, 7, 8, 16
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
LINE = re.compile(r"^\| offset: (\d+) .*? key: (\{.*\}) payload: (.*)$")
BATCH = re.compile(r"^baseOffset: .* producerId: (-?\d+) .* isTransactional: (\w+) isControl: (\w+) .* isvalid: (\w+)")


@dataclass(frozen=True)
class Decoded:
    """One record as Kafka's dumper tells it; `value` is None for a tombstone."""

    type: int
    key: dict[str, Any]
    version: int
    value: dict[str, Any] | None
    transactional: bool


def decode(file: Path, decoder: str) -> tuple[list[Decoded], list[str]]:
    """The records of a segment, and the endings of transactions in it."""
    told = run(java("org.apache.kafka.tools.DumpLogSegments", decoder, "--files", str(file)))
    records: list[Decoded] = []
    endings: list[str] = []
    transactional = False
    for line in told.splitlines():
        if batch := BATCH.match(line):
            transactional = batch[2] == "true"
            assert batch[4] == "true", line
        elif found := LINE.match(line):
            key = json.loads(found[2])
            value = None if found[3] == "<DELETE>" else json.loads(found[3])
            version, data = (-1, None) if value is None else (int(value["version"]), value["data"])
            records.append(Decoded(int(key["type"]), key["data"], version, data, transactional))
        elif ending := re.search(r"endTxnMarker: (\w+) coordinatorEpoch: \d+", line):
            endings.append(ending[1])
        else:
            assert line.startswith(("Dumping", "Log starting offset")), f"not decoded: {line}"
    return records, endings


def stage(bootstrap: str) -> None:
    """A group of each protocol joins, commits and leaves; transactions with offsets are committed and aborted."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(20)
    for group, config in (
        ("old", {}),
        ("new", {"group.protocol": "consumer"}),
        ("regex", {"group.protocol": "consumer"}),
    ):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **config})
        consumer.subscribe(["^ord.*"] if group == "regex" else ["orders"])
        until(lambda: (consumer.poll(0.1), len(consumer.assignment()) == 2)[1], f"{group} is assigned")  # noqa: B023
        consumer.commit(offsets=[TopicPartition("orders", 1, 5, metadata="five")], asynchronous=False)
        if group == "new":
            transactions(bootstrap, consumer)
        consumer.close()


def transactions(bootstrap: str, consumer: Consumer) -> None:
    """One committed, one aborted, each with a record and an offset."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "mover", "transaction.timeout.ms": 50_000})
    producer.init_transactions(20)
    for offset, end in ((7, producer.commit_transaction), (9, producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("orders", b"moved", partition=0)
        place = TopicPartition("orders", 0, offset)
        producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), 20)
        end(20)


Written = tuple[Path, Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The segments of the two internal topics after the story."""
    prepare("java")
    root = tmp_path_factory.mktemp("records")
    with Broker(settings=SETTINGS, data=root) as broker:
        stage(broker.bootstrap)
    (offsets,) = root.rglob("__consumer_offsets-0/*.log")
    (states,) = root.rglob("__transaction_state-0/*.log")
    yield offsets, states


def test_group_records_of_both_protocols_and_transactional_offsets_are_decoded(written: Written) -> None:
    records, endings = decode(written[0], "--offsets-decoder")
    assert endings == ["COMMIT", "ABORT"]

    def values(kind: int, group: str) -> list[dict[str, Any]]:
        return [
            r.value
            for r in records
            if r.type == kind and r.key["group" if kind <= 2 else "groupId"] == group and r.value
        ]

    classic = values(CLASSIC_GROUP, "old")
    assert {len(value["members"]) for value in classic if value["protocolType"] == "consumer"} == {0, 1}
    commits = [
        (r.key["group"], r.key["partition"], r.value["offset"], r.transactional)
        for r in records
        if r.type == OFFSET and r.value
    ]
    assert sorted(commits) == [
        ("new", 0, 7, True),
        ("new", 0, 9, True),
        ("new", 1, 5, False),
        ("old", 1, 5, False),
        ("regex", 1, 5, False),
    ]
    for group in ("new", "regex"):
        epochs = [value["epoch"] for value in values(GROUP_EPOCH, group)]
        assert epochs == sorted(epochs) and epochs[0] >= 1
        assert values(MEMBER, group)[0]["clientHost"] == "/127.0.0.1"
        assert any(
            len(topic["partitions"]) == 2
            for value in values(TARGET_MEMBER, group)
            for topic in value["topicPartitions"]
        )
        assert any(value["assignmentEpoch"] in epochs for value in values(TARGET_EPOCH, group))
        current = values(CURRENT_MEMBER, group)
        assert any(len(topic["partitions"]) == 2 for value in current for topic in value["assignedPartitions"])
        gone = {r.type for r in records if r.value is None and r.key.get("groupId") == group}
        assert {MEMBER, TARGET_MEMBER, CURRENT_MEMBER} <= gone
    assert values(MEMBER, "regex")[0]["subscribedTopicRegex"] == "(^ord.*)"  # as librdkafka sends it
    assert values(REGEX, "regex")[-1]["topics"] == ["orders"]


def test_transaction_states_are_decoded(written: Written) -> None:
    records, _ = decode(written[1], "--transaction-log-decoder")
    assert {(r.type, r.version, r.key["transactionalId"]) for r in records} == {(0, 1, "mover")}
    told = [r.value for r in records if r.value]
    states = [value["transactionStatus"] for value in told]
    changes = [state for at, state in enumerate(states) if at == 0 or state != states[at - 1]]
    assert changes == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT, ONGOING, PREPARE_ABORT, COMPLETE_ABORT]
    assert {value["transactionTimeoutMs"] for value in told} == {50_000}
    prepared = next(value for value in told if value["transactionStatus"] == PREPARE_COMMIT)
    places = {one["topic"]: one["partitionIds"] for one in prepared["transactionPartitions"]}
    assert places == {"orders": [0], "__consumer_offsets": [0]}
