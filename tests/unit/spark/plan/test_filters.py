"""Predicates narrow ranges and never lose a row that passes."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.plan.filters import Filter, Operator, Value, exact, keeps, narrow, since_ms
from tapelog.spark.plan.values import Range, TopicPartition
from tests.unit.spark.plan.world import World

OPERATORS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
T0 = TopicPartition("t", 0)


def offsets(ranges: tuple[Range, ...]) -> list[int]:
    return [offset for piece in ranges for offset in range(piece.start, piece.until)]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ([Filter("offset", "=", 5)], [5]),
        ([Filter("offset", ">", 6)], [7, 8]),
        ([Filter("offset", ">=", 8)], [8]),
        ([Filter("offset", "<", 4)], [3]),
        ([Filter("offset", "<=", 3), Filter("offset", ">", 3)], []),
        ([Filter("offset", "in", (4, 6))], [4, 5, 6]),
        ([Filter("offset", "in", ())], []),
        ([Filter("offset", "<", -5)], []),
        ([Filter("topic", "=", "t")], [3, 4, 5, 6, 7, 8]),
        ([Filter("topic", "in", ("a", "b"))], []),
        ([Filter("partition", ">", 0)], []),
        ([Filter("partition", "<=", 0)], [3, 4, 5, 6, 7, 8]),
        ([Filter("value", "=", "x"), Filter("offset", "=", "5")], [3, 4, 5, 6, 7, 8]),
    ],
)
def test_a_range_is_narrowed(filters: list[Filter], left: list[int]) -> None:
    assert offsets(narrow([Range("t", 0, 3, 9)], filters)) == left


@pytest.mark.parametrize(
    ("item", "whether"),
    [
        (Filter("offset", ">=", 5), True),
        (Filter("offset", "in", (5, 7)), False),
        (Filter("partition", "in", (5, 7)), True),
        (Filter("topic", "=", "t"), True),
        (Filter("topic", ">", "t"), False),
        (Filter("partition", "=", True), False),
        (Filter("offset", "=", "5"), False),
        (Filter("timestamp", ">=", 5), False),
        (Filter("value", "=", "x"), False),
    ],
)
def test_what_ranges_honour_to_the_row_is_told(item: Filter, whether: bool) -> None:
    assert exact(item) is whether


def test_a_timestamp_from_below_is_rounded_to_the_first_millisecond_that_can_pass() -> None:
    assert since_ms([Filter("timestamp", ">=", 1_000_000)]) == 1000
    assert since_ms([Filter("timestamp", ">", 1_000_000)]) == 1001
    assert since_ms([Filter("timestamp", ">=", 1_000_001)]) == 1001
    assert since_ms([Filter("timestamp", "in", (9_000_000, 2_000_000)), Filter("timestamp", "=", 1)]) == 2000
    assert since_ms([Filter("timestamp", "<", 1_000_000)]) is None
    assert since_ms([Filter("timestamp", ">=", -5)]) is None  # the protocol means something else by negative times
    assert since_ms([]) is None


def test_timestamps_out_of_order_lose_nothing() -> None:
    there = World({T0: (0, 5)}, timestamps={T0: (5, 30, 10, 40, 20)})
    ranges = [Range("t", 0, 0, 5)]
    assert offsets(narrow(ranges, [Filter("timestamp", ">=", 20_000)], there)) == [1, 2, 3, 4]
    assert offsets(narrow(ranges, [Filter("timestamp", "<", 20_000)], there)) == [0, 1, 2, 3, 4]
    assert offsets(narrow(ranges, [Filter("timestamp", ">", 40_000)], there)) == []


VALUES = st.integers(-2, 12)


@st.composite
def some_filters(draw: st.DrawFn) -> list[Filter]:
    found: list[Filter] = []
    for _ in range(draw(st.integers(0, 3))):
        column = draw(st.sampled_from(["topic", "partition", "offset", "timestamp"]))
        operators: list[Operator] = ["=", "in"] if column == "topic" else ["=", "<", "<=", ">", ">=", "in"]
        chosen = draw(st.sampled_from(operators))
        one: st.SearchStrategy[Value] = st.sampled_from(["t", "u"]) if column == "topic" else VALUES
        found.append(Filter(column, chosen, draw(st.lists(one, max_size=3).map(tuple) if chosen == "in" else one)))
    return found


def passes(item: Filter, row: dict[str, Value]) -> bool:
    value = row[item.column]
    if isinstance(item.value, tuple):
        return value in item.value
    return bool(OPERATORS[item.operator](value, item.value))


@settings(max_examples=150, deadline=None)
@given(some_filters(), st.lists(st.integers(0, 12), min_size=1, max_size=8))
def test_every_row_that_passes_is_still_read(filters: list[Filter], times: list[int]) -> None:
    there = World(
        {TopicPartition(topic, number): (2, 2 + len(times)) for topic in ("t", "u") for number in (0, 1)},
    )
    there.timestamps = dict.fromkeys(there.logs, times)
    micros = [
        Filter(item.column, item.operator, _scaled(item.value)) if item.column == "timestamp" else item
        for item in filters
    ]
    whole = [Range(of.topic, of.partition, 2, 2 + len(times)) for of in sorted(there.logs)]
    left = narrow(whole, micros, there)
    read = {(piece.topic, piece.partition, offset) for piece in left for offset in range(piece.start, piece.until)}
    for of in there.logs:
        for offset, time in enumerate(times, 2):
            row: dict[str, Value] = {"topic": of.topic, "partition": of.partition, "offset": offset, "timestamp": time}
            if all(passes(item, row) for item in filters):
                assert (of.topic, of.partition, offset) in read
            elif (of.topic, of.partition, offset) in read:
                assert all(passes(item, row) for item in filters if exact(item))
    assert all(keeps(filters, piece.of) for piece in left)


def _scaled(value: Value | tuple[Value, ...]) -> Value | tuple[Value, ...]:
    if isinstance(value, tuple):
        return tuple(int(each) * 1000 for each in value)
    return int(value) * 1000
