"""A heartbeat whose answer was lost with its connection, sent again as it was: the member hears of its assignment."""

from __future__ import annotations

from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.unit.coordinators.bench import Bench

INTERVAL_OFF = {"group.consumer.assignment.interval.ms": "0"}


class Line:
    """Heartbeats of the members of a group, each over a connection that can be made anew."""

    def __init__(self) -> None:
        self.bench = Bench(INTERVAL_OFF)
        self.connections: dict[str, int] = {}
        self.made = 0

    def reconnect(self, member: str) -> None:
        self.made += 1
        self.connections[member] = self.made

    def beat(self, member: str, epoch: int, owned: list[int] | None = None, **more: Any) -> Any:
        if member not in self.connections:
            self.reconnect(member)
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch, **more)
        if epoch == 0:
            request.rebalance_timeout_ms, request.subscribed_topic_names = 30_000, ["orders"]
            owned = []
        if owned is not None:
            topic_id = self.bench.topics.ids["orders"]
            request.topic_partitions = [TopicPartitions(topic_id=topic_id, partitions=owned)] if owned else []
        answers: list[Any] = []
        caller = Caller(member, "/127.0.0.1", 1, connection=self.connections[member])
        self.bench.coordinator.consumer_group_heartbeat(caller, request, answers.append)
        self.bench.settle()
        return answers[0]


def assigned(answer: Any) -> list[int] | None:
    if answer.assignment is None:
        return None
    return [p for topic in answer.assignment.topic_partitions for p in topic.partitions]


def waiting_for_two() -> tuple[Line, int]:
    """b waits in its epoch for what a has just given back; its next heartbeat gets it."""
    line = Line()
    first = line.beat("a", 0)
    epoch = line.beat("b", 0).member_epoch
    assert assigned(line.beat("a", first.member_epoch)) == [0, 1]
    line.beat("a", first.member_epoch, [0, 1])
    return line, epoch


def test_a_member_that_misses_what_it_got_in_the_same_epoch_hears_of_it_over_its_next_connection() -> None:
    line, epoch = waiting_for_two()
    assert assigned(line.beat("b", epoch)) == [2, 3]  # lost on the way
    line.reconnect("b")
    assert assigned(line.beat("b", epoch)) == [2, 3]


def test_a_member_whose_connection_lives_is_told_once() -> None:
    line, epoch = waiting_for_two()
    assert assigned(line.beat("b", epoch)) == [2, 3]
    assert assigned(line.beat("b", epoch)) is None


def test_a_request_of_the_former_connection_that_comes_late_does_not_hide_the_loss() -> None:
    line, epoch = waiting_for_two()
    former = line.connections["b"]
    line.reconnect("b")
    newer = line.connections["b"]
    line.connections["b"] = former
    assert assigned(line.beat("b", epoch)) == [2, 3]  # nobody listens there any more
    line.connections["b"] = newer
    assert assigned(line.beat("b", epoch)) == [2, 3]


def test_a_member_that_leaves_is_not_remembered() -> None:
    line, _ = waiting_for_two()
    groups = line.bench.machine.consumer
    for member in ("a", "b"):
        line.beat(member, -1)
    assert groups._connections == {}


def behind() -> tuple[Line, int, int]:
    """a was moved on to what it keeps, and did not hear of it; its epoch before and after."""
    line = Line()
    former = line.beat("a", 0).member_epoch
    line.bench.topics.create("orders", 6)
    line.bench.coordinator.on_topics_changed(["orders"])
    answer = line.beat("a", former)  # lost on the way
    assert answer.member_epoch == former + 1
    return line, former, answer.member_epoch


def test_a_member_that_sends_the_heartbeat_again_that_moved_it_on_is_told_so_and_loses_nothing() -> None:
    line, former, epoch = behind()
    for _ in range(3):
        line.reconnect("a")
        answer = line.beat("a", former)
        assert (answer.error_code, answer.member_epoch, assigned(answer)) == (0, epoch, [0, 1, 2, 3, 4, 5])
    assert line.beat("a", epoch).error_code == 0


def test_a_member_that_is_behind_goes_no_further_before_it_has_heard() -> None:
    line, former, epoch = behind()
    line.beat("b", 0)
    for _ in range(2):
        line.reconnect("a")
        assert line.beat("a", former).member_epoch == epoch
    assert assigned(line.beat("a", epoch)) == [0, 1, 2]


def test_a_member_that_is_behind_and_has_changed_its_mind_is_heard() -> None:
    line, former, epoch = behind()
    line.bench.topics.create("other", 2)
    line.bench.coordinator.on_topics_changed(["other"])
    line.reconnect("a")
    answer = line.beat("a", former, subscribed_topic_names=["orders", "other"])
    assert (answer.error_code, answer.member_epoch) == (0, epoch + 1)
    assert len(assigned(answer) or []) == 8
    assert line.bench.machine.consumer.find("g").metadata.get("a").names == {"orders", "other"}


def test_a_member_in_its_former_epoch_that_does_not_say_what_it_owns_is_fenced_where_it_was_answered() -> None:
    line, former, _ = behind()
    assert line.beat("a", former).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_two_epochs_behind_is_fenced_wherever_it_comes_from() -> None:
    line, former, epoch = behind()
    line.bench.topics.create("orders", 7)
    line.bench.coordinator.on_topics_changed(["orders"])
    assert line.beat("a", epoch).member_epoch == epoch + 1
    line.reconnect("a")
    assert line.beat("a", former).error_code == ErrorCode.FENCED_MEMBER_EPOCH
