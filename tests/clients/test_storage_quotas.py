"""Storage quotas through librdkafka: what a producer is told, and that it goes on when there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tapelog.testing.broker import Broker
from tapelog.testing.cluster import Cluster
from tapelog.testing.process import environment
from tests.support.waiting import until

MB = 1 << 20


def create(bootstrap: str, name: str, partitions: int = 1, replicas: int = 1, **config: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    named = {key.replace("_", "."): value for key, value in config.items()}
    for future in admin.create_topics([NewTopic(name, partitions, replicas, config=named)]).values():
        future.result()
    return admin


def alter(admin: AdminClient, kind: ResourceType, name: str, key: str, value: str) -> None:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    for future in admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]).values():
        future.result()


def send(producer: Producer, topic: str, partition: int = 0) -> KafkaError | None:
    told: list[KafkaError | None] = []
    producer.produce(topic, bytes(50_000), partition=partition, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(30) == 0
    return told[0]


def tape(*words: str) -> bytes:
    command = [sys.executable, "-m", "tapelog", *words]
    done = subprocess.run(command, env={**os.environ, **environment()}, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def usage(bootstrap: str, *words: str) -> Any:
    return json.loads(tape("topic", "usage", *words, "--json", "-b", bootstrap))


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_producer_is_refused_and_goes_on_when_the_bound_is_raised(idempotent: bool) -> None:
    with Broker() as broker:
        admin = create(broker.bootstrap, "orders", tapelog_max_bytes=str(MB))
        producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": idempotent})
        answers = [send(producer, "orders") for _ in range(25)]
        assert answers[:20] == [None] * 20
        refused = [error for error in answers if error is not None]
        assert len(refused) == 5 and all(error.code() == KafkaError.POLICY_VIOLATION for error in refused)
        (row,) = usage(broker.bootstrap, "orders")["topics"]
        assert (row["max_bytes"], row["policy"]) == (MB, "reject") and 0.9 < row["used"] <= 1
        alter(admin, ResourceType.TOPIC, "orders", "tapelog.max.bytes", str(2 * MB))
        until(lambda: send(producer, "orders") is None, "room")


def test_a_prefix_is_bounded_and_freed_while_the_broker_runs() -> None:
    with Broker() as broker:
        create(broker.bootstrap, "logs.a")
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        assert send(producer, "logs.a") is None
        tape("config", "set", "broker", "all", "tapelog.max.bytes.prefixes=logs.=60000", "-b", broker.bootstrap)
        until(lambda: send(producer, "logs.a") is not None, "the bound")
        told = usage(broker.bootstrap, "logs.a")
        assert [(row["prefix"], row["max_bytes"]) for row in told["prefixes"]] == [("logs.", 60000)]
        tape("config", "unset", "broker", "all", "tapelog.max.bytes.prefixes", "-b", broker.bootstrap)
        until(lambda: send(producer, "logs.a") is None, "no bound")


def test_the_oldest_records_make_room_and_a_consumer_goes_on_behind_them() -> None:
    with Broker() as broker:
        create(broker.bootstrap, "clicks", tapelog_max_bytes=str(8 * MB), tapelog_max_bytes_policy="drop-oldest")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})

        def start() -> int:
            for _ in range(20):
                assert send(producer, "clicks") is None
            low, _ = consumer.get_watermark_offsets(TopicPartition("clicks", 0), timeout=30, cached=False)
            return int(low)

        until(lambda: start() > 100, "the oldest have gone")

        def held() -> int:
            (row,) = usage(broker.bootstrap, "clicks")["topics"]
            return int(row["bytes"])

        until(lambda: held() < 16 * MB, "what came within a second has gone, too")
        consumer.assign([TopicPartition("clicks", 0, 0)])
        message = consumer.poll(20)
        assert message is not None and message.error() is None and (message.offset() or 0) > 100
        consumer.close()


def test_in_a_cluster_all_replicas_let_the_oldest_go_and_no_more_than_that() -> None:
    bound = 16 * MB
    with Cluster(nodes=3) as cluster:
        create(
            cluster.bootstrap,
            "clicks",
            partitions=3,
            replicas=3,
            tapelog_max_bytes=str(bound),
            tapelog_max_bytes_policy="drop-oldest",
        )
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "queue.buffering.max.kbytes": 1 << 20})
        for number in range(1200):  # 60 MB, faster than anybody looks
            producer.produce("clicks", bytes(50_000), partition=number % 3)
        assert producer.flush(60) == 0

        def held() -> dict[str, int]:
            (row,) = usage(cluster.bootstrap, "clicks")["topics"]
            return {"leaders": row["bytes"], "all": row["replicas_bytes"]}

        until(lambda: held()["all"] <= 3 * bound, "replicas that follow drop as their leaders do")
        assert held()["leaders"] >= bound // 2


def test_a_bound_counts_leaders_on_all_nodes_of_a_cluster() -> None:
    with Cluster(nodes=3, settings={"tapelog.max.bytes.prefixes": f"logs.={MB}"}) as cluster:
        create(cluster.bootstrap, "logs.a", partitions=3, replicas=3)
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        refused: list[KafkaError] = []

        def one_each() -> bool:
            refused.extend(error for index in range(3) if (error := send(producer, "logs.a", index)) is not None)
            return len(refused) > 0

        until(one_each, "a bound that no single node can see")
        assert refused[0].code() == KafkaError.POLICY_VIOLATION
        (row,) = usage(cluster.bootstrap, "logs.a")["prefixes"]
        assert 0.9 < row["used"] < 3, "late by what comes between two questions"
