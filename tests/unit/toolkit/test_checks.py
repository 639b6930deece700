"""What is refused when a loop, a Send or a policy is made, and what the message advises."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import Any

import pytest

from tapelog.toolkit import (
    AsyncIdempotentConsumer,
    AsyncSQLiteStore,
    CausalOrder,
    DeadLetter,
    IdempotentConsumer,
    Record,
    RetryInPlace,
    RetryTopics,
    Send,
    Skip,
    SQLiteStore,
    aio,
    at_least_once,
    at_most_once,
    exactly_once,
)
from tapelog.toolkit.aio.runner import Lanes
from tapelog.toolkit.runner import InOrder

SYNC: list[Callable[..., Any]] = [exactly_once, at_least_once, at_most_once]
ASYNC: list[Callable[..., Any]] = [aio.exactly_once, aio.at_least_once, aio.at_most_once]
WHERE: dict[str, Any] = {"group": "g", "topics": "in"}


def plain(record: Record) -> Send:
    return Send("out", record.value)


async def later(record: Record) -> Send:
    return Send("out", record.value)


async def yields_later(record: Record) -> AsyncIterator[Send]:
    yield Send("out", record.value)


def yields(record: Record) -> Iterator[Send]:
    yield Send("out", record.value)


def hands_over(record: Record) -> Awaitable[Send]:
    return later(record)


@wraps(later)
def wrapped(record: Record) -> Any:
    return later(record)


class Service:
    """Handlers as methods and as an object that is called."""

    def plain(self, record: Record) -> Send:
        return plain(record)

    async def later(self, record: Record) -> Send:
        return await later(record)

    async def __call__(self, record: Record) -> Send:
        return await later(record)


@pytest.mark.parametrize("make", SYNC)
@pytest.mark.parametrize("handle", [later, yields_later, Service().later, Service(), partial(later)])
def test_an_async_handler_is_refused_by_a_sync_loop_which_names_the_other(make: Any, handle: Any) -> None:
    with pytest.raises(TypeError, match=r"async.*tapelog\.toolkit\.aio"):
        make("x:1", handle=handle, **WHERE)


@pytest.mark.parametrize("make", ASYNC)
@pytest.mark.parametrize("handle", [plain, yields, Service().plain, partial(plain)])
def test_a_sync_handler_is_refused_by_an_async_loop_which_names_the_other(make: Any, handle: Any) -> None:
    with pytest.raises(TypeError, match=r"not async: write `async def`, or use .* tapelog\.toolkit"):
        make("x:1", handle=handle, **WHERE)


def test_an_async_generator_is_refused_by_both() -> None:
    for make in (*SYNC, *ASYNC):
        with pytest.raises(TypeError, match=r"yields_later is async|async generator"):
            make("x:1", handle=yields_later, **WHERE)


@pytest.mark.parametrize("handle", [later, Service().later, Service(), partial(later), hands_over, wrapped])
def test_whatever_returns_an_awaitable_passes_in_an_async_loop(handle: Any) -> None:
    for make in ASYNC:
        make("x:1", handle=handle, **WHERE)
        make("x:1", handle=lambda record: handle(record), **WHERE)


def test_what_is_no_function_is_refused() -> None:
    for make in (*SYNC, *ASYNC):
        with pytest.raises(TypeError, match="a function that takes a Record is needed, not 'shout'"):
            make("x:1", handle="shout", **WHERE)


def test_idempotent_consumers_refuse_the_other_kind_too(tmp_path: Any) -> None:
    async def charge_later(record: Record, db: sqlite3.Connection) -> None: ...

    def charge(record: Record, db: sqlite3.Connection) -> None: ...

    with pytest.raises(TypeError, match="AsyncIdempotentConsumer"):
        IdempotentConsumer("x:1", store=SQLiteStore(tmp_path / "a"), handle=charge_later, **WHERE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not async"):
        AsyncIdempotentConsumer("x:1", store=AsyncSQLiteStore(tmp_path / "b"), handle=charge, **WHERE)  # type: ignore[arg-type]


def test_a_message_that_an_idempotent_consumer_would_drop_is_refused(tmp_path: Any) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    consumer = IdempotentConsumer("x:1", store=store, handle=lambda record, db: Send("out"), **WHERE)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="Outbox"):
        consumer._once(Record.example("a"))
    assert not store.has("g", "example[0]@0"), "the mark is rolled back as well"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"a": 1}, r"returned a dict: Send\.json\(topic, value\)"),
        ("text", r"returned a str: Send\(topic, value\)"),
        (b"bytes", r"returned a bytes: Send\(topic, value\)"),
        (5, r"returned an int: Send\.json"),
        (["text"], r"one of them was str: Send\(topic, value\)"),
    ],
)
def test_a_result_that_is_no_message_is_named_with_what_makes_one(result: Any, told: str) -> None:
    (outcome,) = InOrder(lambda _: result).run([Record.example()], float("inf"), go_on=False)
    with pytest.raises(TypeError, match=rf"a handler returns None, a Send or an iterable of Sends; .*{told}"):
        raise outcome.error or AssertionError("it passed")


@pytest.mark.filterwarnings("error")
def test_a_lambda_of_the_wrong_kind_is_named_when_it_is_called() -> None:
    (outcome,) = InOrder(lambda record: later(record)).run([Record.example()], float("inf"), go_on=False)  # type: ignore[arg-type, return-value]
    assert "tapelog.toolkit.aio" in str(outcome.error)

    async def main() -> str:
        lanes = Lanes(lambda record: plain(record), asyncio.get_running_loop(), order="partition", concurrency=1)  # type: ignore[arg-type, return-value]
        (outcome,) = await lanes._run([Record.example()], float("inf"), go_on=False)
        return str(outcome.error)

    assert "the handler is not async, it returned Send" in asyncio.run(main())


@pytest.mark.parametrize(("make", "handle"), [(exactly_once, plain), (aio.exactly_once, later)])
def test_options_are_checked_when_the_loop_is_made(make: Any, handle: Any) -> None:
    def refused(error: type[Exception], told: str, **options: Any) -> None:
        with pytest.raises(error, match=told):
            make("x:1", handle=handle, **{**WHERE, **options})

    refused(ValueError, "start='first'.* earliest, latest, error", start="first")
    refused(TypeError, r"on_error=Skip is a class: write on_error=Skip\(\)", on_error=Skip)
    refused(TypeError, "on_error takes a policy .* not 'skip'", on_error="skip")
    refused(TypeError, "no option 'batch_record': did you mean 'batch_records'", batch_record=5)
    refused(ValueError, "topics: name one at least", topics=[])
    refused(ValueError, "'no topic' is not a topic's name", topics=["in", "no topic"])
    refused(TypeError, "the name of a topic is a str, not an int: 5", topics=["in", 5])
    refused(ValueError, "patience_seconds=-1", patience_seconds=-1)
    make("x:1", handle=handle, **{**WHERE, "topics": "^in|out .*"})


def test_options_of_async_loops_are_checked_too() -> None:
    with pytest.raises(ValueError, match="order='keys': one of partition, key"):
        aio.at_least_once("x:1", handle=later, order="keys", **WHERE)
    with pytest.raises(ValueError, match="concurrency"):
        aio.at_least_once("x:1", handle=later, concurrency=0, **WHERE)
    with pytest.raises(TypeError, match="no option 'order'"):
        at_least_once("x:1", handle=plain, order="key", **WHERE)


@pytest.mark.parametrize("make", [RetryInPlace, lambda then: RetryTopics("1s", then=then)])
def test_a_policy_inside_a_policy_is_an_instance_too(make: Any) -> None:
    with pytest.raises(TypeError, match=r"then=DeadLetter is a class: write then=DeadLetter\(\)"):
        make(then=DeadLetter)


def test_so_is_the_policy_of_causal_order() -> None:
    with pytest.raises(TypeError, match=r"write then=Skip\(\)"):
        CausalOrder(then=Skip)  # type: ignore[arg-type]


@pytest.mark.parametrize("topic", ["bad topic!", "", ".", "..", "a" * 250, "ä"])
def test_a_message_to_an_impossible_topic_is_refused_by_its_name(topic: str) -> None:
    with pytest.raises(ValueError, match="is not a topic's name") as refused:
        Send(topic, "x")
    assert repr(topic) in str(refused.value)


def test_a_message_is_refused_when_it_is_made_and_not_when_it_is_sent() -> None:
    with pytest.raises(TypeError, match=r"the value of a Send to 'x' is str, bytes or None, not an int; Send\.json"):
        Send("x", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the key of a Send to 'x' is str, bytes or None, not an int"):
        Send("x", "v", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the header 'n' of a Send is str, bytes or None, not an int"):
        Send("x", "v", headers={"n": 5})  # type: ignore[dict-item]


def test_headers_that_can_be_read_once_are_there_when_a_batch_is_sent_again() -> None:
    send = Send("x", "v", headers=((name, "1") for name in "ab"))
    assert list(send.headers) == list(send.headers) == [("a", "1"), ("b", "1")]
