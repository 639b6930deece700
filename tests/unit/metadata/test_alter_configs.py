"""AlterConfigs and IncrementalAlterConfigs for every kind of resource."""

from __future__ import annotations

import pytest

from tapelog.metadata.configs import APPEND, DELETE, SET, SUBTRACT
from tapelog.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
)
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages import alter_configs_request as legacy
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.metadata.harness import Cluster

Change = tuple[str, int, str | None]


def with_topic(settings: dict[str, str] | None = None) -> Cluster:
    cluster = Cluster(settings=settings)
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
    cluster.run(lambda image: cluster.controller.create_topics(image, request))
    return cluster


def resource(kind: int, name: str, *changes: Change) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(cluster: Cluster, *resources: AlterConfigsResource, validate_only: bool = False) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    response = cluster.run(lambda image: cluster.controller.incremental_alter_configs(image, request))
    assert [(r.resource_type, r.resource_name) for r in response.responses] == [
        (r.resource_type, r.resource_name) for r in resources
    ]
    return [r.error_code for r in response.responses]


def replace(cluster: Cluster, kind: int, name: str, **values: str | None) -> int:
    configs = [legacy.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()]
    request = legacy.AlterConfigsRequest(
        resources=[legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)]
    )
    response = cluster.run(lambda image: cluster.controller.alter_configs(image, request))
    code: int = response.responses[0].error_code
    return code


def test_set_and_delete_change_only_what_they_name() -> None:
    cluster = with_topic()
    both = resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "6"))
    assert alter(cluster, both) == [0]
    assert alter(cluster, resource(RESOURCE_TOPIC, "t", ("retention.ms", DELETE, None))) == [0]
    assert cluster.image.topic_config("t") == {"segment.ms": "6"}
    assert cluster.published[-1][1].changed_configs == {(RESOURCE_TOPIC, "t"): None}


def test_append_and_subtract_work_on_lists_from_the_inherited_value_on() -> None:
    cluster = with_topic({"log.cleanup.policy": "delete"})
    steps = [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
    ]
    for operation, value, expected in steps:
        assert alter(cluster, resource(RESOURCE_TOPIC, "t", ("cleanup.policy", operation, value))) == [0]
        assert cluster.image.topic_config("t")["cleanup.policy"] == expected


@pytest.mark.parametrize("name", ["retention.ms", "no.such.name"])
def test_append_needs_a_list(name: str) -> None:
    assert alter(with_topic(), resource(RESOURCE_TOPIC, "t", (name, APPEND, "1"))) == [ErrorCode.INVALID_CONFIG]


def test_a_resource_is_all_or_nothing_and_stands_for_itself() -> None:
    cluster = with_topic()
    codes = alter(
        cluster,
        resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "no")),
        resource(RESOURCE_BROKER, "1", ("log.retention.ms", SET, "7")),
    )
    assert codes == [ErrorCode.INVALID_CONFIG, 0]
    assert cluster.image.topic_config("t") == {}
    assert cluster.image.config(RESOURCE_BROKER, "1") == {"log.retention.ms": "7"}


