"""Offsets, timestamps and partitions as the JSON of Spark's Kafka source: `{"orders":{"0":23,"1":-1}}`.

What is written here is what the Kafka source writes for one topic, to the byte, and what it reads for any number: so a
query may go on with either source on the same checkpoint. PySpark writes a Python source's offsets itself, from the
value of `offsets_to_value`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from tapelog.spark.plan.errors import DOCS, CheckpointError
from tapelog.spark.plan.values import EARLIEST, OFFSET_MAX, Offsets, TopicPartition, ordered

PARTITION_MAX: Final = 2**31 - 1
_PARTITION: Final = re.compile(r"[0-9]{1,10}", re.ASCII)

OFFSETS_EXAMPLE: Final = '{"orders":{"0":23,"1":-1},"clicks":{"0":-2}}'
TIMESTAMPS_EXAMPLE: Final = '{"orders":{"0":1700000000000,"1":1700000000000}}'
PARTITIONS_EXAMPLE: Final = '{"orders":[0,1],"clicks":[0]}'


def offsets_to_value(offsets: Offsets) -> dict[str, dict[str, int]]:
    """The value that is written as JSON: topics in order, partitions in order of their number."""
    value: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in ordered(offsets).items():
        value.setdefault(topic, {})[str(partition)] = offset
    return value


def offsets_to_json(offsets: Offsets) -> str:
    """The JSON, without blanks."""
    return json.dumps(offsets_to_value(offsets), separators=(",", ":"), ensure_ascii=False)


def offsets_from_json(text: str) -> dict[TopicPartition, int]:
    """Read offsets, -1 (latest) and -2 (earliest) included; ValueError says what is wrong with the text."""
    return _numbers(_parsed(text), EARLIEST)


def timestamps_from_json(text: str) -> dict[TopicPartition, int]:
    """Read a timestamp in milliseconds for each partition; ValueError says what is wrong with the text."""
    return _numbers(_parsed(text), 0)


def partitions_from_json(text: str) -> tuple[TopicPartition, ...]:
    """Read the partitions of `assign`, in order, each once; ValueError says what is wrong with the text."""
    found: dict[TopicPartition, None] = {}
    for topic, numbers in _topics(_parsed(text)):
        if not isinstance(numbers, list):
            raise ValueError(f"the partitions of {topic!r} are no list")
        for number in numbers:
            if not _whole(number) or not 0 <= number <= PARTITION_MAX:
                raise ValueError(f"{number!r} is no partition of {topic!r}")
            found[TopicPartition(topic, number)] = None
    if not found:
        raise ValueError("no partition is named")
    return tuple(sorted(found))


def offsets_from_checkpoint(value: object) -> dict[TopicPartition, int]:
    """Offsets that Spark hands back from a checkpoint, whichever source wrote them: text, or the parsed value."""
    try:
        return _numbers(_parsed(value) if isinstance(value, str) else value, 0)
    except ValueError as error:
        raise CheckpointError(
            f"The checkpoint's offsets are not those of a Kafka source: {error}.",
            'Expected e.g. {"orders":{"0":23}}, as format("kafka") and format("tapelog") write it.',
            f"Give this query the checkpoint it began with, or a new checkpointLocation. See {DOCS}.",
        ) from error


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({_reason(error)})") from None


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, line {error.lineno}, column {error.colno}"
    return "a number is too long"


def _topics(value: object) -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object of topics")
    for topic, of_topic in value.items():
        if not isinstance(topic, str) or not topic:
            raise ValueError("a topic has no name")
        yield topic, of_topic


def _numbers(value: object, lowest: int) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic, partitions in _topics(value):
        if not isinstance(partitions, dict):
            raise ValueError(f"the partitions of {topic!r} are no JSON object")
        for name, number in partitions.items():
            if not isinstance(name, str) or not _PARTITION.fullmatch(name) or int(name) > PARTITION_MAX:
                raise ValueError(f"{name!r} is no partition of {topic!r}")
            if not _whole(number) or not lowest <= number <= OFFSET_MAX:
                raise ValueError(f"partition {name} of {topic!r} has {number!r}, which is no possible value")
            found[TopicPartition(topic, int(name))] = number
    return ordered(found)


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
