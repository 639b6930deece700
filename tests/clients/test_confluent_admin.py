"""confluent-kafka's admin client: topics, partitions, configs, records, offsets, groups, the cluster."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.clients.conftest import wait_for_topic
from tests.support.names import Fresh, MakeTopic
from tests.support.nodes import one_node
from tests.support.waiting import until


def refusal(future: Any) -> int:
    """The error code with which a request was refused."""
    with pytest.raises(KafkaException) as failed:
        future.result(20)
    return int(failed.value.args[0].code())


def fill(bootstrap: str, topic: str, count: int, partition: int = 0, **fields: Any) -> None:
    """Records 0 … count - 1 into one partition."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=partition, **fields)
    assert producer.flush(20) == 0


def configs(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    """What DescribeConfigs says of a topic."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result(20)
    return described


def test_topics_are_created_described_and_deleted(admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    admin.create_topics([NewTopic(topic, 3, 1, config={"retention.ms": "12345"})])[topic].result(20)
    wait_for_topic(admin, topic, 3)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(20)
    assert described.name == topic
    assert not described.is_internal
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    for partition in described.partitions:
        assert [node.id for node in partition.replicas] == [node.id for node in partition.isr] == [partition.leader.id]
    assert configs(admin, topic)["retention.ms"].value == "12345"
    admin.delete_topics([topic])[topic].result(20)
    until(lambda: topic not in admin.list_topics(timeout=30).topics, "the topic is gone")


def test_wrong_topics_are_refused_with_their_own_codes(admin: AdminClient, make_topic: MakeTopic, fresh: Fresh) -> None:
    existing = make_topic()

    def create(topic: str, partitions: int = 1, replicas: int = 1, **config: str) -> int:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        return refusal(admin.create_topics([NewTopic(topic, partitions, replicas, config=settings)])[topic])

    assert create(existing) == KafkaError.TOPIC_ALREADY_EXISTS
    assert create("no spaces") == KafkaError.TOPIC_EXCEPTION
    assert create("x" * 250) == KafkaError.TOPIC_EXCEPTION
    assert create("..") == KafkaError.TOPIC_EXCEPTION
    assert create(fresh(), partitions=0) == KafkaError.INVALID_PARTITIONS
    assert create(fresh(), replicas=7) == KafkaError.INVALID_REPLICATION_FACTOR
    assert create(fresh(), retention_ms="soon") == KafkaError.INVALID_CONFIG
    assert create(fresh(), no_such_config="1") == KafkaError.INVALID_CONFIG
    assert create(fresh(), cleanup_policy="burn") == KafkaError.INVALID_CONFIG
    missing = fresh()
    assert refusal(admin.delete_topics([missing])[missing]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert refusal(admin.describe_topics(TopicCollection([missing]))[missing]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_names_that_collide_in_metrics_are_refused(admin: AdminClient, fresh: Fresh) -> None:
    dotted = fresh().replace("-", ".")
    admin.create_topics([NewTopic(dotted, 1, 1)])[dotted].result(20)
    barred = dotted.replace(".", "_")
    assert refusal(admin.create_topics([NewTopic(barred, 1, 1)])[barred]) == KafkaError.TOPIC_EXCEPTION


def test_validation_alone_creates_nothing(admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    admin.create_topics([NewTopic(topic, 3, 1)], validate_only=True)[topic].result(20)
    assert topic not in admin.list_topics(timeout=30).topics


def test_defaults_fill_in_partitions_and_replicas(admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    admin.create_topics([NewTopic(topic)])[topic].result(20)
    wait_for_topic(admin, topic, 1)


@one_node
def test_a_manual_assignment_is_honoured(admin: AdminClient, fresh: Fresh) -> None:
    topic = fresh()
    (broker,) = admin.list_topics(timeout=30).brokers
    admin.create_topics([NewTopic(topic, 2, replica_assignment=[[broker], [broker]])])[topic].result(20)
    wait_for_topic(admin, topic, 2)
    wrong = fresh()
    refused = admin.create_topics([NewTopic(wrong, 1, replica_assignment=[[broker + 1000]])])[wrong]
    assert refusal(refused) == KafkaError.INVALID_REPLICA_ASSIGNMENT


def test_partitions_are_added_and_never_taken(bootstrap: str, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(20)
    wait_for_topic(admin, topic, 5)
    fill(bootstrap, topic, 3, partition=4)
    assert refusal(admin.create_partitions([NewPartitions(topic, 3)])[topic]) == KafkaError.INVALID_PARTITIONS
    assert refusal(admin.create_partitions([NewPartitions(topic, 5)])[topic]) == KafkaError.INVALID_PARTITIONS
    missing = topic + "-missing"
    refused = admin.create_partitions([NewPartitions(missing, 5)])[missing]
    assert refusal(refused) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_topic_configs_are_altered_one_by_one(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="1000000")

    def alter(name: str, operation: AlterConfigOpType, value: str | None) -> Any:
        entry = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        return admin.incremental_alter_configs([resource])[resource]

    first = configs(admin, topic)
    assert first["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert not first["retention.ms"].is_default
    assert first["segment.bytes"].value == "1073741824"
    assert first["segment.bytes"].source == ConfigSource.DEFAULT_CONFIG.value
    alter("segment.bytes", AlterConfigOpType.SET, "10000000").result(20)
    alter("cleanup.policy", AlterConfigOpType.APPEND, "compact").result(20)
    until(lambda: configs(admin, topic)["segment.bytes"].value == "10000000", "the new segment size")
    assert configs(admin, topic)["cleanup.policy"].value == "delete,compact"
    assert configs(admin, topic)["retention.ms"].value == "1000000"
    alter("cleanup.policy", AlterConfigOpType.SUBTRACT, "compact").result(20)
    alter("segment.bytes", AlterConfigOpType.DELETE, None).result(20)
    until(lambda: configs(admin, topic)["segment.bytes"].value == "1073741824", "the default segment size")
    assert configs(admin, topic)["cleanup.policy"].value == "delete"
    assert refusal(alter("retention.ms", AlterConfigOpType.SET, "soon")) == KafkaError.INVALID_CONFIG
    assert refusal(alter("no.such.config", AlterConfigOpType.SET, "1")) == KafkaError.INVALID_CONFIG
    assert refusal(alter("segment.bytes", AlterConfigOpType.APPEND, "1")) == KafkaError.INVALID_CONFIG


@pytest.mark.filterwarnings("ignore:alter_configs")
def test_the_older_alter_replaces_everything(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="1000000", segment_bytes="10000000")
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.bytes": "777"})
    admin.alter_configs([resource])[resource].result(20)
    until(lambda: configs(admin, topic)["retention.bytes"].value == "777", "the new value")
    assert configs(admin, topic)["retention.ms"].value == "604800000"
    assert configs(admin, topic)["segment.bytes"].value == "1073741824"


@one_node
def test_broker_configs_are_described(admin: AdminClient) -> None:
    (broker,) = admin.list_topics(timeout=30).brokers
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    described = admin.describe_configs([resource])[resource].result(20)
    assert described["log.segment.bytes"].value == "1073741824"
    assert described["message.max.bytes"].value == "12000000"
    assert described["message.max.bytes"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert described["node.id"].value == str(broker)
    assert len(described) > 200


@one_node
def test_a_brokers_dynamic_config_reaches_its_topics(bootstrap: str, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    (broker,) = admin.list_topics(timeout=30).brokers
    entry = ConfigEntry("log.segment.bytes", "123456789", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)
    try:
        until(lambda: configs(admin, topic)["segment.bytes"].value == "123456789", "the broker's default on the topic")
        assert configs(admin, topic)["segment.bytes"].source == ConfigSource.DYNAMIC_BROKER_CONFIG.value
    finally:
        undo = ConfigEntry("log.segment.bytes", None, incremental_operation=AlterConfigOpType.DELETE)
        resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[undo])
        admin.incremental_alter_configs([resource])[resource].result(20)
    until(lambda: configs(admin, topic)["segment.bytes"].value == "1073741824", "Kafka's default again")


def test_records_are_deleted_up_to_an_offset(bootstrap: str, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(bootstrap, topic, 100)

    def delete(offset: int) -> Any:
        place = TopicPartition(topic, 0, offset)
        return next(iter(admin.delete_records([place]).values()))

    assert delete(40).result(20).low_watermark == 40
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "auto.offset.reset": "earliest"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30) == (40, 100)
    consumer.assign([TopicPartition(topic, 0, 0)])
    first = until(lambda: consumer.poll(0.2), "a record")
    assert first.error() is None and first.offset() == 40
    assert refusal(delete(500)) == KafkaError.OFFSET_OUT_OF_RANGE
    assert delete(-1).result(20).low_watermark == 100  # -1: up to the high watermark
    consumer.close()


def test_offsets_are_listed_by_every_specification(bootstrap: str, admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    now = int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": bootstrap})
    for index, stamp in enumerate([100, 300, 900, 500, 200]):
        producer.produce(topic, b"%d" % index, timestamp=now + stamp)
        assert producer.flush(20) == 0
    place = TopicPartition(topic, 0)

    def at(specification: OffsetSpec) -> tuple[int, int]:
        found = admin.list_offsets({place: specification})[place].result(20)
        return found.offset, found.timestamp

    assert at(OffsetSpec.earliest()) == (0, -1)
    assert at(OffsetSpec.latest()) == (5, -1)
    assert at(OffsetSpec.max_timestamp()) == (2, now + 900)
    assert at(OffsetSpec.for_timestamp(now + 400)) == (2, now + 900)
    assert at(OffsetSpec.for_timestamp(now + 901)) == (-1, -1)


def test_groups_are_listed_described_and_deleted(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(2), fresh()
    fill(bootstrap, topic, 5)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "client.id": "someone"}
    )
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1), "a record")
    listed = {one.group_id: one for one in admin.list_consumer_groups().result(20).valid}
    assert listed[group].state == ConsumerGroupState.STABLE
    assert listed[group].type == ConsumerGroupType.CLASSIC
    assert not listed[group].is_simple_consumer_group
    only = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(20).valid
    assert group not in {one.group_id for one in only}
    described = admin.describe_consumer_groups([group])[group].result(20)
    assert described.state == ConsumerGroupState.STABLE
    assert described.partition_assignor == "range"
    (member,) = described.members
    assert member.client_id == "someone"
    assert member.host.strip("/") == "127.0.0.1"
    assert {(p.topic, p.partition) for p in member.assignment.topic_partitions} == {(topic, 0), (topic, 1)}
    assert refusal(admin.delete_consumer_groups([group])[group]) == KafkaError.NON_EMPTY_GROUP
    consumer.close()
    until(
        lambda: admin.describe_consumer_groups([group])[group].result(20).state == ConsumerGroupState.EMPTY,
        "the group is empty",
    )
    admin.delete_consumer_groups([group])[group].result(20)
    assert group not in {one.group_id for one in admin.list_consumer_groups().result(20).valid}
    assert refusal(admin.delete_consumer_groups([group])[group]) == KafkaError.GROUP_ID_NOT_FOUND


def test_a_groups_offsets_are_altered_and_listed(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(2), fresh()
    fill(bootstrap, topic, 50)
    places = [TopicPartition(topic, 0, 30), TopicPartition(topic, 1, 0)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(20)
    listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(20)
    assert sorted((p.partition, p.offset) for p in listed.topic_partitions) == [(0, 30), (1, 0)]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    first = until(lambda: consumer.poll(0.1), "a record")
    assert first.offset() == 30
    refused = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group]
    with pytest.raises(KafkaException) as failed:
        result = refused.result(20)
        for place in result.topic_partitions:
            if place.error:
                raise KafkaException(place.error)
    assert failed.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    consumer.close()


def test_deleting_a_topic_forgets_its_offsets(
    bootstrap: str, admin: AdminClient, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(1), fresh()
    fill(bootstrap, topic, 10)
    stored = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 7)])
    admin.alter_consumer_group_offsets([stored])[group].result(20)
    admin.delete_topics([topic])[topic].result(20)
    until(lambda: topic not in admin.list_topics(timeout=30).topics, "the topic is gone")

    def forgotten() -> bool:
        try:
            listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(20)
        except KafkaException as error:  # the group had nothing else and may be gone with its last offset
            return error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
        return [p for p in listed.topic_partitions if p.offset >= 0] == []

    until(forgotten, "the offsets are gone")


@one_node
def test_the_cluster_is_described(bootstrap: str, admin: AdminClient) -> None:
    described = admin.describe_cluster().result(20)
    (node,) = described.nodes
    assert f"{node.host}:{node.port}" == bootstrap
    assert described.controller.id == node.id
    assert described.cluster_id == admin.list_topics(timeout=30).cluster_id
    assert len(described.cluster_id) == 22
