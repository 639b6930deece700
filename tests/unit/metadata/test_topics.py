"""CreateTopics, DeleteTopics and CreatePartitions: what is refused, with which code, and what comes into being."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.metadata import topic_names, topics
from tapelog.metadata.image import RESOURCE_TOPIC
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tapelog.wire.messages.create_partitions_response import CreatePartitionsResponse
from tapelog.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tapelog.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tapelog.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tapelog.wire.primitives import ZERO_UUID
from tests.unit.metadata.harness import Cluster


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def assigned(name: str, *replicas: tuple[int, list[int]], partitions: int = -1, factor: int = -1) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in replicas],
    )


def create(cluster: Cluster, *wanted: CreatableTopic, validate_only: bool = False) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(wanted), validate_only=validate_only)
    response: CreateTopicsResponse = cluster.run(lambda image: cluster.controller.create_topics(image, request))
    return response.topics


def delete(cluster: Cluster, *wanted: tuple[str | None, bytes], version: int = 6) -> list[DeletableTopicResult]:
    if version >= 6:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=id) for name, id in wanted])
    else:
        request = DeleteTopicsRequest(topic_names=[name for name, _ in wanted if name is not None])
    response: DeleteTopicsResponse = cluster.run(
        lambda image: cluster.controller.delete_topics(image, request, version)
    )
    return response.responses


def grow(cluster: Cluster, *wanted: CreatePartitionsTopic, validate_only: bool = False) -> list[Any]:
    request = CreatePartitionsRequest(topics=list(wanted), validate_only=validate_only)
    response: CreatePartitionsResponse = cluster.run(lambda image: cluster.controller.create_partitions(image, request))
    return response.results


def test_a_created_topic_is_in_the_image_with_partitions_and_configs() -> None:
    cluster = Cluster()
    (result,) = create(cluster, topic("orders", 3, retention_ms="1000"))
    assert result.error_code == ErrorCode.NONE
    assert (result.num_partitions, result.replication_factor) == (3, 1)
    created = cluster.image.topics["orders"]
    assert created.id == result.topic_id
    assert created.id == cluster.image.topics_by_id[created.id].id
    assert [(p.leader, p.isr, p.replicas, p.leader_epoch) for p in created.partitions] == [(1, (1,), (1,), 0)] * 3
    assert created.partitions[0].directories == (bytes([1]) * 16,)
    assert cluster.image.config(RESOURCE_TOPIC, "orders") == {"retention.ms": "1000"}


def test_the_answer_tells_effective_configs_and_their_source() -> None:
    cluster = Cluster(settings={"log.segment.bytes": "2000000"})
    (result,) = create(cluster, topic("orders", retention_ms="1000"))
    told = {config.name: (config.value, config.config_source) for config in result.configs or []}
    assert told["retention.ms"] == ("1000", 1)
    assert told["segment.bytes"] == ("2000000", 4)
    assert told["cleanup.policy"] == ("delete", 5)
    assert "internal.segment.bytes" not in told


def test_defaults_for_partitions_and_replication_come_from_the_settings() -> None:
    cluster = Cluster(brokers=3, settings={"num.partitions": "4", "default.replication.factor": "2"})
    (result,) = create(cluster, topic("orders", -1, -1))
    assert (result.num_partitions, result.replication_factor) == (4, 2)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a b", "é", "x" * 250, "a/b", "a\0b"], ids=lambda name: repr(name)[:12]
)
def test_illegal_names_are_refused(name: str) -> None:
    (result,) = create(Cluster(), topic(name))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message


def test_the_longest_legal_name_is_accepted() -> None:
    (result,) = create(Cluster(), topic("x" * topic_names.NAME_LENGTH_MAX))
    assert result.error_code == ErrorCode.NONE


def test_an_existing_topic_is_not_created_again() -> None:
    cluster = Cluster()
    create(cluster, topic("orders"))
    (result,) = create(cluster, topic("orders"))
    assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_names_that_differ_only_in_dot_and_underscore_collide() -> None:
    cluster = Cluster()
    create(cluster, topic("a.b"))
    (result,) = create(cluster, topic("a_b"))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    first, second = create(cluster, topic("c.d"), topic("c_d"))
    assert (first.error_code, second.error_code) == (ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_a_name_given_twice_is_refused_once() -> None:
    cluster = Cluster()
    (result,) = create(cluster, topic("orders"), topic("orders", 2))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert "orders" not in cluster.image.topics


def test_one_bad_topic_does_not_stop_the_others() -> None:
    cluster = Cluster()
    results = create(cluster, topic("good"), topic("b ad"), topic("fine"))
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert list(cluster.image.topics) == ["good", "fine"]


def test_the_metadata_log_cannot_be_created_as_a_topic() -> None:
    (result,) = create(Cluster(), topic("__cluster_metadata"))
    assert result.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("partitions", [0, -2])
def test_a_topic_needs_partitions(partitions: int) -> None:
    (result,) = create(Cluster(), topic("orders", partitions))
    assert result.error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("factor", [0, -2, 2])
def test_the_replication_factor_is_from_one_to_the_number_of_brokers(factor: int) -> None:
    (result,) = create(Cluster(), topic("orders", 1, factor))
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_nothing_is_created_while_every_broker_is_fenced() -> None:
    cluster = Cluster(brokers=0)
    cluster.register(1, fenced=True)
    (result,) = create(cluster, topic("orders"))
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_one_request_may_not_create_too_many_partitions() -> None:
    cluster = Cluster()
    (result,) = create(cluster, topic("orders", topics.RECORDS_PER_REQUEST_MAX + 1))
    assert result.error_code == ErrorCode.POLICY_VIOLATION
    first, second = create(cluster, topic("a", 6000), topic("b", 6000))
    assert (first.error_code, second.error_code) == (0, ErrorCode.POLICY_VIOLATION)


def test_validate_only_answers_and_creates_nothing() -> None:
    cluster = Cluster()
    before = cluster.image
    (result,) = create(cluster, topic("orders", 3), validate_only=True)
    assert (result.error_code, result.num_partitions, result.topic_id) == (0, 3, ZERO_UUID)
    assert cluster.image is before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no.such.name", "1"),
        ("retention.ms", "abc"),
        ("retention.ms", "-2"),
        ("retention.ms", ""),
        ("cleanup.policy", "shred"),
        ("compression.type", "brotli"),
        ("min.insync.replicas", "0"),
        ("segment.bytes", "10"),
        ("segment.bytes", "99999999999"),
        ("segment.bytes", "1e6"),
        ("preallocate", "maybe"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("compression.gzip.level", "0"),
        ("message.timestamp.type", "createTime"),
        ("leader.replication.throttled.replicas", "abc"),
        ("remote.storage.enable", "true"),
        ("tapelog.flush", "sometimes"),
    ],
)
def test_bad_configs_are_refused(name: str, value: str) -> None:
    bad = CreatableTopic(
        name="orders", num_partitions=1, replication_factor=1, configs=[CreatableTopicConfig(name=name, value=value)]
    )
    (result,) = create(Cluster(), bad)
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert name in (result.error_message or "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("segment.bytes", " 2000000 "),
        ("leader.replication.throttled.replicas", "*"),
        ("leader.replication.throttled.replicas", "0:1,1:1"),
        ("compression.gzip.level", "-1"),
        ("tapelog.flush", "page-cache"),
        ("internal.segment.bytes", "10000"),
    ],
)
def test_good_configs_are_accepted(name: str, value: str) -> None:
    good = CreatableTopic(
        name="orders", num_partitions=1, replication_factor=1, configs=[CreatableTopicConfig(name=name, value=value)]
    )
    (result,) = create(Cluster(), good)
    assert result.error_code == ErrorCode.NONE


def test_configs_that_contradict_each_other_are_refused() -> None:
    (result,) = create(Cluster(), topic("orders", min_compaction_lag_ms="5", max_compaction_lag_ms="1"))
    assert result.error_code == ErrorCode.INVALID_CONFIG


def test_a_config_without_value_is_refused() -> None:
    bad = CreatableTopic(
        name="t",
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="retention.ms", value=None)],
    )
    (result,) = create(Cluster(), bad)
    assert result.error_code == ErrorCode.INVALID_CONFIG


def test_a_manual_assignment_is_followed() -> None:
    cluster = Cluster(brokers=3)
    (result,) = create(cluster, assigned("orders", (1, [3, 1]), (0, [2, 3])))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 2)
    assert [p.replicas for p in cluster.image.topics["orders"].partitions] == [(2, 3), (3, 1)]
    assert [p.leader for p in cluster.image.topics["orders"].partitions] == [2, 3]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (assigned("t", (0, [1]), partitions=1), ErrorCode.INVALID_REQUEST),
        (assigned("t", (0, [1]), factor=1), ErrorCode.INVALID_REQUEST),
        (assigned("t", (0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (0, [9])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (0, [1]), (2, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("t", (0, [1]), (1, [1, 2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_manual_assignment_must_make_sense(wanted: CreatableTopic, code: ErrorCode) -> None:
    (result,) = create(Cluster(brokers=2), wanted)
    assert result.error_code == code


def test_delete_by_name_and_by_id() -> None:
    cluster = Cluster()
    by_name, by_id = create(cluster, topic("a"), topic("b"))
    results = delete(cluster, ("a", ZERO_UUID), (None, by_id.topic_id))
    assert [(r.name, r.topic_id, r.error_code) for r in results] == [
        ("a", by_name.topic_id, 0),
        ("b", by_id.topic_id, 0),
    ]
    assert not cluster.image.topics
    assert not cluster.image.topics_by_id


def test_delete_drops_configs_and_recreation_gives_a_new_id() -> None:
    cluster = Cluster()
    (first,) = create(cluster, topic("orders", retention_ms="5"))
    delete(cluster, ("orders", ZERO_UUID), version=5)
    assert not cluster.image.configs
    (second,) = create(cluster, topic("orders"))
    assert second.error_code == 0
    assert second.topic_id != first.topic_id
    assert cluster.image.topics_by_id.get(first.topic_id) is None
    (gone,) = delete(cluster, (None, first.topic_id))
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ([("nope", ZERO_UUID)], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([(None, bytes([7]) * 16)], ErrorCode.UNKNOWN_TOPIC_ID),
        ([(None, ZERO_UUID)], ErrorCode.INVALID_REQUEST),
        ([("a", bytes([7]) * 16)], ErrorCode.INVALID_REQUEST),
        ([("a", ZERO_UUID), ("a", ZERO_UUID)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_deletion_must_name_one_topic_once(wanted: list[tuple[str | None, bytes]], code: ErrorCode) -> None:
    cluster = Cluster()
    create(cluster, topic("a"))
    results = delete(cluster, *wanted)
    assert [result.error_code for result in results] == [code]
    assert "a" in cluster.image.topics


def test_a_topic_named_and_identified_is_deleted_once() -> None:
    cluster = Cluster()
    (made,) = create(cluster, topic("a"))
    results = delete(cluster, ("a", ZERO_UUID), (None, made.topic_id))
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(("version", "code"), [(6, ErrorCode.TOPIC_DELETION_DISABLED), (2, ErrorCode.INVALID_REQUEST)])
def test_deletion_can_be_disabled(version: int, code: ErrorCode) -> None:
    cluster = Cluster(settings={"delete.topic.enable": "false"})
    create(cluster, topic("a"))
    (result,) = delete(cluster, ("a", ZERO_UUID), version=version)
    assert result.error_code == code


def test_partitions_are_added_behind_the_existing_ones() -> None:
    cluster = Cluster(brokers=3)
    create(cluster, topic("a", 2, 2))
    before = cluster.image.topics["a"]
    (result,) = grow(cluster, CreatePartitionsTopic(name="a", count=5, assignments=None))
    assert result.error_code == 0
    after = cluster.image.topics["a"]
    assert after.id == before.id
    assert after.partitions[:2] == before.partitions
    assert [len(p.replicas) for p in after.partitions] == [2] * 5


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (CreatePartitionsTopic(name="nope", count=3, assignments=None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CreatePartitionsTopic(name="a", count=2, assignments=None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic(name="a", count=1, assignments=None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic(name="a", count=-1, assignments=None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic(name="a", count=20_000, assignments=None), ErrorCode.POLICY_VIOLATION),
        (CreatePartitionsTopic(name="a", count=3, assignments=[]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (
            CreatePartitionsTopic(name="a", count=3, assignments=[CreatePartitionsAssignment(broker_ids=[9])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            CreatePartitionsTopic(name="a", count=3, assignments=[CreatePartitionsAssignment(broker_ids=[1, 2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_bad_growth_is_refused(wanted: CreatePartitionsTopic, code: ErrorCode) -> None:
    cluster = Cluster(brokers=2)
    create(cluster, topic("a", 2))
    (result,) = grow(cluster, wanted)
    assert result.error_code == code
    assert len(cluster.image.topics["a"].partitions) == 2


def test_growth_can_be_tried_without_effect_and_a_repeated_name_is_refused() -> None:
    cluster = Cluster()
    create(cluster, topic("a"))
    wanted = CreatePartitionsTopic(name="a", count=3, assignments=None)
    (result,) = grow(cluster, wanted, validate_only=True)
    assert result.error_code == 0
    (repeated,) = grow(cluster, wanted, wanted)
    assert repeated.error_code == ErrorCode.INVALID_REQUEST
    assert len(cluster.image.topics["a"].partitions) == 1


@pytest.mark.parametrize(("brokers", "factor"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_internal_topics_have_fifty_partitions_and_at_most_three_replicas(brokers: int, factor: int) -> None:
    cluster = Cluster(brokers=brokers)
    names = list(topic_names.INTERNAL_TOPICS)
    response = cluster.run(lambda image: cluster.controller.auto_create_topics(image, names))
    assert [result.error_code for result in response.topics] == [0, 0, 0]
    for name in names:
        partitions = cluster.image.topics[name].partitions
        assert len(partitions) == 50
        assert {len(partition.replicas) for partition in partitions} == {factor}
    offsets = cluster.image.topic_config("__consumer_offsets")
    assert offsets == {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    state = cluster.image.topic_config("__transaction_state")
    assert state["cleanup.policy"] == "compact"
    assert int(state["min.insync.replicas"]) == min(2, factor)
    assert cluster.image.topic_config("__share_group_state")["retention.ms"] == "-1"


def test_auto_creation_uses_the_defaults_and_reports_what_cannot_be() -> None:
    cluster = Cluster(settings={"num.partitions": "6"})
    response = cluster.run(lambda image: cluster.controller.auto_create_topics(image, ["a", "b ad"]))
    assert [result.error_code for result in response.topics] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert len(cluster.image.topics["a"].partitions) == 6


@pytest.mark.parametrize("separators", [1, 5, 12])
def test_collisions_are_found_whatever_the_number_of_separators(separators: int) -> None:
    cluster = Cluster()
    create(cluster, topic("x" + ".a" * separators), topic("other"))
    (result,) = create(cluster, topic("x" + "_a" * separators))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    (fine,) = create(cluster, topic("y" + "_a" * separators))
    assert fine.error_code == 0
