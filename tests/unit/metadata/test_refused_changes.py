"""Configuration changes of brokers: refused where they promise what is not done, and never shown as in force."""

from __future__ import annotations

import pytest

from tapelog.base.config import BrokerSettings
from tapelog.metadata.config_layers import Layers
from tapelog.metadata.config_rules import UNKNOWN_LENGTH_MAX, UNKNOWN_NAME_LENGTH_MAX, UNKNOWN_NAMES_MAX
from tapelog.metadata.configs import DELETE, SET
from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ConfigRecord
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages import alter_configs_request as legacy
from tapelog.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tests.unit.metadata.harness import Cluster
from tests.unit.metadata.test_alter_configs import alter, resource, with_topic
from tests.unit.metadata.test_describe_configs import by_name, describe

SSL = "SSL is not available yet, only PLAINTEXT is"
SASL = "SASL is not available yet, only PLAINTEXT is"
NODE = {"node.id": "1", "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9999"} | {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


def told(cluster: Cluster, broker: str, name: str, value: str, *, validate_only: bool = False) -> tuple[int, str]:
    """What both requests answer; it is the same."""
    incremental = IncrementalAlterConfigsRequest(
        resources=[resource(RESOURCE_BROKER, broker, (name, SET, value))], validate_only=validate_only
    )
    entry = legacy.AlterableConfig(name=name, value=value)
    replacing = legacy.AlterConfigsRequest(
        resources=[legacy.AlterConfigsResource(RESOURCE_BROKER, broker, [entry])], validate_only=validate_only
    )
    first = cluster.run(lambda image: cluster.controller.incremental_alter_configs(image, incremental)).responses[0]
    second = cluster.run(lambda image: cluster.controller.alter_configs(image, replacing)).responses[0]
    assert (first.error_code, first.error_message) == (second.error_code, second.error_message)
    return first.error_code, first.error_message or ""


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("broker", ["1", ""])
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("authorizer.class.name", "a.B", "ACLs are not available yet"),
        ("super.users", "User:a", "ACLs are not available yet"),
        ("sasl.enabled.mechanisms", "PLAIN", SASL),
        ("ssl.keystore.location", "x", SSL),
        ("listener.name.x.ssl.keystore.location", "x", SSL),
        ("listener.security.protocol.map", "PLAINTEXT:SSL", f"listener PLAINTEXT: {SSL}"),
        ("max.connections.per.ip.overrides", "127.0.0.1:3", "this limit is not available"),
        ("metric.reporters", "a.B", "Java classes cannot be loaded here"),
        ("remote.log.reader.threads", "3", "Only a restart can change"),
    ],
)
def test_a_change_that_promises_what_is_not_done_is_refused(
    broker: str, name: str, value: str, reason: str, validate_only: bool
) -> None:
    cluster = Cluster(settings=NODE)
    code, message = told(cluster, broker, name, value, validate_only=validate_only)
    assert code == ErrorCode.INVALID_REQUEST and reason in message
    assert cluster.image.configs == {}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("SSL://127.0.0.1:9093", f"listener SSL: {SSL}"),
        ("SASL_SSL://127.0.0.1:9093", "listener SASL_SSL: SASL_SSL is not available yet, only PLAINTEXT is"),
        ("PLAINTEXT://127.0.0.1:9092,SSL://127.0.0.1:9093", f"listener SSL: {SSL}"),
        ("PLAINTEXT://127.0.0.1:9555", "`listeners` in node.toml"),
        ("PLAINTEXT://127.0.0.1:9092,OTHER://127.0.0.1:9093", "`listeners` in node.toml"),
        ("127.0.0.1:9555", "NAME://host:port"),
    ],
)
def test_other_listeners_are_refused_and_never_shown(value: str, reason: str) -> None:
    cluster = Cluster(settings=NODE)
    code, message = told(cluster, "1", "listeners", value)
    assert code == ErrorCode.INVALID_REQUEST and reason in message
    assert by_name(describe(cluster, RESOURCE_BROKER, "1"))["listeners"].value == NODE["listeners"]


