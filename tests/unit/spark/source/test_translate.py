"""Spark's filters become plan's, or stay Spark's."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pytest

from tapelog.spark.plan.filters import Filter
from tapelog.spark.source.translate import always_true, translated


@dataclass(frozen=True)
class EqualTo:
    attribute: tuple[str, ...]
    value: Any


class GreaterThan(EqualTo): ...


class In(EqualTo): ...


class StringStartsWith(EqualTo): ...


@dataclass(frozen=True)
class IsNotNull:
    attribute: tuple[str, ...]


NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EqualTo(("partition",), 3), Filter("partition", "=", 3)),
        (GreaterThan(("offset",), 7), Filter("offset", ">", 7)),
        (In(("topic",), ("a", "b")), Filter("topic", "in", ("a", "b"))),
        (GreaterThan(("timestamp",), NOON), Filter("timestamp", ">", int(NOON.timestamp()) * 1_000_000)),
        (EqualTo(("value", "inner"), 3), None),
        (EqualTo(("value",), b"bytes"), None),
        (EqualTo(("partition",), None), None),
        (In(("partition",), (1, None)), None),
        (StringStartsWith(("topic",), "a"), None),
    ],
)
def test_a_filter_is_told_in_plans_words_or_not_at_all(given: Any, expected: Filter | None) -> None:
    assert translated(given) == expected


def test_only_columns_that_are_never_null_pass_a_test_for_null_unseen() -> None:
    assert always_true(IsNotNull(("offset",)))
    assert not always_true(IsNotNull(("key",)))
    assert not always_true(EqualTo(("offset",), 1))


def test_a_timestamp_without_a_zone_is_local_time() -> None:
    naive = NOON.astimezone().replace(tzinfo=None)
    assert translated(EqualTo(("timestamp",), naive)) == translated(EqualTo(("timestamp",), NOON))
