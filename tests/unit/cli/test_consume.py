"""Which offsets are read: the plan, without a cluster."""

from __future__ import annotations

from typing import Any, cast

import pytest
from confluent_kafka.admin import PartitionMetadata, TopicMetadata

from tapelog.cli.connect import Connection
from tapelog.cli.consume import Span, Wanted, all_led, first_offset, plan
from tapelog.cli.output import CliError

BOUNDS = {("t", 0): (10, 100), ("t", 1): (0, 0)}
PLACES = list(BOUNDS)


class FakeConnection:
    """Answers about offsets; times are found at fixed places."""

    def __init__(self, at_time: dict[tuple[str, int], int] | None = None) -> None:
        self.at_time = at_time or {}

    def bounds(self, places: list[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
        return {place: BOUNDS[place] for place in places}

    def offsets(self, wanted: dict[tuple[str, int], Any]) -> dict[tuple[str, int], tuple[int, int]]:
        return {place: (self.at_time.get(place, -1), 0) for place in wanted}


def planned(wanted: Wanted, at_time: dict[tuple[str, int], int] | None = None) -> dict[tuple[str, int], Span]:
    return plan(cast(Connection, FakeConnection(at_time)), PLACES, wanted)


def test_by_default_everything_there_is_now() -> None:
    assert planned(Wanted()) == {("t", 0): Span(10, 100), ("t", 1): Span(0, 0)}


def test_following_begins_with_what_comes() -> None:
    assert planned(Wanted(follow=True)) == {("t", 0): Span(100, None), ("t", 1): Span(0, None)}


def test_the_last_n_never_reach_before_the_start() -> None:
    assert first_offset("-5", 10, 100) == 95
    assert first_offset("-500", 10, 100) == 10
    assert first_offset("earliest", 10, 100) == 10
    assert first_offset("latest", 10, 100) == 100


def test_since_begins_at_the_first_record_of_that_time_and_skips_partitions_without_any() -> None:
    assert planned(Wanted(since_ms=5), {("t", 0): 42}) == {("t", 0): Span(42, 100), ("t", 1): Span(0, 0)}


def test_until_stops_before_the_first_record_of_that_time() -> None:
    assert planned(Wanted(until_ms=5), {("t", 0): 42})[("t", 0)] == Span(10, 42)


def test_an_offset_outside_is_an_error_that_names_the_range() -> None:
    with pytest.raises(CliError, match="offsets 10 to 99, not 5") as caught:
        planned(Wanted(offset="5"))
    assert caught.value.exit_code == 4


def test_a_word_that_is_no_offset_is_a_usage_error() -> None:
    with pytest.raises(CliError) as caught:
        first_offset("soon", 0, 1)
    assert caught.value.exit_code == 2


def topic_led_by(*leaders: int) -> TopicMetadata:
    topic = TopicMetadata()
    topic.partitions = {}
    for number, leader in enumerate(leaders):
        topic.partitions[number] = PartitionMetadata()
        topic.partitions[number].leader = leader
    return topic


def test_a_partition_without_a_leader_is_an_error_and_not_an_empty_answer() -> None:
    topics = {"t": topic_led_by(1, -1)}
    with pytest.raises(CliError, match=r"no leader for t\[1\]"):
        all_led([("t", 0), ("t", 1)], topics)


def test_partitions_that_are_led_can_be_read_while_another_is_not() -> None:
    all_led([("t", 0)], {"t": topic_led_by(1, -1)})
