"""kafka-python, written in Python alone: produce, consume, codecs, groups under every assignor it has, admin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    OffsetSpec,
)
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import MessageSizeTooLargeError, NonEmptyGroupError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from tests.support.names import Fresh, LeaderOf, MakeTopic
from tests.support.nodes import one_node
from tests.support.raw import Raw, batches, fetch
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture
def control(bootstrap: str) -> Iterator[KafkaAdminClient]:
    """kafka-python's own admin client."""
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def read(bootstrap: str, topic: str, count: int, **config: Any) -> list[Any]:
    """`count` records from the beginning of partition 0."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest", **config)
    consumer.assign([TopicPartition(topic, 0)])
    got: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} records"
        for records in consumer.poll(200).values():
            got.extend(records)
    consumer.close()
    return got


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_come_back_whole_and_in_order(
    bootstrap: str, make_topic: MakeTopic, leader_of: LeaderOf, codec: str | None
) -> None:
    topic = make_topic()
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20)
    started = int(time.time() * 1000)
    sent = []
    for number in range(200):
        key = None if number % 7 == 1 else b"key-%d" % number
        value = None if number % 7 == 0 else b"value-%d " % number * 10
        headers = [("trace", b"%d" % number), ("empty", b""), ("trace", b"again")] if number % 2 else []
        producer.send(topic, value, key, headers, 0, started + number)
        sent.append((number, started + number, key, value, tuple(headers)))
    producer.flush(20)
    producer.close()
    got = read(bootstrap, topic, 200)
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in got] == sent
    with Raw(leader_of(topic)) as raw:
        _code, _watermark, data = fetch(raw, topic, 0)
    expected = [None, "gzip", "snappy", "lz4", "zstd"].index(codec)
    assert {attributes & 7 for _first, _last, attributes, _magic in batches(data)} == {expected}


def test_ten_megabytes_pass_where_the_topic_allows_them(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="11000000")
    value = bytes(range(256)) * 40_000
    producer = KafkaProducer(bootstrap_servers=bootstrap, max_request_size=11_000_000)
    assert producer.send(topic, value, partition=0).get(30).offset == 0
    assert read(bootstrap, topic, 1)[0].value == value
    small = make_topic(max_message_bytes="100000")
    with pytest.raises(MessageSizeTooLargeError):
        producer.send(small, value[:200_000], partition=0).get(30)
    producer.close()


def test_acknowledgements_say_offset_and_timestamp(bootstrap: str, make_topic: MakeTopic) -> None:
    plain, stamped = make_topic(), make_topic(message_timestamp_type="LogAppendTime")
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    first = producer.send(plain, b"a", partition=0, timestamp_ms=1_000_000 + int(time.time() * 1000)).get(20)
    assert (first.topic, first.partition, first.offset) == (plain, 0, 0)
    before = int(time.time() * 1000)
    second = producer.send(stamped, b"b", partition=0, timestamp_ms=before - 900_000).get(20)
    assert before <= second.timestamp <= int(time.time() * 1000)
    assert read(bootstrap, stamped, 1)[0].timestamp_type == 1
    producer.close()


def test_offsets_are_found_by_time(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    start = int(time.time() * 1000) - 1_000_000
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(50):
        producer.send(topic, b"%d" % number, partition=0, timestamp_ms=start + number * 1000)
    producer.flush(20)
    producer.close()
    here = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None)
    found = consumer.offsets_for_times({here: start + 20_500})
    assert (found[here].offset, found[here].timestamp) == (21, start + 21_000)
    assert consumer.offsets_for_times({here: start + 60_000}) == {here: None}
    assert consumer.beginning_offsets([here]) == {here: 0}
    assert consumer.end_offsets([here]) == {here: 50}
    assert topic in consumer.topics()
    assert consumer.partitions_for_topic(topic) == {0}
    consumer.close()


POLL_MS, POLL_MS_MAX = 500, 16_000
"""What kafka-python's commit before a rebalance and its join may take: on a busy machine it never gets anywhere with 50
(with poll(50) three of eighteen runs stood still at a load of 20), nor always with 500: who has no partition then is
given more time."""
SESSION_MS = 30_000
"""Nobody's session ends here; its heartbeats share one interpreter with everybody else."""


