"""Which offsets are read: the plan, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import PartitionMetadata, TopicMetadata

from tapelog.cli.connect import Connection
from tapelog.cli.consume import Span, Stalled, Wanted, all_led, first_offset, plan, read_group, read_spans
from tapelog.cli.output import CliError, reset_consoles

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


def message(partition: int, offset: int, code: int | None = None) -> Any:
    told = {"topic": "t", "partition": partition, "offset": offset, "headers": None, "timestamp": (1, 5)}
    told |= {"key": None, "value": b"v", "error": None if code is None else KafkaError(code)}
    return SimpleNamespace(**{name: lambda value=value: value for name, value in told.items()})


class Reading:
    """A connection whose consumer gives these messages, one in each poll."""

    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)

    def consumer(self, group: str, **properties: Any) -> Reading:
        return self

    def assign(self, places: list[Any]) -> None: ...

    def close(self) -> None: ...

    def consume(self, limit: int, wait_s: float) -> list[Any]:
        return [self.messages.pop(0)]


def read(spans: dict[tuple[str, int], Span], *messages: Any) -> list[tuple[int, int]]:
    records = read_spans(cast(Connection, Reading(*messages)), spans)
    return [(record.partition, record.offset) for record in records]


@pytest.mark.parametrize("code", [KafkaError._BAD_MSG, KafkaError.INVALID_MSG], ids=["client", "broker"])
def test_damage_behind_what_is_wanted_does_not_keep_the_other_partitions_from_being_read(code: int) -> None:
    spans = {("t", 0): Span(0, 1), ("t", 1): Span(0, 1)}
    assert read(spans, message(0, 0), message(0, 7, code), message(1, 0)) == [(0, 0), (1, 0)]


def test_damage_that_follows_at_once_is_the_end_of_what_is_wanted() -> None:
    spans = {("t", 0): Span(0, 3)}  # the last offset before the end is a marker: no record is given for it
    assert read(spans, message(0, 0), message(0, 3, KafkaError._BAD_MSG)) == [(0, 0)]


def test_damage_among_what_is_wanted_is_an_error() -> None:
    with pytest.raises(CliError, match=r"t\[0\] is damaged"):
        read({("t", 0): Span(0, 3)}, message(0, 0), message(0, 1, KafkaError._BAD_MSG))


def test_who_waits_for_records_that_are_there_is_told_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("tapelog.cli.consume.time", SimpleNamespace(monotonic=lambda: now[0]))
    stalled = Stalled()

    def told(seconds: float, came: bool, places: list[tuple[str, int]]) -> str:
        now[0] += seconds
        stalled.look(came, places)
        return capsys.readouterr().err

    place = ("orders", 3)
    assert not told(9.0, False, [place])
    assert not told(99.0, False, []), "at the end of what there is nobody wonders"
    assert "orders[3]" in told(0.2, False, [place])
    assert not told(99.0, False, [place])
    assert not told(1.0, True, [place])
    assert "orders[3]" in told(10.0, False, [place])


class Member:
    """A group's consumer that gets nothing, whose commits are refused with these errors in turn; then the user ends
    it. Stands for the connection, too."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.commits = 0

    def consumer(self, group: str, **properties: Any) -> Member:
        return self

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        pass

    def consume(self, most: int, seconds: float) -> list[Any]:
        if self.commits == len(self.codes):
            raise KeyboardInterrupt
        return []

    def assignment(self) -> list[Any]:
        return []

    def commit(self, *, asynchronous: bool) -> None:
        self.commits += 1
        if self.commits <= len(self.codes):
            raise KafkaException(KafkaError(self.codes[self.commits - 1]))

    def close(self) -> None:
        pass

    def explained(self, error: KafkaException, *, group: str) -> CliError:
        return CliError(f"{group}: {error.args[0].name()}")


def read_as(member: Member, *, follow: bool) -> None:
    reset_consoles()
    list(read_group(cast(Connection, member), ["t"], "g", follow, "earliest"))


LOST = (KafkaError._WAIT_COORD, KafkaError._ASSIGNMENT_LOST, KafkaError._ASSIGNMENT_LOST, KafkaError._TIMED_OUT)


def test_a_group_that_follows_outlives_its_coordinator_and_says_once_what_that_means(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt):
        read_as(Member(*LOST, KafkaError._NO_OFFSET, KafkaError._WAIT_COORD), follow=True)
    printed = capsys.readouterr()
    assert printed.err.count("may be shown again") == 2 and printed.out == "", "twice away, so twice told"


def test_what_will_not_pass_ends_it_and_so_does_anything_without_follow() -> None:
    with pytest.raises(CliError, match="g: GROUP_AUTHORIZATION_FAILED"):
        read_as(Member(KafkaError.GROUP_AUTHORIZATION_FAILED), follow=True)
    with pytest.raises(CliError, match="g: _WAIT_COORD"):
        read_as(Member(KafkaError._WAIT_COORD), follow=False)
