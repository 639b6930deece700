"""DescribeConfigs and ListConfigResources: every name, its value, where it comes from and what stands behind it."""

from __future__ import annotations

import pytest

from tapelog.base.config import BROKER_ROWS
from tapelog.base.kafka_configs import INTERNAL
from tapelog.metadata.config_layers import Layers, effective_topic_config
from tapelog.metadata.describe_configs import (
    ConfigView,
    describe_configs_response,
    list_config_resources_response,
)
from tapelog.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
)
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.describe_configs_response import DescribeConfigsResourceResult, DescribeConfigsResult
from tapelog.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from tests.unit.metadata.harness import Cluster
from tests.unit.metadata.test_alter_configs import SET, alter, resource, with_topic


def describe(
    cluster: Cluster, kind: int, name: str, keys: list[str] | None = None, documentation: bool = False
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)],
        include_synonyms=True,
        include_documentation=documentation,
    )
    (result,) = describe_configs_response(ConfigView(cluster.image, cluster.settings, 1), request).results
    return result


def by_name(result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
    return {config.name: config for config in result.configs}


def synonyms(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


def test_a_topic_shows_every_public_name_with_its_source() -> None:
    cluster = with_topic({"log.retention.hours": "2"})
    alter(cluster, resource(RESOURCE_TOPIC, "t", ("cleanup.policy", SET, "compact")))
    configs = by_name(describe(cluster, RESOURCE_TOPIC, "t"))
    assert len(configs) == 39
    policy = configs["cleanup.policy"]
    assert (policy.value, policy.config_source, policy.config_type, policy.read_only) == ("compact", 1, 7, False)
    assert synonyms(policy) == [("cleanup.policy", "compact", 1), ("log.cleanup.policy", "delete", 5)]
    assert configs["retention.ms"].value == "7200000"
    assert configs["tapelog.flush"].value == "fsync"


def test_broker_values_are_resolved_layer_by_layer() -> None:
    cluster = with_topic({"log.retention.ms": "100", "log.retention.hours": "2"})
    alter(
        cluster,
        resource(RESOURCE_BROKER, "", ("log.retention.ms", SET, "200")),
        resource(RESOURCE_BROKER, "1", ("log.retention.ms", SET, "300")),
    )
    retention = by_name(describe(cluster, RESOURCE_BROKER, "1"))["log.retention.ms"]
    assert (retention.value, retention.config_source, retention.read_only) == ("300", 2, False)
    assert synonyms(retention) == [
        ("log.retention.ms", "300", 2),
        ("log.retention.ms", "200", 3),
        ("log.retention.ms", "100", 4),
        ("log.retention.hours", "2", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert Layers(cluster.image, cluster.settings, 1).text("log.retention.ms") == "300"
    assert Layers(cluster.image, cluster.settings, 2).text("log.retention.ms") == "200"
    topic = by_name(describe(cluster, RESOURCE_TOPIC, "t"))["retention.ms"]
    assert (topic.value, topic.config_source) == ("300", 2)


def test_every_kafka_broker_name_is_described() -> None:
    cluster = Cluster()
    configs = by_name(describe(cluster, RESOURCE_BROKER, "1"))
    assert set(configs) == set(BROKER_ROWS) - INTERNAL
    assert configs["num.io.threads"].read_only is False
    assert configs["num.partitions"].read_only is True


def test_the_default_broker_shows_only_what_was_set_for_all() -> None:
    cluster = Cluster(settings={"num.partitions": "3"})
    assert describe(cluster, RESOURCE_BROKER, "").configs == []
    alter(cluster, resource(RESOURCE_BROKER, "", ("log.retention.ms", SET, "200")))
    (config,) = describe(cluster, RESOURCE_BROKER, "").configs
    assert (config.name, config.value, config.config_source) == ("log.retention.ms", "200", 3)
    assert synonyms(config) == [("log.retention.ms", "200", 3)]


def test_secrets_are_never_shown() -> None:
    cluster = Cluster(settings={"ssl.keystore.password": "swordfish"})
    password = by_name(describe(cluster, RESOURCE_BROKER, "1"))["ssl.keystore.password"]
    assert (password.value, password.is_sensitive, password.config_source) == (None, True, 4)
    assert synonyms(password) == [("ssl.keystore.password", None, 4)]


def test_only_the_wanted_names_and_synonyms_when_asked() -> None:
    cluster = with_topic()
    result = describe(cluster, RESOURCE_TOPIC, "t", ["retention.ms", "no.such.name"])
    assert [config.name for config in result.configs] == ["retention.ms"]
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=RESOURCE_TOPIC, resource_name="t", configuration_keys=None)]
    )
    (plain,) = describe_configs_response(ConfigView(cluster.image, cluster.settings, 1), request).results
    assert all(not config.synonyms and config.documentation is None for config in plain.configs)


def test_what_is_not_enforced_says_so() -> None:
    configs = by_name(describe(with_topic(), RESOURCE_TOPIC, "t", documentation=True))
    assert configs["preallocate"].documentation == "preallocate has no effect here."
    assert configs["retention.ms"].documentation == ""
    broker = by_name(describe(with_topic(), RESOURCE_BROKER, "1", documentation=True))
    assert broker["num.io.threads"].documentation == "num.io.threads has no effect here."
    assert broker["ssl.keystore.location"].documentation == (
        "Only the default is accepted: SSL is not available yet, only PLAINTEXT is."
    )


def test_groups_show_their_overrides_over_the_brokers_defaults() -> None:
    cluster = Cluster(settings={"group.consumer.heartbeat.interval.ms": "6000"})
    alter(cluster, resource(RESOURCE_GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")))
    configs = by_name(describe(cluster, RESOURCE_GROUP, "g"))
    assert len(configs) == 17
    timeout = configs["consumer.session.timeout.ms"]
    assert (timeout.value, timeout.config_source) == ("50000", 8)
    beat = configs["consumer.heartbeat.interval.ms"]
    assert (beat.value, beat.config_source) == ("6000", 4)
    assert configs["share.auto.offset.reset"].value == "latest"


def test_client_metrics_show_defaults_until_set() -> None:
    cluster = Cluster()
    alter(cluster, resource(RESOURCE_CLIENT_METRICS, "m", ("interval.ms", SET, "1000")))
    configs = by_name(describe(cluster, RESOURCE_CLIENT_METRICS, "m"))
    assert {name: (c.value, c.config_source) for name, c in configs.items()} == {
        "interval.ms": ("1000", 7),
        "match": ("", 5),
        "metrics": ("", 5),
    }


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (RESOURCE_TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (RESOURCE_TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (RESOURCE_BROKER, "2", ErrorCode.INVALID_REQUEST),
        (RESOURCE_BROKER, "x", ErrorCode.INVALID_REQUEST),
        (RESOURCE_BROKER_LOGGER, "", ErrorCode.INVALID_REQUEST),
        (RESOURCE_BROKER_LOGGER, "1", ErrorCode.NONE),
        (RESOURCE_GROUP, "", ErrorCode.INVALID_REQUEST),
        (RESOURCE_CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST),
        (3, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(kind: int, name: str, code: ErrorCode) -> None:
    assert describe(Cluster(), kind, name).error_code == code


def test_config_resources_are_listed_by_type() -> None:
    cluster = with_topic()
    alter(
        cluster,
        resource(RESOURCE_GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        resource(RESOURCE_CLIENT_METRICS, "m", ("interval.ms", SET, "1000")),
    )
    view = ConfigView(cluster.image, cluster.settings, 1)

    def listed(version: int, *types: int) -> list[tuple[int, str]]:
        request = ListConfigResourcesRequest(resource_types=list(types))
        response = list_config_resources_response(view, request, version, group_ids=["h"])
        assert response.error_code == 0
        return [(item.resource_type, item.resource_name) for item in response.config_resources]

    assert listed(0) == [(16, "m")]
    assert listed(1) == [(2, "t"), (4, "1"), (8, "1"), (16, "m"), (32, "g"), (32, "h")]
    assert listed(1, 32, 2) == [(2, "t"), (32, "g"), (32, "h")]
    refused = list_config_resources_response(view, ListConfigResourcesRequest(resource_types=[3]), 1)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_log_gets_numbers_in_plain_notation_and_the_hidden_segment_size() -> None:
    cluster = with_topic({"log.roll.hours": "1", "log.retention.minutes": "-1"})
    change = resource(RESOURCE_TOPIC, "t", ("max.message.bytes", SET, " 77 "), ("internal.segment.bytes", SET, "1000"))
    assert alter(cluster, change) == [0]
    values = effective_topic_config(cluster.image, cluster.settings, 1, "t")
    assert values["max.message.bytes"] == "77"
    assert values["segment.bytes"] == "1000"
    assert values["segment.ms"] == "3600000"
    assert values["retention.ms"] == "-1"
    assert "internal.segment.bytes" not in values