class Member(threading.Thread):
    """A group member in its own thread."""

    def __init__(self, bootstrap: str, group: str, topic: str, **config: Any) -> None:
        super().__init__(daemon=True)
        self.owned: set[int] = set()
        self.read: set[tuple[int, int]] = set()
        self.stopping = threading.Event()
        self.config = {"group_id": group, "auto_offset_reset": "earliest", **config}
        self.bootstrap, self.topic = bootstrap, topic
        self.start()

    def run(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=200,
            auto_commit_interval_ms=200,
            **self.config,
        )
        # It may join before it knows the topic, and then the leader among the members assigns nothing: with any broker.
        until(lambda: consumer.partitions_for_topic(self.topic), "the topic is known")
        consumer.subscribe([self.topic])
        patience_ms = POLL_MS
        while not self.stopping.is_set():
            for place, records in consumer.poll(patience_ms).items():
                self.read.update((place.partition, record.offset) for record in records)
            self.owned = {place.partition for place in consumer.assignment()}
            patience_ms = POLL_MS if self.owned else min(2 * patience_ms, POLL_MS_MAX)
        consumer.close()
        self.owned = set()

    def leave(self) -> None:
        """Close cleanly."""
        self.stopping.set()
        self.join(60)
        assert not self.is_alive()


@pytest.fixture
def member(bootstrap: str) -> Iterator[Callable[..., Member]]:
    """A running member, stopped when the test ends."""
    running: list[Member] = []

    def make(group: str, topic: str, **config: Any) -> Member:
        running.append(Member(bootstrap, group, topic, **config))
        return running[-1]

    yield make
    for one in running:
        one.leave()


def shares(*members: Member) -> list[int]:
    """How many partitions each owns, when together they own six distinct ones; else nothing."""
    owned = [set(one.owned) for one in members]
    return sorted(map(len, owned)) if set().union(*owned) == set(range(6)) and sum(map(len, owned)) == 6 else []


@pytest.mark.parametrize(
    "assignor",
    [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor, CooperativeStickyAssignor],
)
def test_members_come_and_go_and_every_record_is_read(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, member: Callable[..., Member], assignor: type
) -> None:
    topic, group = make_topic(6), fresh()
    config = {"partition_assignment_strategy": [assignor]}
    first = member(group, topic, **config)
    until(lambda: shares(first) == [6], "one member owns all")
    second, third = member(group, topic, **config), member(group, topic, **config)
    until(lambda: shares(first, second, third) == [2, 2, 2], "three share")
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(300):
        producer.send(topic, b"%d" % number, partition=number % 6)
    producer.flush(20)
    producer.close()
    first.leave()
    until(lambda: shares(second, third) == [3, 3], "two share")
    wanted = {(partition, offset) for partition in range(6) for offset in range(50)}
    until(lambda: first.read | second.read | third.read == wanted, "every record read")


