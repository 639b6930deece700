"""A tiered topic on three simulated nodes that are killed, paused and replaced, with a bad way to the bucket.

Every acknowledged record is read back from its beginning by an ordinary client, most of it from the bucket; what the
manifest names is whole; nothing else is left there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import pytest

from tapelog.log.tier import layout, manifest, walk
from tapelog.log.tier.manifest import Manifest, Page
from tapelog.sim.cluster import Cluster
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.machine import Machine
from tapelog.sim.objects import Bucket, Weather
from tapelog.wire.crc import crc32c
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.record_batch import Record, build_batch, iterate
from tests.support.rig import raw_records

TOPIC = "ledger"
SETTINGS = {
    "remote.log.storage.system.enable": "true",
    "tapelog.tier.url": "s3://simulated/tier",
    "log.retention.check.interval.ms": "1000",
    "remote.log.manager.task.retry.backoff.ms": "100",
    "remote.log.manager.task.retry.backoff.max.ms": "1000",
    "tapelog.tier.orphan.check.interval.ms": "5000",
    "log.cleaner.enable": "false",
}
TIERED = {
    "remote.storage.enable": "true",
    "internal.segment.bytes": "1000",
    "index.interval.bytes": "200",
    "local.retention.bytes": "1",
    "retention.ms": "-1",
}
STORMS = (Weather(), Weather(300), Weather(100, 50, 0), Weather(100, 25, 25), Weather(gone=True))


class Life:
    """One cluster's life from a seed."""

    def __init__(self, seed: int, nodes: int = 3, replicas: int = 0, configs: Mapping[str, str] = {}) -> None:
        self.chance = SimEntropy(seed)
        self.bucket = Bucket()
        self.cluster = Cluster(seed, nodes, SETTINGS)
        for machine in self.cluster.machines:
            machine.bucket = self.bucket
        self.cluster.boot()
        self.client = self.cluster.session("application")
        replicas = replicas or nodes
        self.cluster.promises.copies_min = min(2, replicas)
        given = {**TIERED, "min.insync.replicas": str(min(2, replicas)), **configs}
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=1,
            replication_factor=replicas,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in given.items()],
        )
        assert self.client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics[0].error_code == 0
        self.cluster.world.run(2000)
        self.written: list[bytes] = []

    def write(self, count: int) -> None:
        """Each acknowledged by all before the next; sent again until it is."""
        for _ in range(count):
            value = b"%05d" % len(self.written) * 30
            batch = build_batch([Record(0, 1000 + len(self.written), b"k", value)])
            data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])]
            for _ in range(200):
                answer = self.client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 9)
                if answer.responses[0].partition_responses[0].error_code == 0:
                    self.written.append(value)
                    break
                self.cluster.world.run(200)
            else:
                raise AssertionError("never acknowledged")

    def trouble(self) -> None:
        """Something happens to a node or to its way to the bucket."""
        chance, cluster = self.chance, self.cluster
        machine = cluster.machines[chance.below(3)]
        if machine.store is not None:
            machine.store.weather = STORMS[chance.below(len(STORMS))]
        if all(one.up and not one.paused for one in cluster.machines):
            match chance.below(4):
                case 0:
                    machine.kill()
                case 1:
                    machine.power_cut()
                case 2:
                    machine.pause()
        else:
            for one in cluster.machines:
                if one.paused:
                    one.go_on()
                cluster.start(one)

    def heal(self) -> None:
        """Everybody is there, the weather is fine, time passes."""
        for machine in self.cluster.machines:
            if machine.paused:
                machine.go_on()
            self.cluster.start(machine)
        self.cluster.world.run(5000)
        for machine in self.cluster.machines:
            if machine.store is not None:
                machine.store.weather = Weather()
        assert self.cluster.world.run_until(self.cluster.whole, 120_000)
        self.cluster.world.run(60_000)

    def read(self) -> list[bytes]:
        """All values, from offset 0 on."""
        values: list[bytes] = []
        offset = 0
        for _ in range(5000):
            part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[part])])
            response: FetchResponse = self.client.call(request, 12)
            found = response.responses[0].partitions[0]
            assert found.error_code == 0, found.error_code
            data = raw_records(found)
            for record in iterate(data, 0, len(data)):
                if record.offset >= offset:
                    values.append(record.value or b"")
                    offset = record.offset + 1
            if offset >= found.high_watermark:
                return values
        raise AssertionError("no end")


def check_bucket(bucket: Bucket) -> Manifest:
    """What the manifest names is there and whole, and nothing else is."""
    names = [name for name in bucket.objects if name.endswith(layout.MANIFEST)]
    assert len(names) == 1
    prefix, head = names[0][: -len(layout.MANIFEST)], manifest.decode(bucket.objects[names[0]])
    pages: dict[str, Page] = {}
    while True:
        try:
            named = walk.named_between(head, pages, 0, 1 << 62)
            entries = list(walk.oldest_first(head, pages))
            break
        except walk.PageWantedError as wanted:
            pages[wanted.ref.name] = manifest.decode_page(bucket.objects[prefix + wanted.ref.name])
    for entry in entries:
        data = bucket.objects[prefix + entry.name]
        assert len(data) == entry.size and crc32c(data[: entry.log_size]) == entry.log_crc
        assert layout.tail_crc(data) == entry.tail_crc
    others = [name for name in bucket.objects if not name.endswith((layout.MANIFEST, layout.TOPIC_DOCUMENT))]
    others = [name for name in others if not name.startswith("probes/")]
    assert sorted(others) == sorted(prefix + name for name in named)
    return head


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("TAPELOG_TIER_SEEDS", "1"))))
def test_what_was_acknowledged_is_read_back_from_the_bucket_whatever_happened(seed: int) -> None:
    life = Life(seed)
    for _ in range(12):
        life.write(8)
        life.trouble()
        life.cluster.world.run(3000)
    life.heal()
    life.write(8)
    life.cluster.world.run(30_000)
    head = check_bucket(life.bucket)
    assert head.end_offset > len(life.written) // 2
    values = life.read()
    assert list(dict.fromkeys(values)) == life.written, "nothing lost, nothing out of order (a retry may repeat)"


