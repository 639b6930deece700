"""Replicas move while they serve."""

from __future__ import annotations

from tapelog.metadata.describe_state import list_partition_reassignments_response
from tapelog.metadata.image import NO_LEADER
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tests.unit.metadata.desk import Desk, directory
from tests.unit.metadata.test_alter_partition import ask


def move(desk: Desk, replicas: list[int] | None, index: int = 0, topic: str = "t", resize: bool = True) -> int:
    """The error code of one move."""
    part = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=resize, topics=[ReassignableTopic(name=topic, partitions=[part])]
    )
    response = desk.run(lambda image: desk.controller.alter_partition_reassignments(image, request))
    return response.responses[0].partitions[0].error_code


def moving(desk: Desk) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    part = desk.partition()
    return part.replicas, part.adding_replicas, part.removing_replicas


def five(*replicas: int) -> Desk:
    desk = Desk(brokers=5)
    desk.create("t", list(replicas))
    return desk


def test_new_replicas_join_first_and_old_ones_leave_when_all_new_ones_are_in_sync() -> None:
    desk = five(1, 2)
    assert move(desk, [3, 4]) == 0
    assert moving(desk) == ((3, 4, 1, 2), (3, 4), (1, 2))
    assert desk.partition().directories == tuple(directory(id) for id in (3, 4, 1, 2))
    assert desk.state() == (1, (1, 2), ())
    listed = list_partition_reassignments_response(desk.image, ListPartitionReassignmentsRequest(topics=None))
    assert [(p.partition_index, p.adding_replicas) for p in listed.topics[0].partitions] == [(0, [3, 4])]
    ask(desk, [1, 2, 3])
    assert moving(desk) == ((3, 4, 1, 2), (3, 4), (1, 2))
    ask(desk, [1, 2, 3, 4])
    assert moving(desk) == ((3, 4), (), ())
    assert desk.state() == (3, (3, 4), ())


def test_another_order_of_the_same_replicas_is_done_at_once() -> None:
    desk = five(1, 2, 3)
    assert move(desk, [3, 1, 2]) == 0
    assert moving(desk) == ((3, 1, 2), (), ())
    assert desk.state()[0] == 1


def test_fewer_replicas_are_done_at_once_and_a_lost_leader_is_replaced() -> None:
    desk = five(1, 2, 3)
    assert move(desk, [2, 3]) == 0
    assert moving(desk) == ((2, 3), (), ())
    assert desk.state() == (2, (2, 3), ())


def test_a_move_can_be_taken_back() -> None:
    desk = five(1, 2)
    move(desk, [3, 4])
    ask(desk, [1, 2, 3])
    assert move(desk, None) == 0
    assert moving(desk) == ((1, 2), (), ())
    assert desk.state() == (1, (1, 2), ())


def test_there_must_be_something_to_take_back() -> None:
    assert move(five(1, 2), None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_move_whose_new_replicas_alone_are_in_sync_is_not_taken_back() -> None:
    desk = five(1)
    move(desk, [2, 3])
    ask(desk, [1, 2])
    desk.silence(1)
    assert desk.state() == (2, (2,), ())
    assert move(desk, None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_move_may_be_changed_under_way() -> None:
    desk = five(1, 2)
    move(desk, [3, 2])
    assert move(desk, [4, 2]) == 0
    assert moving(desk) == ((4, 2, 1), (4,), (1,))
    assert move(desk, None) == 0
    assert sorted(moving(desk)[0]) == [1, 2]


def test_whoever_cannot_be_is_refused() -> None:
    desk = five(1, 2)
    bad = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert [move(desk, ids) for ids in ([], [1, 1], [9], [-1])] == [bad] * 4
    assert move(desk, [1], index=7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(desk, [1], topic="u") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_replication_factor_may_be_held_fixed() -> None:
    desk = five(1, 2)
    assert move(desk, [1, 2, 3], resize=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(desk, [3, 4], resize=False) == 0
    assert move(desk, [1], resize=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(desk, [1, 5], resize=False) == 0


def test_replicas_move_away_from_a_dead_broker() -> None:
    desk = five(1, 2)
    desk.silence(2)
    assert move(desk, [1, 3]) == 0
    ask(desk, [1, 3])
    assert moving(desk) == ((1, 3), (), ())
    assert desk.state() == (1, (1, 3), ())


def test_a_topic_whose_replicas_are_all_dead_can_be_moved_but_waits_for_its_records() -> None:
    desk = five(1)
    desk.silence(1)
    assert move(desk, [2]) == 0
    assert moving(desk) == ((2, 1), (2,), (1,))
    assert desk.state() == (NO_LEADER, (), (1,))
    desk.beat(1)
    ask(desk, [1, 2])
    assert moving(desk) == ((2,), (), ())
    assert desk.state() == (2, (2,), ())
