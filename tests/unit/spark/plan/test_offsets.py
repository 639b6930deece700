"""Offsets are the JSON of Spark's Kafka source, both ways."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.errors import CheckpointError
from tapelog.spark.plan.offsets import (
    offsets_from_checkpoint,
    offsets_from_json,
    offsets_to_json,
    offsets_to_value,
    partitions_from_json,
    timestamps_from_json,
)
from tapelog.spark.plan.values import EARLIEST, LATEST, TopicPartition

A0, A1, A10, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("a", 10), TopicPartition("b", 0)


def test_offsets_are_written_as_the_kafka_source_writes_them() -> None:
    offsets = {A10: 3, B0: 7, A1: 2, A0: 1}
    assert offsets_to_json(offsets) == '{"a":{"0":1,"1":2,"10":3},"b":{"0":7}}'
    assert list(offsets_to_value(offsets)["a"]) == ["0", "1", "10"]
    assert offsets_to_json({}) == "{}"


def test_what_was_written_is_read_again() -> None:
    offsets = {A0: 2**63 - 1, A1: 0, B0: 5}
    assert offsets_from_json(offsets_to_json(offsets)) == offsets
    assert offsets_from_checkpoint(offsets_to_value(offsets)) == offsets
    assert offsets_from_checkpoint(offsets_to_json(offsets)) == offsets


def test_a_checkpoint_of_pyspark_with_blanks_and_another_order_is_read() -> None:
    assert list(offsets_from_checkpoint('{"b": {"0": 7}, "a": {"1": 2, "0": 1}}').items()) == [
        (A0, 1),
        (A1, 2),
        (B0, 7),
    ]


def test_latest_and_earliest_stand_in_options_but_not_in_a_checkpoint() -> None:
    assert offsets_from_json('{"a":{"0":-1,"1":-2}}') == {A0: LATEST, A1: EARLIEST}
    with pytest.raises(CheckpointError, match="not those of a Kafka source"):
        offsets_from_checkpoint('{"a":{"0":-1}}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("{", "line 1, column 2"),
        ("[]", "no JSON object of topics"),
        ('{"a":1}', "partitions of 'a'"),
        ('{"a":[0]}', "partitions of 'a'"),
        ('{"":{"0":1}}', "no name"),
        ('{"a":{"x":1}}', "'x' is no partition"),
        ('{"a":{"-1":1}}', "'-1' is no partition"),
        ('{"a":{"4294967296":1}}', "is no partition"),
        ('{"a":{"0":-3}}', "-3"),
        ('{"a":{"0":"5"}}', "'5'"),
        ('{"a":{"0":1.5}}', "1.5"),
        ('{"a":{"0":true}}', "True"),
        ('{"a":{"0":9223372036854775808}}', "9223372036854775808"),
    ],
)
def test_a_mistake_in_the_json_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        offsets_from_json(text)
    assert said in str(raised.value)


def test_timestamps_are_never_negative_since_the_protocol_means_something_else_by_it() -> None:
    assert timestamps_from_json('{"a":{"0":1000}}') == {A0: 1000}
    with pytest.raises(ValueError, match="-1"):
        timestamps_from_json('{"a":{"0":-1}}')


def test_assigned_partitions_come_in_order_and_once() -> None:
    assert partitions_from_json('{"b":[0],"a":[1,0,1]}') == (A0, A1, B0)
    for text in ("{}", '{"a":[]}', '{"a":{"0":1}}', '{"a":[-1]}', '{"a":["0"]}', '{"a":[true]}'):
        with pytest.raises(ValueError):
            partitions_from_json(text)


def test_a_foreign_checkpoint_says_what_to_do_in_three_lines() -> None:
    with pytest.raises(CheckpointError) as raised:
        offsets_from_checkpoint({"index": 5})
    text = str(raised.value)
    assert "index" in text and "checkpointLocation" in text
    assert text.count("\n") <= 2
