"""Group ids land on the partition where every Kafka broker looks for them."""

from __future__ import annotations

import pytest

from tapelog.coordinators.hashing import java_string_hash, partition_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("console-consumer-12345", 158455506),
        ("polygenelubricants", -2147483648),
        ("größe", 98762257),
        ("😀", 1772899),
    ],
)
def test_the_hash_is_that_of_java(text: str, value: int) -> None:
    assert java_string_hash(text) == value


def test_the_smallest_number_has_no_absolute_value_and_becomes_zero() -> None:
    assert partition_of("polygenelubricants", 50) == 0


def test_partitions_are_within_range() -> None:
    assert {partition_of(f"group-{i}", 7) for i in range(200)} == set(range(7))
