"""Records, sends, durations, policies: small values, small promises."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tapelog.toolkit import Again, Backoff, Instead, NoValue, Record, RetryInPlace, Send, Skip, Stop, StopOnError
from tapelog.toolkit.clients import BadSetting, consumer_config, producer_config, transactional_config
from tapelog.toolkit.durations import seconds
from tapelog.toolkit.records import as_headers, as_sends, with_headers
from tests.unit.toolkit.fakes import FakeMessage, record


@pytest.mark.parametrize("module", ["records", "durations", "failures"])
def test_the_examples_in_the_docstrings_are_true(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"tapelog.toolkit.{module}"))
    assert tried and not failed


def test_a_record_comes_from_a_message_whole() -> None:
    one = Record.of(FakeMessage("in", 2, 9, b"v", b"k"))  # type: ignore[arg-type]
    assert one == Record("in", 2, 9, b"k", b"v", (), 1234, 7)
    assert one.coordinates == "in[2]@9"


def test_a_record_for_a_test_is_made_of_what_a_handler_looks_at() -> None:
    one = Record.example("tea", key="42", headers={"from": "shop"}, topic="orders")
    assert (one.text(), one.key, one.header("from"), one.coordinates) == ("tea", b"42", b"shop", "orders[0]@0")
    assert Record.example(Send.json("orders", {"n": 1}).value).json() == {"n": 1}
    assert Record.example().value is None and Record.example(b"\xff").data == b"\xff"


def test_the_last_header_of_a_name_counts() -> None:
    one = record(1, headers=(("a", b"1"), ("b", None), ("a", b"2")))
    assert (one.header("a"), one.header("b"), one.header("c")) == (b"2", None, None)
    assert (one.header_text("a"), one.header_text("c")) == ("2", None)


def test_a_tombstone_has_no_text() -> None:
    with pytest.raises(NoValue, match=r"in\[0\]@1 has no value"):
        record(1).text()


def test_a_handler_may_return_nothing_one_or_many() -> None:
    one = Send("t", "v")
    assert as_sends(None) == () and as_sends(one) == (one,) and as_sends(iter([one, one])) == (one, one)
    with pytest.raises(TypeError, match="one of them was str"):
        as_sends(["oops"])  # type: ignore[list-item]


def test_headers_are_given_as_a_mapping_or_as_pairs() -> None:
    assert as_headers({"a": "1", "b": b"2"}) == as_headers([("a", b"1"), ("b", "2")])
    assert with_headers((("a", b"1"), ("b", b"2"), ("a", b"3")), {"a": "x"}) == (("b", b"2"), ("a", b"x"))


def test_json_in_and_out() -> None:
    value = Send.json("t", {"n": 1}, key="k").value
    assert isinstance(value, str) and record(1, value=value.encode()).json() == {"n": 1}


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5y", "1h30m"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time"):
        seconds(text)


def test_waiting_grows_to_its_bound_and_chance_only_shortens_it() -> None:
    backoff = Backoff(1, 8, chance=lambda: 0.0)
    assert [backoff.wait_s(attempt) for attempt in (1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 8, 8, 8]
    assert Backoff(1, 8, spread=0.5, chance=lambda: 1.0).wait_s(1) == 0.5


def test_policies_decide_by_attempt_and_kind_of_error() -> None:
    one, oops = record(1), ValueError()
    assert StopOnError().decide(one, oops, 1) == Stop()
    assert Skip().decide(one, oops, 1) == Instead()
    policy = RetryInPlace(3, Backoff(1, 9, spread=0), then=Skip(), errors=OSError)
    assert policy.decide(one, TimeoutError(), 2) == Again(2.0)
    assert policy.decide(one, TimeoutError(), 3) == Instead()
    assert policy.decide(one, oops, 1) == Instead(), "not that kind of error: no use trying again"


def test_settings_that_would_break_the_promise_are_refused_by_name() -> None:
    with pytest.raises(BadSetting, match=r"enable\.auto\.commit of the consumer"):
        consumer_config("x", "g", {"enable.auto.commit": True})
    with pytest.raises(BadSetting, match=r"acks, transactional\.id of the producer"):
        producer_config("x", {"acks": 1, "transactional.id": "t"})


def test_a_cluster_is_an_address_or_settings_and_both_clients_get_them() -> None:
    cluster = {"bootstrap.servers": "x", "security.protocol": "ssl"}
    assert consumer_config(cluster, "g")["security.protocol"] == "ssl"
    assert producer_config(cluster, {"linger.ms": 1})["linger.ms"] == 1
    assert consumer_config("x", "g")["bootstrap.servers"] == "x"


def test_the_newer_group_protocol_gets_no_client_side_assignor() -> None:
    assert "partition.assignment.strategy" not in consumer_config("x", "g", {"group.protocol": "consumer"})
    assert consumer_config("x", "g")["partition.assignment.strategy"] == "cooperative-sticky"


def test_a_transactional_producer_keeps_the_brokers_it_knows_unless_told_otherwise() -> None:
    told = {"metadata.recovery.strategy": "rebootstrap"}
    assert transactional_config("x", "t", 10)["metadata.recovery.strategy"] == "none"
    assert transactional_config("x", "t", 10, told) == {**transactional_config("x", "t", 10), **told}
    assert transactional_config({"bootstrap.servers": "x", **told}, "t", 10) == transactional_config("x", "t", 10, told)
