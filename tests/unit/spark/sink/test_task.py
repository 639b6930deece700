"""What a writing task knows of its topic: nothing that an earlier task of the same worker asked for."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from tapelog.client import pool
from tapelog.client.produce import Producer
from tapelog.spark.plan.write_options import write_options
from tapelog.spark.plan.write_values import Tally, Work
from tapelog.spark.sink.task import write_at_least_once
from tapelog.wire.message import Message
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tests.unit.client.fake_broker import Answer
from tests.unit.client.fake_cluster import TOPIC, FakeCluster

ANOTHER = b"another-topic-id"


class Looking:
    """Rows that only note what the task knows of the topic when it writes them."""

    def __init__(self) -> None:
        self.saw: list[tuple[bytes, int]] = []

    def write(self, producer: Producer) -> Tally:
        info = producer.cluster.topic(TOPIC)
        self.saw.append((info.topic_id, len(info.partitions)))
        return Tally()


def identify(node: int, request: Message, version: int) -> Answer | NotImplementedError:
    if isinstance(request, InitProducerIdRequest):
        return InitProducerIdResponse(producer_id=7, producer_epoch=0)
    return NotImplementedError()


def test_a_task_asks_for_the_topic_anew_though_its_connection_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_POOL", pool.Pool())
    rows: Any = Looking()
    with FakeCluster() as fake:
        fake.extra = identify
        servers = str(fake.brokers[1].address)
        options = write_options({"kafka.bootstrap.servers": servers, "topic": TOPIC}, streaming=True)
        work = Work("q", "run1", 0, 0, 0, "1")
        write_at_least_once(options, work, rows)
        first, fake.topic_id = fake.topic_id, ANOTHER
        fake.leaders = {0: 1, 1: 1}
        write_at_least_once(options, work, rows)
        assert rows.saw == [(first, 1), (ANOTHER, 2)]
        assert fake.brokers[1].connections == 1
        pool._POOL.close()
