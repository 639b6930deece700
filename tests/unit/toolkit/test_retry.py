"""Retry topics and dead letters: where a failed record goes, what it carries, when it comes back."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.toolkit import (
    Again,
    DeadLetter,
    Instead,
    OnError,
    Record,
    RetryInPlace,
    RetryTopics,
    Send,
    Stop,
    StopOnError,
)
from tapelog.toolkit.letters import afresh, attempts_before, identity, origin
from tapelog.toolkit.records import as_headers
from tests.unit.toolkit.fakes import record

ORDER = record(17, 3, "orders", key=b"k", value=b"v", headers=(("trace", b"t1"),), timestamp_ms=5000)


class Broken(Exception):
    """A reason."""


def sent(policy: OnError, one: Record, error: Exception | None = None, attempt: int = 1) -> Send:
    """The one message the policy wants to send instead."""
    decision = policy.decide(one, error or Broken("no stock"), attempt)
    assert isinstance(decision, Instead)
    (send,) = decision.sends
    return send


def arrived(send: Send, offset: int = 0, partition: int = 0) -> Record:
    """The message as it is read again."""
    assert isinstance(send.value, bytes | None) and isinstance(send.key, bytes | None)
    return Record(send.topic, partition, offset, send.key, send.value, as_headers(send.headers), 99_000)


def headers(send: Send) -> dict[str, str]:
    """Its headers as text."""
    return {name: (value or b"").decode() for name, value in as_headers(send.headers)}


def test_a_dead_letter_tells_where_from_why_and_how_often() -> None:
    send = sent(DeadLetter(), ORDER, attempt=3)
    assert (send.topic, send.key, send.value, send.timestamp_ms) == ("orders.dead", b"k", b"v", 5000)
    assert headers(send) == {
        "trace": "t1",
        "original-topic": "orders",
        "original-partition": "3",
        "original-offset": "17",
        "original-timestamp": "5000",
        "error-class": f"{__name__}.Broken",
        "error-message": "no stock",
        "attempts": "3",
    }


def test_the_stack_goes_along_when_asked_for_and_everything_has_a_bound() -> None:
    try:
        raise Broken("x" * 5000)
    except Broken as error:
        told = headers(sent(DeadLetter(stack=True), ORDER, error))
    assert len(told["error-message"]) == 1000
    assert "test_the_stack_goes_along" in told["error-stack"] or len(told["error-stack"]) == 10_000
    assert headers(sent(DeadLetter(), ORDER, ValueError("v")))["error-class"] == "ValueError"


def test_a_record_climbs_through_the_retry_topics_and_ends_as_a_dead_letter() -> None:
    policy = RetryTopics("5s", "1m", clock=lambda: 1000.0)
    first = sent(policy, ORDER)
    assert (first.topic, headers(first)["retry-not-before"]) == ("orders.retry.5s", "1005000")
    again = arrived(first, 8)
    second = sent(policy, again)
    assert (second.topic, headers(second)["retry-not-before"]) == ("orders.retry.1m", "1060000")
    last = sent(policy, arrived(second, 9))
    assert (last.topic, headers(last)["attempts"]) == ("orders.dead", "3")
    assert headers(last)["original-offset"] == "17", "still that of the first reading"
    assert headers(last)["original-timestamp"] == "5000"


def test_errors_that_are_not_worth_it_go_on_at_once() -> None:
    policy = RetryTopics("5s", errors=OSError)
    assert sent(policy, ORDER, ValueError()).topic == "orders.dead"
    assert sent(policy, ORDER, TimeoutError()).topic == "orders.retry.5s"
    assert RetryTopics("5s", then=StopOnError(), errors=OSError).decide(ORDER, ValueError(), 1) == Stop()


def test_a_record_waits_until_it_is_due_but_never_longer_than_the_longest_delay() -> None:
    now = [1000.0]
    policy = RetryTopics("5s", clock=lambda: now[0])
    again = arrived(sent(policy, ORDER))
    assert policy.wait_s(ORDER) == 0.0
    assert policy.wait_s(again) == 5.0
    now[0] = 1004.5
    assert policy.wait_s(again) == 0.5
    now[0] = 2000.0
    assert policy.wait_s(again) == 0.0
    now[0] = 0.0
    assert policy.wait_s(again) == 5.0, "somebody's clock is wrong; we do not wait for it"


@pytest.mark.parametrize("text", [b"", b"soon", b"--5", b"\xff", "²".encode()])
def test_headers_that_make_no_sense_are_as_good_as_none(text: bytes) -> None:
    odd = record(1, headers=(("retry-not-before", text), ("retry-level", text), ("attempts", text)))
    assert RetryTopics("5s").wait_s(odd) == 0.0
    assert attempts_before(odd) == 0
    assert sent(RetryTopics("5s"), odd).topic == "in.retry.5s"


def test_first_in_place_then_by_topic() -> None:
    policy = RetryInPlace(2, then=RetryTopics("5s"))
    assert isinstance(policy.decide(ORDER, Broken(), 1), Again)
    assert sent(policy, ORDER, attempt=2).topic == "orders.retry.5s"
    assert headers(sent(policy, ORDER, attempt=2))["attempts"] == "2"
    assert policy.reads(["orders"]) == ["orders.retry.5s"]
    assert policy.writes(["orders"]) == {"orders.retry.5s": "orders", "orders.dead": "orders"}
    assert policy.wait_s(arrived(sent(policy, ORDER, attempt=2))) > 4


def test_names_can_tell_groups_apart() -> None:
    policy = RetryTopics("5s", name="{topic}.billing.retry.{delay}", then=DeadLetter("all.dead"))
    assert policy.reads(["a", "b"]) == ["a.billing.retry.5s", "b.billing.retry.5s"]
    assert policy.writes(["a"]) == {"a.billing.retry.5s": "a", "all.dead": "a"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: RetryTopics("soon"),
        lambda: RetryTopics("5s", name="{topic}.retry"),
        lambda: RetryTopics("5s").reads(["^orders.*"]),
        lambda: DeadLetter("not a topic").writes(["orders"]),
        lambda: DeadLetter().writes(["x" * 245]),
    ],
)
def test_what_cannot_work_is_refused_early(make: Any) -> None:
    with pytest.raises(ValueError):
        make()


def test_a_message_has_one_identity_wherever_it_turns_up() -> None:
    assert identity(ORDER) == "orders[3]@17"
    again = arrived(sent(RetryTopics("5s"), ORDER), 99)
    assert (identity(again), origin(again)) == ("orders[3]@17", ("orders", 3, 17))
    assert identity(record(1, headers=(("message-id", b"m-1"),))) == "m-1"


def test_a_redriven_letter_starts_afresh_and_is_counted() -> None:
    dead = arrived(sent(DeadLetter(stack=True), arrived(sent(RetryTopics("5s"), ORDER))))
    names = [name for name, _ in afresh(dead)]
    assert names == [
        "trace",
        "original-topic",
        "original-partition",
        "original-offset",
        "original-timestamp",
        "redriven",
    ]
    twice = afresh(Record("orders", 0, 1, headers=afresh(dead)))
    assert dict(twice)["redriven"] == b"2"
