"""The inbox: order within partitions, waiting partitions, work that comes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.toolkit.inbox import Inbox
from tapelog.toolkit.records import Record
from tests.unit.toolkit.fakes import offsets, record


def filled(*records: Record) -> Inbox:
    inbox = Inbox()
    for one in records:
        inbox.put(one)
    return inbox


def test_records_of_a_partition_come_out_in_order_and_partitions_take_turns() -> None:
    inbox = filled(record(1), record(2), record(3), record(1, 1))
    assert offsets(inbox.take(0, 2)) == [1, 2]
    assert [(one.partition, one.offset) for one in inbox.take(0, 2)] == [(1, 1), (0, 3)]
    assert len(inbox) == 0


def test_what_is_put_back_comes_first_again() -> None:
    inbox = filled(record(1), record(2), record(3))
    inbox.put_back(reversed(inbox.take(0, 2)))
    assert offsets(inbox.take(0, 9)) == [1, 2, 3]


def test_a_delayed_partition_waits_and_the_others_go_on() -> None:
    inbox = filled(record(1), record(5, 1))
    inbox.delay(("in", 0), 100.0)
    assert offsets(inbox.take(99, 9)) == [5]
    assert (inbox.waiting(99), inbox.next_due(99), inbox.ready(99)) == ({("in", 0)}, 100.0, 0)
    assert offsets(inbox.take(100, 9)) == [1]
    assert inbox.next_due(100) is None


def test_a_record_that_is_not_due_holds_its_partition() -> None:
    waits = {2: 30.0}
    inbox = Inbox(lambda one: waits.get(one.offset, 0.0))
    for one in (record(1), record(2), record(3)):
        inbox.put(one)
    assert offsets(inbox.take(0, 9)) == [1]
    assert inbox.next_due(0) == 30.0
    waits.clear()
    assert offsets(inbox.take(30, 9)) == [2, 3]


def test_a_closed_inbox_gives_out_nothing_until_it_opens() -> None:
    inbox = filled(record(1))
    inbox.close(5.0)
    assert not inbox.take(4, 9) and inbox.next_due(4) == 5.0
    assert offsets(inbox.take(5, 9)) == [1]


def test_what_was_given_up_is_forgotten_with_its_delays() -> None:
    inbox = filled(record(1), record(1, 1))
    inbox.delay(("in", 0), 100.0)
    inbox.forget([("in", 0)])
    assert (len(inbox), inbox.next_due(0)) == (1, None)
    inbox.put(record(4))
    assert {(one.partition, one.offset) for one in inbox.take(0, 9)} == {(1, 1), (0, 4)}


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=30), st.integers(1, 3))
def test_every_record_comes_out_once_in_order_however_often_some_are_put_back(
    turns: list[tuple[int, bool]], partitions: int
) -> None:
    inbox = filled(*(record(offset, part) for offset in range(6) for part in range(partitions)))
    out: list[Record] = []
    for limit, back in [*turns, (99, False)]:
        taken = inbox.take(0, limit)
        if back:
            inbox.put_back(taken)
        else:
            out += taken
    assert len(inbox) == 0
    for part in range(partitions):
        assert [one.offset for one in out if one.partition == part] == list(range(6))
