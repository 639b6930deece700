"""A topic of forty records in a dozen segments on simulated nodes: what the tests of repairs share."""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.replication.partition import Partition
from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import Machine
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.record_batch import Record, build_batch

TOPIC = "ledger"
RECORDS = 40
SMALL = {"internal.segment.bytes": "1000", "index.interval.bytes": "200"}


def fill(cluster: Cluster, replicas: int, configs: Mapping[str, str]) -> None:
    """Create the topic, and write."""
    client = cluster.session("writer")
    config = [CreatableTopicConfig(name=name, value=value) for name, value in configs.items()]
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=replicas, configs=config)
    assert client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics[0].error_code == 0
    cluster.world.run(2000)
    for number in range(RECORDS):
        batch = build_batch([Record(0, 1000 + number, b"k", b"%03d" % number * 60)])
        data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])]
        answer = client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


def held(machine: Machine) -> Partition:
    """The replica on a node."""
    assert machine.core is not None
    found = machine.core.topics[TOPIC].partitions[0]
    assert found is not None
    return found


def contents(machine: Machine) -> bytes:
    """All batches of the log, as its files have them."""
    return b"".join(machine.disk.read_file(segment.path) for segment in held(machine).log.segments.items)
