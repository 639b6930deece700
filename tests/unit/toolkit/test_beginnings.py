"""Where partitions begin that the client could not place: at the committed offset if there is one, however late."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, KafkaError, KafkaException, TopicPartition

from tapelog.toolkit.beginnings import RETRY_S, Beginnings
from tapelog.toolkit.records import Place
from tests.unit.toolkit.fakes import Clock, FakeMessage, error
from tests.unit.toolkit.test_engine import Handler, bench, values

HERE, THERE = ("in", 0), ("in", 1)
UNKNOWN = error(KafkaError._AUTO_OFFSET_RESET)
NONE = -1001


class Asked:
    """A consumer that knows committed offsets, or cannot tell yet."""

    def __init__(self) -> None:
        self.offsets: dict[Place, int | KafkaError] = {}
        self.positions: dict[Place, int] = {}
        self.ends = (0, 100)
        self.held = [HERE, THERE]
        self.questions: list[list[int]] = []
        self.calls: list[tuple[str, list[tuple[int, int]]]] = []
        self.refuse: dict[str, KafkaError] = {}

    def committed(self, parts: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self.questions.append([part.partition for part in parts])
        told = []
        for part in parts:
            found = self.offsets.get((part.topic, part.partition), NONE)
            if isinstance(found, KafkaError):
                raise KafkaException(found)
            told.append(TopicPartition(part.topic, part.partition, found))
        return told

    def get_watermark_offsets(self, part: TopicPartition, timeout: float, cached: bool) -> tuple[int, int]:
        assert not cached
        return self.ends

    def position(self, parts: list[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(p.topic, p.partition, self.positions.get((p.topic, p.partition), NONE)) for p in parts]

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(*place) for place in self.held]

    def _note(self, name: str, parts: list[TopicPartition]) -> None:
        if name in self.refuse:
            raise KafkaException(self.refuse[name])
        self.calls.append((name, [(part.partition, part.offset) for part in parts]))

    def assign(self, parts: list[TopicPartition]) -> None:
        self._note("assign", parts)

    def incremental_assign(self, parts: list[TopicPartition]) -> None:
        self._note("begin", parts)
        self.held += [(part.topic, part.partition) for part in parts]

    def incremental_unassign(self, parts: list[TopicPartition]) -> None:
        self._note("end", parts)
        self.held = [place for place in self.held if place not in {(part.topic, part.partition) for part in parts}]


def made(start: str = "earliest", *, incremental: bool = True) -> tuple[Asked, Beginnings, Clock]:
    asked, clock = Asked(), Clock()
    return asked, Beginnings(asked, start, clock, incremental=incremental), clock  # type: ignore[arg-type]


def begun(asked: Asked) -> list[tuple[int, int]]:
    return [one for name, parts in asked.calls if name in ("begin", "assign") for one in parts]


def test_a_partition_with_a_committed_offset_begins_there_although_the_client_did_not_see_it() -> None:
    asked, beginnings, _ = made()
    asked.offsets[HERE] = 20
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    assert asked.calls == [("end", [(0, NONE)]), ("begin", [(0, 20)])]
    beginnings.place({HERE, THERE})
    assert len(asked.calls) == 2


def test_an_offset_in_an_open_transaction_is_waited_for_and_others_do_not_wait_with_it_for_ever() -> None:
    asked, beginnings, clock = made()
    parts = [("in", number) for number in range(8)]
    asked.offsets = dict.fromkeys(parts, 7) | {parts[0]: error(KafkaError._TIMED_OUT)}
    for place in parts:
        beginnings.report(place, UNKNOWN)
    beginnings.place(set(parts))
    assert asked.questions == [list(range(8))]  # all in one question
    beginnings.place(set(parts))
    assert len(asked.questions) == 1  # not asked again at once
    for _ in range(8):
        clock.pass_(RETRY_S)
        beginnings.place(set(parts))
    assert sorted(begun(asked)) == [(number, 7) for number in range(1, 8)]
    asked.offsets[parts[0]] = 20
    clock.pass_(RETRY_S)
    beginnings.place(set(parts))
    assert begun(asked)[-1] == (0, 20)


@pytest.mark.parametrize(("start", "offset"), [("earliest", OFFSET_BEGINNING), ("latest", 100)])
def test_without_an_offset_it_begins_where_the_loop_says(start: str, offset: int) -> None:
    asked, beginnings, _ = made(start)
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE})
    assert begun(asked) == [(0, offset)]


@pytest.mark.parametrize(("start", "offset"), [("earliest", OFFSET_BEGINNING), ("latest", 100)])
def test_an_offset_counts_as_gone_only_after_nothing_was_found_there(start: str, offset: int) -> None:
    asked, beginnings, _ = made(start)
    asked.offsets[HERE] = 101  # above the end that a reader of committed records is told, yet there
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE})
    assert begun(asked) == [(0, 101)]
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE})
    assert begun(asked) == [(0, 101), (0, offset)]
    beginnings.forget([HERE])  # and in another assignment it is asked for again
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE})
    assert begun(asked)[2:] == [(0, 101)]


def test_without_an_offset_it_is_an_error_if_the_loop_says_so() -> None:
    _, beginnings, _ = made("error")
    beginnings.report(HERE, UNKNOWN)
    with pytest.raises(KafkaException) as raised:
        beginnings.place({HERE})
    assert raised.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET


def test_an_eager_member_assigns_everything_anew_and_the_others_go_on_where_they_are() -> None:
    asked, beginnings, _ = made(incremental=False)
    asked.offsets[HERE], asked.positions[THERE] = 20, 33
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE, THERE, ("in", 2)})
    assert asked.calls == [("assign", [(0, 20), (1, 33), (2, OFFSET_STORED)])]


def test_an_eager_member_that_has_read_nothing_yet_keeps_where_it_was_told_to_begin() -> None:
    asked, beginnings, _ = made("latest", incremental=False)
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    asked.ends = (0, 140)
    beginnings.report(THERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    assert asked.calls == [("assign", [(0, 100), (1, OFFSET_STORED)]), ("assign", [(1, 140), (0, 100)])]


def test_what_the_client_refuses_now_is_tried_again_and_a_partition_that_is_gone_is_not() -> None:
    asked, beginnings, clock = made()
    asked.offsets, asked.refuse = {HERE: 1, THERE: 2}, {"begin": error(KafkaError._STATE)}
    beginnings.report(HERE, UNKNOWN)
    beginnings.report(THERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    beginnings.forget([HERE])
    asked.refuse = {"end": error(KafkaError._STATE)}  # what it does not hold any more it cannot give up
    clock.pass_(RETRY_S)
    beginnings.place({THERE})
    assert begun(asked) == [(1, 2)]


def test_a_loop_takes_the_clients_question_as_one_and_goes_on() -> None:
    run, _ = bench("exactly", Handler())
    asked: Any = run.consumer
    asked.committed = lambda parts, timeout: [TopicPartition(parts[0].topic, parts[0].partition, 3)]
    asked.assignment = list
    assigned: list[int] = []
    asked.incremental_unassign = lambda parts: None
    asked.incremental_assign = lambda parts: assigned.extend(part.offset for part in parts)
    run.owns(0)
    for partition in (0, 1):  # of the second, it is not the owner any more
        message = FakeMessage("in", partition, NONE)
        message._error = UNKNOWN
        run.consumer.queue.append(message)
    run.turn(2)
    assert assigned == [3]


def test_a_partition_that_begins_anew_comes_without_what_was_read_of_it_before() -> None:
    handle = Handler()
    run, producer = bench("exactly", handle, seconds=100.0)
    asked: Any = run.consumer
    asked.committed = lambda parts, timeout: [TopicPartition(parts[0].topic, parts[0].partition, 3)]
    asked.assignment = list
    asked.incremental_assign = lambda parts: None
    run.owns(0, 1)
    run.consumer.give("in", 0, 7, 8)
    run.consumer.give("in", 1, 5)
    run.turn()
    assert handle.seen == ["0:7", "0:8", "1:5"]
    message = FakeMessage("in", 0, NONE)
    message._error = UNKNOWN
    run.consumer.queue.append(message)
    run.consumer.give("in", 0, 3, 4)
    run.turn(2)
    run.clock.pass_(200)
    run.turn(3)
    assert producer.offsets == {HERE: 5, THERE: 6}
    assert sorted(handle.seen[3:]) == ["0:3", "0:4", "1:5"]
    assert sorted(values(producer)) == ["0:3", "0:4", "1:5"]
