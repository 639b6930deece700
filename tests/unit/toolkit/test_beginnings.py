"""Where partitions begin that the client could not place: at the committed offset if there is one, however late."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED, KafkaError, KafkaException, TopicPartition

from tapelog.toolkit.beginnings import RETRY_S, Beginnings
from tapelog.toolkit.records import Place
from tests.unit.toolkit.fakes import Clock, FakeMessage, error
from tests.unit.toolkit.test_engine import Handler, bench

HERE, THERE = ("in", 0), ("in", 1)
UNKNOWN = error(KafkaError._AUTO_OFFSET_RESET)
NONE = -1001


class Asked:
    """A consumer that knows committed offsets, or cannot tell yet."""

    def __init__(self) -> None:
        self.offsets: dict[Place, int | KafkaError] = {}
        self.positions: dict[Place, int] = {}
        self.ends = (0, 100)
        self.calls: list[tuple[str, list[tuple[int, int]]]] = []
        self.refuse: KafkaError | None = None

    def committed(self, parts: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        found = self.offsets.get((parts[0].topic, parts[0].partition), NONE)
        if isinstance(found, KafkaError):
            raise KafkaException(found)
        return [TopicPartition(parts[0].topic, parts[0].partition, found)]

    def get_watermark_offsets(self, part: TopicPartition, timeout: float, cached: bool) -> tuple[int, int]:
        assert not cached
        return self.ends

    def position(self, parts: list[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(p.topic, p.partition, self.positions.get((p.topic, p.partition), NONE)) for p in parts]

    def _note(self, name: str, parts: list[TopicPartition]) -> None:
        if self.refuse is not None:
            raise KafkaException(self.refuse)
        self.calls.append((name, [(part.partition, part.offset) for part in parts]))

    def assign(self, parts: list[TopicPartition]) -> None:
        self._note("assign", parts)

    def incremental_assign(self, parts: list[TopicPartition]) -> None:
        self._note("begin", parts)

    def incremental_unassign(self, parts: list[TopicPartition]) -> None:
        self._note("end", parts)


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


def test_an_offset_in_an_open_transaction_is_waited_for_and_others_do_not_wait_with_it() -> None:
    asked, beginnings, clock = made()
    asked.offsets = {HERE: error(KafkaError._TIMED_OUT), THERE: 7}
    beginnings.report(HERE, UNKNOWN)
    beginnings.report(THERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    assert begun(asked) == []
    beginnings.place({HERE, THERE})
    assert begun(asked) == []  # not asked again at once
    clock.pass_(RETRY_S)
    beginnings.place({HERE, THERE})
    assert begun(asked) == [(1, 7)]
    asked.offsets[HERE] = 20
    clock.pass_(RETRY_S)
    beginnings.place({HERE, THERE})
    assert begun(asked) == [(1, 7), (0, 20)]


@pytest.mark.parametrize(("start", "offset"), [("earliest", OFFSET_BEGINNING), ("latest", OFFSET_END)])
@pytest.mark.parametrize("committed", [NONE, 4, 101])
def test_without_an_offset_or_with_one_that_is_gone_it_begins_where_the_loop_says(
    start: str, offset: int, committed: int
) -> None:
    asked, beginnings, _ = made(start)
    asked.offsets[HERE], asked.ends = committed, (5, 100)
    beginnings.report(HERE, UNKNOWN)
    beginnings.place({HERE})
    assert begun(asked) == [(0, offset)]


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


def test_what_the_client_refuses_now_is_tried_again_and_a_partition_that_is_gone_is_not() -> None:
    asked, beginnings, clock = made()
    asked.offsets, asked.refuse = {HERE: 1, THERE: 2}, error(KafkaError._STATE)
    beginnings.report(HERE, UNKNOWN)
    beginnings.report(THERE, UNKNOWN)
    beginnings.place({HERE, THERE})
    beginnings.forget([HERE])
    asked.refuse = None
    clock.pass_(RETRY_S)
    beginnings.place({THERE})
    assert begun(asked) == [(1, 2)]


def test_a_loop_takes_the_clients_question_as_one_and_goes_on() -> None:
    run, _ = bench("exactly", Handler())
    asked: Any = run.consumer
    asked.committed = lambda parts, timeout: [TopicPartition(parts[0].topic, parts[0].partition, 3)]
    asked.get_watermark_offsets = lambda part, timeout, cached: (0, 9)
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