@one_node
def test_admin_creates_describes_alters_and_deletes(control: KafkaAdminClient, fresh: Fresh, bootstrap: str) -> None:
    topic = fresh()
    options = {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "1000000"}}
    created = control.create_topics({topic: options}, wait_for_metadata=True)["topics"][0]
    assert (created["num_partitions"], created["replication_factor"]) == (2, 1)
    assert created["configs"]["retention.ms"]["value"] == "1000000"
    with pytest.raises(TopicAlreadyExistsError):
        control.create_topics({topic: options})
    (described,) = control.describe_topics([topic])
    assert described["topic_id"] == created["topic_id"]
    assert len(described["partitions"]) == 2
    (paged,) = control.describe_topic_partitions([topic])["topics"]
    assert str(paged["topic_id"]) == created["topic_id"]
    assert [one["partition_index"] for one in paged["partitions"]] == [0, 1]
    page = control.describe_topic_partitions([topic], response_partition_limit=1)
    assert page["next_cursor"] == {"topic_name": topic, "partition_index": 1}

    control.create_partitions({topic: 3})
    until(lambda: len(control.describe_topics([topic])[0]["partitions"]) == 3, "three partitions")
    control.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"segment.bytes": "2000000"})])

    def modified() -> dict[str, Any]:
        found = control.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], include_synonyms=True)
        return {name: entry["value"] for name, entry in found["topic"][topic].items()}

    until(lambda: modified() == {"retention.ms": "1000000", "segment.bytes": "2000000"}, "both configs")
    control.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, ["retention.ms"])])
    until(lambda: modified() == {"segment.bytes": "2000000"}, "one config")

    (broker,) = control.describe_log_dirs([topic])
    (directory,) = broker["log_dirs"]
    (listed,) = directory["topics"]
    assert {one["partition_index"] for one in listed["partitions"]} == {0, 1, 2}
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    assert topic in control.list_config_resources(["TOPIC"])["topic"]
    assert control.list_partition_reassignments() == {}
    control.delete_topics([topic])
    until(lambda: topic not in control.list_topics(), "the topic is gone")


@one_node
def test_admin_sees_the_cluster(control: KafkaAdminClient, bootstrap: str) -> None:
    cluster = control.describe_cluster()
    (broker,) = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert cluster["controller_id"] == broker["broker_id"]
    features = control.describe_features()
    assert features["metadata.version"]["finalized"][1] >= 7
    (quorum,) = control.describe_metadata_quorum()["topics"]
    (partition,) = quorum["partitions"]
    assert quorum["topic_name"] == "__cluster_metadata"
    assert partition["leader_id"] == partition["current_voters"][0]["replica_id"] == broker["broker_id"]
    assert partition["high_watermark"] > 0


def test_admin_manages_groups_and_offsets(
    bootstrap: str, control: KafkaAdminClient, make_topic: MakeTopic, fresh: Fresh, member: Callable[..., Member]
) -> None:
    topic, group = make_topic(6), fresh()
    here = TopicPartition(topic, 0)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(10):
        producer.send(topic, b"%d" % number, partition=0)
    producer.flush(20)
    producer.close()
    control.alter_group_offsets(group, {here: OffsetAndMetadata(3, "bookmark", -1)})
    assert control.list_group_offsets([group])[group][here] == OffsetAndMetadata(3, "bookmark", -1)
    assert control.reset_group_offsets(group, {here: OffsetSpec.EARLIEST})[here]["offset"] == 0
    assert control.list_partition_offsets({here: OffsetSpec.LATEST})[here].offset == 10
    listed = {one["group_id"]: one for one in control.list_groups()}
    assert (listed[group]["group_state"], listed[group]["group_type"]) == ("Empty", "classic")

    someone = member(group, topic)
    until(lambda: shares(someone) == [6], "a member")
    described = control.describe_groups([group])[group]
    assert described["group_state"] == "Stable"
    assert len(described["members"]) == 1
    assert described["members"][0]["client_host"] == "/127.0.0.1"
    refused = control.delete_groups([group])[group]
    assert NonEmptyGroupError.__name__ in str(refused), refused
    someone.leave()
    until(lambda: control.describe_groups([group])[group]["group_state"] == "Empty", "an empty group")
    control.delete_group_offsets(group, [here])
    assert here not in control.list_group_offsets([group])[group]
    assert control.delete_groups([group]) == {group: "OK"}
    assert control.delete_records({here: 4})[here]["low_watermark"] == 4
    assert control.list_partition_offsets({here: OffsetSpec.EARLIEST})[here].offset == 4