@pytest.mark.parametrize("broker", ["1", "2"])
def test_the_listeners_that_are_there_may_be_said_again(broker: str) -> None:
    cluster = Cluster(brokers=2, settings=NODE)
    port = 9091 + int(broker)
    assert told(cluster, broker, "listeners", f"PLAINTEXT://127.0.0.1:{port}")[0] == 0
    assert told(cluster, broker, "listeners", f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:9999")[0] == 0
    assert told(cluster, broker, "listener.security.protocol.map", NODE["listener.security.protocol.map"])[0] == 0
    assert cluster.image.configs == {}  # else it would hide what node.toml says later


def test_saying_what_is_so_again_removes_what_was_kept_before() -> None:
    cluster = Cluster(settings=NODE)
    kept(cluster, "1", "listeners", "SSL://127.0.0.1:9093")
    assert alter(cluster, resource(RESOURCE_BROKER, "1", ("listeners", SET, "PLAINTEXT://127.0.0.1:9092"))) == [0]
    assert cluster.image.configs == {}


def test_the_address_listened_on_may_be_said_again_where_clients_are_told_another() -> None:
    cluster = Cluster(settings=NODE | {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9999"})
    assert told(cluster, "1", "listeners", "PLAINTEXT://0.0.0.0:9092")[0] == 0


def test_names_that_nobody_knows_are_kept_as_in_kafka() -> None:
    cluster = Cluster()
    assert told(cluster, "1", "no.such.name", "5")[0] == 0
    assert told(cluster, "", "no.such.name", "5")[0] == 0
    assert cluster.image.config(RESOURCE_BROKER, "1") == {"no.such.name": "5"}
    (shown,) = [one for one in describe(cluster, RESOURCE_BROKER, "1").configs if one.name == "no.such.name"]
    assert (shown.value, shown.is_sensitive, shown.config_source) == (None, True, 2)


def test_names_without_effect_are_accepted() -> None:
    cluster = with_topic()
    assert told(cluster, "1", "num.io.threads", "16")[0] == 0
    assert alter(cluster, resource(RESOURCE_TOPIC, "t", ("preallocate", SET, "true"))) == [0]


def kept(cluster: Cluster, broker: str, name: str, value: str) -> None:
    """What an earlier version, or Apache Kafka, wrote down."""
    record = ConfigRecord(resource_type=RESOURCE_BROKER, resource_name=broker, name=name, value=value)
    cluster.run(lambda image: Outcome([record], None))


@pytest.mark.parametrize("broker", ["1", ""])
@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("listeners", "SSL://127.0.0.1:9093", NODE["listeners"]),
        ("sasl.enabled.mechanisms", "PLAIN", "GSSAPI"),
        ("remote.log.reader.threads", "77", "10"),
    ],
)
def test_what_was_kept_before_is_not_in_force_and_stands_in_nobodys_way(
    broker: str, name: str, value: str, shown: str
) -> None:
    cluster = Cluster(settings=NODE)
    kept(cluster, broker, name, value)
    assert by_name(describe(cluster, RESOURCE_BROKER, "1"))[name].value == shown
    assert Layers(cluster.image, BrokerSettings(NODE), 1).text(name) == shown
    assert [one.name for one in describe(cluster, RESOURCE_BROKER, "").configs] == []
    assert alter(cluster, resource(RESOURCE_BROKER, broker, ("log.retention.ms", SET, "5"))) == [0]
    assert alter(cluster, resource(RESOURCE_BROKER, broker, (name, DELETE, None))) == [0]
    assert cluster.image.config(RESOURCE_BROKER, broker) == {"log.retention.ms": "5"}


@pytest.mark.parametrize("broker", ["1", ""])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listener.name.external.ssl.keystore.location", "/k.jks"),
        ("listener.name.external.plain.sasl.jaas.config", "x"),
        ("super.users", "User:a"),
    ],
)
def test_what_would_be_refused_today_is_not_shown_behind_a_listeners_name_either(
    broker: str, name: str, value: str
) -> None:
    cluster = Cluster(settings=NODE)
    kept(cluster, broker, name, value)
    assert name not in by_name(describe(cluster, RESOURCE_BROKER, "1"))
    assert Layers(cluster.image, BrokerSettings(NODE), 1).text(name) is None
    assert alter(cluster, resource(RESOURCE_BROKER, broker, (name, DELETE, None))) == [0]
    assert cluster.image.configs == {}


def test_unknown_names_are_bounded_and_those_that_are_kept_stand_in_nobodys_way() -> None:
    cluster = Cluster(settings=NODE)
    many = resource(RESOURCE_BROKER, "1", *[(f"no.such.{i}", SET, "") for i in range(UNKNOWN_NAMES_MAX + 1)])
    long = resource(RESOURCE_BROKER, "1", ("n" * (UNKNOWN_NAME_LENGTH_MAX + 1), SET, "1"))
    large = resource(RESOURCE_BROKER, "1", ("no.such", SET, "v" * UNKNOWN_LENGTH_MAX))
    for one in (many, long, large):
        assert alter(cluster, one) == [ErrorCode.POLICY_VIOLATION]
    assert cluster.image.configs == {}
    kept(cluster, "1", "n" * 3000, "v" * UNKNOWN_LENGTH_MAX)
    assert alter(cluster, resource(RESOURCE_BROKER, "1", ("log.retention.ms", SET, "5"))) == [0]
    assert alter(cluster, resource(RESOURCE_BROKER, "1", ("no.such", SET, "5"))) == [ErrorCode.POLICY_VIOLATION]


def test_another_brokers_protocol_map_is_compared_with_its_own_listeners() -> None:
    cluster = Cluster(brokers=2, settings=NODE)
    assert told(cluster, "2", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OWN:PLAINTEXT")[0] == 0
    code, message = told(cluster, "2", "listener.security.protocol.map", "OWN:PLAINTEXT")
    assert code == ErrorCode.INVALID_REQUEST and "node.toml" in message
    assert cluster.image.configs == {}
