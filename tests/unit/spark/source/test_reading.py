"""What a task reads, with a cluster that answers from a list."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tapelog.client.errors import DeadlineError, OffsetOutOfRangeError, UnknownTopicError
from tapelog.client.fetched import Fetched
from tapelog.spark.plan import Range, ReadOptions, read_options
from tapelog.spark.source import reading
from tapelog.spark.source.errors import TapelogError
from tapelog.spark.source.reading import read_range
from tapelog.wire.record_batch import Record, build_batch

GIVEN = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders", "columns": "value,offset"}
Answers = Callable[[int], Iterator[Fetched]]


def options(**more: str) -> ReadOptions:
    return read_options(GIVEN | {name.replace("_", "."): value for name, value in more.items()}, streaming=False)


def answer(base: int, count: int, *, producer: int = -1, aborted: tuple[tuple[int, int], ...] = ()) -> Fetched:
    records = [Record(0, 1, None, b"v%d" % (base + n)) for n in range(count)]
    transactional = producer >= 0
    buf = build_batch(records, base_offset=base, producer_id=producer, producer_epoch=0, transactional=transactional)
    return Fetched(b"frame" + buf, 5, 5 + len(buf), aborted, base + count, 100, 100, 0)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers], list[dict[str, Any]]]:
    """Let `answers` be what Fetch gives from an offset on; returns how Fetch was called."""
    calls: list[dict[str, Any]] = []

    def install(answers: Answers) -> list[dict[str, Any]]:
        def fetch(
            cluster: object, topic: str, partition: int, start: int, until: int, **more: Any
        ) -> Iterator[Fetched]:
            calls.append({"start": start, "until": until} | more)
            return answers(start)

        monkeypatch.setattr(reading, "fetch_range", fetch)
        return calls

    @contextmanager
    def lend(settings: object) -> Iterator[object]:
        yield object()

    monkeypatch.setattr(reading, "lend", lend)
    return install


def values(given: ReadOptions, start: int, until: int) -> list[bytes]:
    batches = read_range(given, Range("orders", 3, start, until))
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_a_range_is_read_to_its_end_and_no_further(cluster: Any) -> None:
    calls = cluster(lambda start: iter([answer(8, 4), answer(12, 4)]))
    assert values(options(), 10, 14) == [b"v10", b"v11", b"v12", b"v13"]
    assert (calls[0]["start"], calls[0]["until"], calls[0]["isolation"]) == (10, 14, 0)


def test_aborted_records_are_left_out_for_read_committed_only(cluster: Any) -> None:
    calls = cluster(lambda start: iter([answer(0, 2, producer=7, aborted=((7, 0),)), answer(2, 1)]))
    assert values(options(kafka_isolation_level="read_committed"), 0, 3) == [b"v2"]
    assert calls[0]["isolation"] == 1
    assert values(options(), 0, 3) == [b"v0", b"v1", b"v2"]


def gone_until(begins: int) -> Answers:
    def answers(start: int) -> Iterator[Fetched]:
        if start < begins:
            raise OffsetOutOfRangeError("orders", 3, start, begins, 100)
        yield answer(start, 2)

    return answers


def test_offsets_that_are_gone_stop_the_query(cluster: Any) -> None:
    cluster(gone_until(5))
    with pytest.raises(TapelogError, match="begins at 5") as error:
        values(options(), 2, 7)
    assert len(str(error.value).splitlines()) <= 3 and "failOnDataLoss" in str(error.value)
    assert "checkpoint" not in str(error.value), "this is a batch"


def test_or_are_passed_over_with_a_warning_where_that_was_asked_for(cluster: Any, caplog: Any) -> None:
    cluster(gone_until(5))
    with caplog.at_level(logging.WARNING):
        assert values(options(failOnDataLoss="false"), 2, 7) == [b"v5", b"v6"]
    assert "begins at 5" in caplog.text


def test_a_range_that_is_gone_altogether_is_empty(cluster: Any) -> None:
    calls = cluster(gone_until(50))
    assert values(options(failOnDataLoss="false"), 2, 7) == []
    assert len(calls) == 1


@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("told", ["topic orders does not exist", "topic orders was deleted and made anew"])
def test_a_topic_that_a_task_does_not_find_is_never_passed_over(cluster: Any, fails: str, told: str) -> None:
    """Brokers whose metadata is old say so of a topic that is there: its rows would be committed unread."""

    def answers(start: int) -> Iterator[Fetched]:
        yield answer(0, 2)
        raise UnknownTopicError(told, "topic orders", "create it")

    cluster(answers)
    with pytest.raises(TapelogError, match=told) as error:
        values(options(failOnDataLoss=fails), 0, 9)
    assert len(str(error.value).splitlines()) <= 3 and "orders-3" in str(error.value)


def test_fetch_is_told_the_id_of_the_topic_that_the_driver_planned_for(cluster: Any) -> None:
    calls = cluster(lambda start: iter([answer(0, 4)]))
    piece = Range("orders", 3, 0, 4, topic_id=b"0123456789abcdef")
    assert sum(batch.num_rows for batch in read_range(options(), piece)) == 4
    assert calls[0]["topic_id"] == b"0123456789abcdef"
    assert values(options(), 0, 4) and calls[1]["topic_id"] == b"", "a range without an id is read, too"


def test_errors_of_the_client_are_told_in_three_lines(cluster: Any) -> None:
    def answers(start: int) -> Iterator[Fetched]:
        raise DeadlineError("it took too long", "broker b", "wait")

    cluster(answers)
    with pytest.raises(TapelogError) as error:
        values(options(), 0, 1)
    assert str(error.value).splitlines() == ["it took too long", "broker b", "wait"]
    assert error.value.__cause__ is None and error.value.__suppress_context__