def test_validate_only_changes_nothing() -> None:
    cluster = with_topic()
    before = cluster.image
    assert alter(cluster, resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5")), validate_only=True) == [0]
    assert cluster.image is before


def test_setting_the_same_value_writes_no_record() -> None:
    cluster = with_topic()
    change = resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5"))
    alter(cluster, change)
    before = cluster.port.end_offset
    assert alter(cluster, change) == [0]
    assert cluster.port.end_offset == before


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (resource(RESOURCE_TOPIC, "nope", ("retention.ms", SET, "5")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(RESOURCE_TOPIC, "a b", ("retention.ms", SET, "5")), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (resource(RESOURCE_TOPIC, "", ("retention.ms", SET, "5")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, None)), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_TOPIC, "t", ("retention.ms", 9, "5")), ErrorCode.INVALID_REQUEST),
        (
            resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5"), ("retention.ms", SET, "6")),
            ErrorCode.INVALID_REQUEST,
        ),
        (resource(RESOURCE_TOPIC, "t", ("no.such.name", SET, "5")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_TOPIC, "t", ("no.such.name", DELETE, None)), ErrorCode.NONE),
        (resource(RESOURCE_BROKER, "1", ("num.partitions", SET, "5")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "1", ("no.such.name", SET, "5")), ErrorCode.NONE),
        (resource(RESOURCE_BROKER, "1", ("log.segment.bytes", SET, "abc")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "9", ("log.retention.ms", SET, "5")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "x", ("log.retention.ms", SET, "5")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "", ("listeners", SET, "PLAINTEXT://:1")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "", ("max.connections", SET, "0")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER, "", ("log.retention.ms", SET, "5")), ErrorCode.NONE),
        (resource(RESOURCE_BROKER, "1", ("leader.replication.throttled.rate", SET, "5")), ErrorCode.NONE),
        (resource(RESOURCE_BROKER, "1", ("listener.name.x.num.network.threads", SET, "9")), ErrorCode.NONE),
        (resource(RESOURCE_BROKER, "1", ("listener.name.x.num.network.threads", SET, "f")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_BROKER_LOGGER, "1", ("root", SET, "DEBUG")), ErrorCode.INVALID_REQUEST),
        (resource(3, "1", ("root", SET, "DEBUG")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_GROUP, "", ("consumer.session.timeout.ms", SET, "50000")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")), ErrorCode.NONE),
        (resource(RESOURCE_GROUP, "g", ("consumer.session.timeout.ms", SET, "5")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_GROUP, "g", ("consumer.session.timeout.ms", SET, "x")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_GROUP, "g", ("no.such.name", SET, "5")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_GROUP, "g", ("share.auto.offset.reset", SET, "by_duration:PT1H")), ErrorCode.NONE),
        (resource(RESOURCE_GROUP, "g", ("share.auto.offset.reset", SET, "never")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_CLIENT_METRICS, "", ("interval.ms", SET, "1000")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_CLIENT_METRICS, "m", ("interval.ms", SET, "1000")), ErrorCode.NONE),
        (resource(RESOURCE_CLIENT_METRICS, "m", ("interval.ms", SET, "1")), ErrorCode.INVALID_REQUEST),
        (resource(RESOURCE_CLIENT_METRICS, "m", ("match", SET, "colour=red")), ErrorCode.INVALID_CONFIG),
        (resource(RESOURCE_CLIENT_METRICS, "m", ("match", SET, "client_id=a.*")), ErrorCode.NONE),
    ],
)
def test_what_each_kind_of_resource_accepts(change: AlterConfigsResource, code: ErrorCode) -> None:
    assert alter(with_topic(), change) == [code]


def test_a_resource_given_twice_is_refused_twice() -> None:
    change = resource(RESOURCE_TOPIC, "t", ("retention.ms", SET, "5"))
    assert alter(with_topic(), change, change) == [ErrorCode.INVALID_REQUEST] * 2


def test_legacy_alter_replaces_all_overrides() -> None:
    cluster = with_topic()
    assert replace(cluster, RESOURCE_TOPIC, "t", retention_ms="5", segment_ms="6") == 0
    assert replace(cluster, RESOURCE_TOPIC, "t", flush_ms="7") == 0
    assert cluster.image.topic_config("t") == {"flush.ms": "7"}
    assert replace(cluster, RESOURCE_TOPIC, "t") == 0
    assert (RESOURCE_TOPIC, "t") not in cluster.image.configs


def test_legacy_alter_refuses_what_the_incremental_one_does() -> None:
    cluster = with_topic()
    assert replace(cluster, RESOURCE_TOPIC, "t", retention_ms=None) == ErrorCode.INVALID_REQUEST
    assert replace(cluster, RESOURCE_TOPIC, "t", retention_ms="x") == ErrorCode.INVALID_CONFIG
    assert replace(cluster, RESOURCE_TOPIC, "nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["01", "+1", " 1", "1_0", "one"])
def test_a_broker_is_named_as_it_writes_its_id(name: str) -> None:
    change = resource(RESOURCE_BROKER, name, ("log.retention.ms", SET, "5"))
    assert alter(with_topic(), change) == [ErrorCode.INVALID_REQUEST]
    assert alter(with_topic(), resource(RESOURCE_BROKER, "1", ("log.retention.ms", SET, "5"))) == [0]
