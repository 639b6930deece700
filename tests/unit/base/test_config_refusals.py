"""Settings that promise what this broker does not do are refused; those that promise nothing are accepted."""

from __future__ import annotations

import pytest

from tapelog.base.config import BROKER_ROWS, RefusedSettingError, UnknownSettingError
from tapelog.base.config_classes import NO_EFFECT, REFUSED
from tapelog.base.config_refusals import check_static, refusal, remark
from tapelog.base.config_values import ConfigValueError

REFUSALS = [
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "ACLs are not available yet"),
    ("super.users", "User:admin", "ACLs are not available yet"),
    ("sasl.enabled.mechanisms", "PLAIN", "SASL is not available yet, only PLAINTEXT is"),
    ("sasl.oauthbearer.header.urlencode", "true", "SASL is not available yet"),
    ("ssl.keystore.location", "server.jks", "SSL is not available yet, only PLAINTEXT is"),
    ("ssl.client.auth", "required", "SSL is not available yet"),
    ("listener.name.x.ssl.keystore.location", "server.jks", "SSL is not available yet"),
    ("listener.name.x.scram-sha-512.sasl.jaas.config", "secret", "SASL is not available yet"),
    ("listener.name.x.plain.sasl.server.callback.handler.class", "a.B", "SASL is not available yet"),
    ("listener.name.x.max.connections", "7", "max.connections limits all of them"),
    ("listener.security.protocol.map", "CLIENT:SSL,CONTROLLER:PLAINTEXT", "listener CLIENT: SSL is not available yet"),
    ("security.inter.broker.protocol", "SASL_SSL", "SASL_SSL is not available yet, only PLAINTEXT is"),
    ("connections.max.reauth.ms", "1000", "SASL is not available yet"),
    ("delegation.token.secret.key", "secret", "delegation tokens are not available"),
    ("client.quota.callback.class", "a.B", "client quotas are not available yet"),
    ("max.connection.creation.rate", "10", "this limit is not available"),
    ("max.connections.per.ip.overrides", "127.0.0.1:5", "this limit is not available"),
    ("metric.reporters", "a.B", "Java classes cannot be loaded here"),
    ("create.topic.policy.class.name", "a.B", "nothing would check requests"),
    ("principal.builder.class", "a.B", "Java classes cannot be loaded here"),
    ("remote.log.storage.manager.class.name", "a.B", "tapelog.tier.url"),
    ("replica.selector.class", "a.B", "RackAwareReplicaSelector and LeaderSelector are built in"),
    ("group.consumer.assignors", "range,a.B", "uniform and range are built in"),
    ("group.coordinator.rebalance.protocols", "classic,share", "share groups are not available yet"),
    ("log.message.format.version", "0.10.0", "format v2"),
    ("confluent.some.class.name", "a.B", "Java classes cannot be loaded here"),
]

ACCEPTED = [
    ("security.inter.broker.protocol", "PLAINTEXT"),
    ("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL"),
    ("authorizer.class.name", ""),
    ("ssl.client.auth", "none"),
    ("ssl.enabled.protocols", "TLSv1.2, TLSv1.3"),
    ("listener.name.x.ssl.client.auth", "none"),
    ("metric.reporters", ""),
    ("max.connections.per.ip.overrides", ""),
    ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ("group.consumer.assignors", "org.apache.kafka.coordinator.group.assignor.RangeAssignor, uniform"),
    ("group.coordinator.rebalance.protocols", "classic,consumer,streams"),
    ("num.network.threads", "16"),
    ("listener.name.x.num.network.threads", "16"),
    ("auto.create.topics.enable", "false"),
]


@pytest.mark.parametrize(("name", "value", "reason"), REFUSALS)
def test_a_promise_that_is_not_kept_is_refused_by_name(name: str, value: str, reason: str) -> None:
    told = refusal(name, value)
    assert told is not None and told.startswith(f"{name}: ") and reason in told
    with pytest.raises(RefusedSettingError):
        check_static({name: value})


@pytest.mark.parametrize("name", ["ssl.key.password", "listener.name.x.plain.sasl.jaas.config", "sasl.new.secret"])
def test_a_refused_secret_is_not_repeated(name: str) -> None:
    assert "swordfish" not in str(refusal(name, "swordfish"))


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_what_promises_nothing_is_accepted(name: str, value: str) -> None:
    assert refusal(name, value) is None
    check_static({name: value})


def test_every_default_of_kafka_is_accepted() -> None:
    check_static({name: row[2] for name, row in BROKER_ROWS.items() if row[2] is not None})


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_every_refused_name_is_refused(name: str) -> None:
    assert refusal(name, "something else") is not None


def test_a_name_that_nobody_knows_is_no_promise() -> None:
    assert refusal("num.netwok.threads", "8") is None
    with pytest.raises(UnknownSettingError, match=r"num\.network\.threads"):
        check_static({"num.netwok.threads": "8"})


def test_what_has_no_effect_and_what_is_unknown_is_remarked_upon() -> None:
    assert {remark(name) for name in NO_EFFECT} == {f"{name} has no effect here" for name in NO_EFFECT}
    assert remark("num.partitions") is None
    assert remark("ssl.client.auth") is None
    assert remark("listener.name.x.num.network.threads") == "'listener.name.x.num.network.threads' has no effect here"
    assert remark("num.netwok.threads") == "unknown setting 'num.netwok.threads': kept, not used"


def test_a_remark_is_one_short_line_whatever_the_name_is() -> None:
    noted = remark("x\n2026-01-01 ERROR forged" + "y" * 3000)
    assert noted is not None and "\n" not in noted and len(noted) < 200


@pytest.mark.parametrize(
    ("name", "error"),
    [("listener.name.x.num.network.threads", ConfigValueError), ("listener.name.x", UnknownSettingError)],
)
def test_names_of_one_listener_are_checked_as_their_configs_are(name: str, error: type[ValueError]) -> None:
    with pytest.raises(error, match="listener"):
        check_static({name: "abc"})
    check_static({"listener.name.x.num.network.threads": "3", "listener.name.x.plugin": "abc"})


@pytest.mark.parametrize("value", ["PLAINTEXT", "PLAINTEXT:", "A:PLAINTEXT,B"])
def test_a_protocol_map_without_a_protocol_says_what_is_missing(value: str) -> None:
    reason = refusal("listener.security.protocol.map", value)
    assert reason is not None and "is not NAME:PROTOCOL" in reason