def alone(seed: int) -> Life:
    """One node, with some segments in the bucket."""
    life = Life(seed, nodes=1)
    life.write(40)
    life.cluster.world.run(20_000)
    assert check_bucket(life.bucket).count > 3
    return life


def objects(bucket: Bucket) -> list[str]:
    """What is left of topics."""
    return [name for name in bucket.objects if name.startswith(layout.TOPICS)]


def test_a_deleted_topic_leaves_the_bucket_even_if_the_node_is_killed_meanwhile() -> None:
    life = alone(5)
    machine = life.cluster.machines[0]
    assert machine.store is not None
    machine.store.weather = Weather(gone=True)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=5000)
    assert life.client.call(request, 6).responses[0].error_code == 0
    life.cluster.world.run(5000)
    assert objects(life.bucket), "the store was away"
    machine.kill()
    life.cluster.start(machine)
    life.cluster.world.run(5000)
    assert objects(life.bucket)
    assert machine.store is not None
    machine.store.weather = Weather()
    assert life.cluster.world.run_until(lambda: not objects(life.bucket), 120_000)


def led_by_one(seed: int) -> tuple[Life, Machine]:
    """Three nodes, one of which has the topic's only replica."""
    life = Life(seed, replicas=1)
    life.write(40)
    life.cluster.world.run(20_000)
    assert check_bucket(life.bucket).count > 3
    return life, leader_of(life)


def leader_of(life: Life) -> Machine:
    """Of the topic's only partition."""
    for machine in life.cluster.machines:
        core = machine.core
        if core is not None and core.image.topics[TOPIC].partitions[0].leader == core.node_id:
            return machine
    raise AssertionError("nobody leads")


def delete_topic(life: Life) -> None:
    """Until it is answered."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=5000)
    for _ in range(50):
        if life.client.call(request, 6).responses[0].error_code == 0:
            return
        life.cluster.world.run(500)
    raise AssertionError("never deleted")


def test_a_topic_deleted_while_nobody_leads_it_leaves_the_bucket() -> None:
    life, machine = led_by_one(8)
    machine.kill()
    life.cluster.world.run(20_000)
    delete_topic(life)
    assert objects(life.bucket)
    assert life.cluster.world.run_until(lambda: not objects(life.bucket), 120_000), "the others have seen it"


@pytest.mark.parametrize("verb", ["put", "delete", *(["list", "get"] if "TAPELOG_TIER_SEEDS" in os.environ else [])])
def test_a_topic_whose_last_leader_died_over_its_deletion_leaves_the_bucket(verb: str) -> None:
    """Killed for good at its first call of each kind."""
    life, machine = led_by_one(9)
    store = machine.store
    assert store is not None

    def fatal(seen: str, name: str) -> None:
        if seen == verb and machine.core is not None and TOPIC not in machine.core.image.topics:
            machine.kill()

    store.before = fatal
    delete_topic(life)
    assert life.cluster.world.run_until(lambda: not machine.up, 20_000)
    assert objects(life.bucket)
    assert life.cluster.world.run_until(lambda: not objects(life.bucket), 120_000)


def turn_off(life: Life) -> Callable[[], list[str]]:
    """Turn tiering off; what is left of the topic in the bucket, but for its document."""
    changes = [("remote.storage.enable", "false"), ("remote.log.delete.on.disable", "true")]
    configs = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in changes]
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=configs)
    answer = life.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message
    return lambda: [name for name in objects(life.bucket) if not name.endswith(layout.TOPIC_DOCUMENT)]


def test_what_a_leader_that_died_when_tiering_was_turned_off_left_is_removed_by_the_next() -> None:
    life = Life(11)
    life.write(40)
    life.cluster.world.run(20_000)
    machine = leader_of(life)
    assert machine.store is not None
    machine.store.weather = Weather(gone=True)
    left = turn_off(life)
    life.cluster.world.run(3000)
    assert left()
    machine.kill()
    assert life.cluster.world.run_until(lambda: not left(), 120_000)


def test_turning_tiering_off_deletes_what_is_up_there_and_keeps_what_is_here() -> None:
    life = alone(6)
    end = len(life.written)
    left = turn_off(life)
    assert life.cluster.world.run_until(lambda: not left(), 60_000)
    core = life.cluster.machines[0].core
    assert core is not None
    held = core.topics[TOPIC].partitions[0]
    assert held is not None and 0 < held.log.start_offset == held.log.local_start_offset < end
    life.write(5)
    life.cluster.world.run(20_000)
    assert not left()


def test_a_topic_under_a_hold_cannot_be_deleted() -> None:
    configs = {"tapelog.tier.hold": "true", "retention.bytes": "2000", "local.retention.bytes": "1000"}
    life = Life(7, nodes=1, configs=configs)
    life.write(40)
    life.cluster.world.run(20_000)
    assert check_bucket(life.bucket).start_offset == 0
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=5000)
    result = life.client.call(request, 6).responses[0]
    assert result.error_code == 44 and "hold" in result.error_message
    assert life.read() == life.written
