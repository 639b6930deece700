"""Kafka errors in plain words."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from tapelog.cli.bootstrap import parse_bootstrap
from tapelog.cli.connect import missing_group, missing_topic
from tapelog.cli.explain import explain
from tapelog.cli.output import CliError


def test_a_missing_topic_says_how_to_list_and_create() -> None:
    error = explain(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), topic="orders")
    assert error.exit_code == 4
    assert "tape topic create orders" in error.hint


def test_a_near_name_is_offered() -> None:
    assert "did you mean `orders`" in missing_topic("ordres", ["orders", "payments"]).hint
    assert "did you mean" not in missing_topic("xyz", ["orders"]).hint
    assert "did you mean `billing`? `tape group list`" in missing_group("bilin", ["analytics", "billing"]).hint


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT])
def test_unreachable_has_its_own_exit_code_and_tells_the_reason(code: int) -> None:
    error = explain(KafkaError(code), bootstrap="h:1", trouble="Connection reset")
    assert error.exit_code == 3
    assert "h:1" in error.message and "Connection reset" in error.message
    assert "`tape cluster describe --check`" in error.hint, "a cluster without a quorum is there, and does not answer"


def test_live_members_are_the_reason_and_can_be_listed() -> None:
    assert "tape group describe billing" in explain(KafkaError(KafkaError.NON_EMPTY_GROUP), group="billing").hint


def test_a_policy_that_refuses_may_be_a_bound_or_a_hold_and_both_can_be_seen() -> None:
    hint = explain(KafkaError(KafkaError.POLICY_VIOLATION), topic="orders").hint
    assert "`tape topic usage orders`" in hint and "tapelog.tier.hold" in hint


def test_an_unknown_error_keeps_its_own_words() -> None:
    error = explain(KafkaError(KafkaError.KAFKA_STORAGE_ERROR, "disk on fire"))
    assert "disk on fire" in error.message and error.exit_code == 1


def test_bootstrap_addresses() -> None:
    assert parse_bootstrap("a:1,b:2") == [("a", 1), ("b", 2)]
    assert parse_bootstrap("[::1]:9092") == [("::1", 9092)]
    assert parse_bootstrap("broker") == [("broker", 9092)]
    with pytest.raises(CliError):
        parse_bootstrap("a:b")
