"""Replicas move between the log directories of a real node, by Kafka's own tools and by ours, under librdkafka's load;
and rot on a real disk is mended from the tier."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.testing import Broker
from tests.clients.cluster_clients import QUIET
from tests.clients.programs import KafkaTools
from tests.support.tape import Tape
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
TOPIC = "orders"


class Load:
    """Somebody who writes all the time; what was acknowledged is remembered, by offset."""

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged: dict[int, bytes] = {}
        self.failed: list[str] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2, "acks": "all", **QUIET})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            value = b"%08d" % number * 20
            self._producer.produce(TOPIC, value, partition=0, on_delivery=self._told)
            number += 1
            self._producer.poll(0.001)

    def _told(self, error: object, message: object) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged[message.offset()] = message.value()  # type: ignore[attr-defined]

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(30) == 0


def read(bootstrap: str, count: int) -> dict[int, bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False, **QUIET})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: dict[int, bytes] = {}
        while len(found) < count:
            messages = consumer.consume(1000, 5.0)
            assert messages, f"{len(found)} of {count}"
            for message in messages:
                assert message.error() is None, message.error()
                found[message.offset()] = message.value()
        return found
    finally:
        consumer.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data", log_dirs=[tmp_path / "place"]) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config={"segment.bytes": "1048576"})])[TOPIC].result(20)
        yield broker


def directories(tape: Tape, broker: Broker) -> tuple[str, str]:
    """Where the partition is, and where it is not."""
    told = [one["directory"] for one in tape.json("broker", "disks", "-b", broker.bootstrap)]
    (here,) = [path for path in told if (Path(path) / f"{TOPIC}-0").is_dir()]
    (there,) = [path for path in told if path != here]
    return here, there


@pytest.mark.needs("java")
def test_kafkas_tools_move_a_replica_and_tape_moves_it_back(
    broker: Broker, kafka_tools: KafkaTools, tape: Tape, tmp_path: Path
) -> None:
    here, there = directories(tape, broker)
    load = Load(broker.bootstrap)
    until(lambda: len(load.acknowledged) > 3000, "some records")
    plan = tmp_path / "plan.json"
    part = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": [there]}
    plan.write_text(json.dumps({"version": 1, "partitions": [part]}))
    asked = ("--reassignment-json-file", str(plan))
    out = kafka_tools(REASSIGN, broker.bootstrap, *asked, "--execute", "--replica-alter-log-dirs-throttle", "100000000")
    assert "Successfully started moving log directory" in out, out
    verify = (REASSIGN, broker.bootstrap, *asked, "--verify")
    until(lambda: "completed successfully" in kafka_tools(*verify), "moved")
    assert (Path(there) / f"{TOPIC}-0").is_dir()
    until(lambda: not list(Path(here).glob(f"{TOPIC}-0*")), "the old files are gone")
    told = kafka_tools(LOG_DIRS, broker.bootstrap, "--describe", "--topic-list", TOPIC)
    (line,) = [line for line in told.splitlines() if line.startswith("{")]
    (found,) = [one for one in json.loads(line)["brokers"][0]["logDirs"] if one["partitions"]]
    assert found["logDir"] == there
    assert (found["partitions"][0]["partition"], found["partitions"][0]["isFuture"]) == (f"{TOPIC}-0", False)
    back = tape.json("broker", "move-dir", "1", TOPIC, "--to", here, "-b", broker.bootstrap)
    assert back["replicas"] == [{"topic": TOPIC, "partition": 0, "from": there, "to": here}]
    assert directories(tape, broker) == (here, there)
    tape("broker", "move-dir", "1", "--to", "/nowhere", "-b", broker.bootstrap, code=1)
    assert "LOG_DIR_NOT_FOUND" in tape.err and "tape broker disks" in tape.err
    before = len(load.acknowledged)
    until(lambda: len(load.acknowledged) > before + 500, "it goes on")
    load.stop()
    assert not load.failed, load.failed[:3]
    assert read(broker.bootstrap, len(load.acknowledged)) == load.acknowledged
    broker.kill()
    broker.start()
    assert read(broker.bootstrap, len(load.acknowledged)) == load.acknowledged


def test_a_directory_that_the_broker_does_not_have_is_not_called_empty(broker: Broker, tape: Tape) -> None:
    here, there = directories(tape, broker)
    tape("broker", "move-dir", "1", "--from", here + "/", "--to", there, "-b", broker.bootstrap, code=4)
    assert f"no log directory {here}/" in tape.err and there in tape.err
    assert directories(tape, broker) == (here, there)


def test_rot_on_the_only_nodes_disk_is_mended_from_the_tier(tmp_path: Path) -> None:
    settings = {"remote.log.storage.system.enable": True, "log.retention.check.interval.ms": 300}
    config = {"remote.storage.enable": "true", "internal.segment.bytes": "100000"}
    broker = Broker(data=tmp_path / "data", settings=settings)
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **QUIET})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=config)])[TOPIC].result(20)
        producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
        written = {number: b"%08d" % number * 50 for number in range(1000)}
        for number, value in written.items():
            producer.produce(TOPIC, value, partition=0)
            if number % 100 == 99:
                assert producer.flush(10) == 0
        (home,) = tmp_path.rglob(f"{TOPIC}-0")
        sealed = sorted(home.glob("*.log"))[:-1]
        assert len(sealed) >= 3
        until(lambda: len(list(tmp_path.rglob("*.segment"))) == len(sealed), "all is in the tier")
        broker.stop()
        was = sealed[1].read_bytes()
        rotten = bytearray(was)
        rotten[len(was) // 2] ^= 8
        sealed[1].write_bytes(bytes(rotten))
        broker.start()
        until(lambda: sealed[1].read_bytes() == was, "it is as it was")
        until(lambda: "repaired with what the tier has" in broker.log(), "it is told")
        assert read(broker.bootstrap, len(written)) == written
