"""How heavy partitions are, with brokers some of which do not tell."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tapelog.spark.plan.values import TopicPartition
from tapelog.spark.source import weights
from tapelog.spark.source.weights import weights_of
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tests.unit.client.fake_broker import Answer
from tests.unit.client.fake_cluster import TOPIC, FakeCluster

ALL = [TopicPartition(TOPIC, partition) for partition in range(6)]
BYTES, RECORDS = 5000, 100


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Three brokers that lead two partitions each, of a hundred records and 5,000 bytes."""
    monkeypatch.setattr(weights, "_TOLD", set())
    with FakeCluster(brokers=3, partitions=6) as made:
        made.leaders = {partition: 1 + partition % 3 for partition in range(6)}
        made.end = RECORDS
        made.extra = sizes
        yield made


def sizes(node: int, request: Message, version: int) -> Answer | NotImplementedError:
    """What DescribeLogDirs answers where all is well."""
    if not isinstance(request, DescribeLogDirsRequest):
        return NotImplementedError()
    topics = [
        DescribeLogDirsTopic(topic.topic, [DescribeLogDirsPartition(part, BYTES) for part in topic.partitions])
        for topic in request.topics or ()
    ]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(0, "/d", topics)])


def refused(node: int, request: Message, version: int) -> Answer | NotImplementedError:
    """The second broker does not tell who is not allowed to."""
    if node == 2 and isinstance(request, DescribeLogDirsRequest):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return sizes(node, request, version)


def offsets_refused(node: int, request: Message, version: int) -> Answer | NotImplementedError:
    """The second broker tells sizes, and no offsets."""
    if node == 2 and isinstance(request, ListOffsetsRequest):
        raise ConnectionError
    return sizes(node, request, version)


def test_every_leader_is_asked(cluster: FakeCluster) -> None:
    assert weights_of(cluster.connect(), ALL) == dict.fromkeys(ALL, BYTES / RECORDS)


@pytest.mark.parametrize("trouble", ["gone", "refused", "no offsets"])
def test_a_broker_that_does_not_tell_costs_the_weights_of_its_own_partitions(
    cluster: FakeCluster, trouble: str, caplog: Any
) -> None:
    others = [of for of in ALL if cluster.leaders[of.partition] != 2]
    connected = cluster.connect()
    if trouble == "gone":
        connected.topics([TOPIC])
        cluster.brokers[2].stop()
    else:
        cluster.extra = refused if trouble == "refused" else offsets_refused
    with caplog.at_level(logging.WARNING, "tapelog.spark"):
        for _ in range(3):
            assert weights_of(connected, ALL) == dict.fromkeys(others, BYTES / RECORDS)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1 and str(cluster.brokers[2].address.port) in told[0]


def test_a_partition_without_a_leader_costs_no_other_its_weight(cluster: FakeCluster) -> None:
    cluster.leaders[5] = -1
    assert weights_of(cluster.connect(), ALL) == dict.fromkeys(ALL[:5], BYTES / RECORDS)
