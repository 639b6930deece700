"""ConsumerGroupHeartbeat and -Describe at the door: what is refused, with which words, and what ids may not do."""

from __future__ import annotations

from typing import Any

from tapelog.coordinators.consumer.registry import rebalance_deadline, session_deadline
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tests.unit.coordinators.bench import Bench


def join(bench: Bench, group: str = "g", member: str = "m", **said: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    for name, value in said.items():
        setattr(request, name, value)
    (answer,) = bench.ask("consumer_group_heartbeat", request, 1)
    return answer


def test_refusals_say_why() -> None:
    bench = Bench()
    assert join(bench, group=" ").error_message == "GroupId can't be empty."
    fair = join(bench, server_assignor="fair")
    assert fair.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "fair" in fair.error_message and "uniform, range" in fair.error_message
    broken = join(bench, subscribed_topic_regex="(")
    assert broken.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "cannot be used" in broken.error_message
    nobody = join(bench, member_epoch=7)
    assert nobody.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert nobody.error_message
    assert join(bench).error_message is None


def test_a_broker_without_the_newer_protocol_says_so() -> None:
    bench = Bench({"group.coordinator.rebalance.protocols": "classic"})
    assert join(bench).error_code == ErrorCode.UNSUPPORTED_VERSION
    (answer,) = bench.ask("consumer_group_describe", ConsumerGroupDescribeRequest(group_ids=["g"]), 1)
    assert answer.groups[0].error_code == ErrorCode.UNSUPPORTED_VERSION


def test_no_member_can_be_mistaken_for_one_of_another_group() -> None:
    for name in (session_deadline, rebalance_deadline):
        assert name("a", "b/c") != name("a/b", "c")
    bench = Bench()
    join(bench, group="a/b", member="c")
    bench.advance(30_000)
    join(bench, group="a", member="b/c")
    bench.advance(20_000)
    assert bench.machine.consumer.find("a/b").is_empty, "its session was not prolonged by another member's"
    assert not bench.machine.consumer.find("a").is_empty


def test_nothing_is_served_while_a_shard_loads_or_after_it_went() -> None:
    bench = Bench(load=False)
    assert join(bench).error_code == ErrorCode.NOT_COORDINATOR
    bench = Bench()
    join(bench)
    bench.coordinator.runtime.on_resigned(0)
    assert join(bench).error_code == ErrorCode.NOT_COORDINATOR
    (answer,) = bench.ask("consumer_group_describe", ConsumerGroupDescribeRequest(group_ids=["g"]), 1)
    assert answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def test_ids_that_do_not_fit_a_record_are_refused_and_change_nothing() -> None:
    bench = Bench()
    assert join(bench, member="m" * 40_000).error_code != ErrorCode.NONE
    assert bench.machine.consumer.find("g") is None
    assert join(bench).error_code == ErrorCode.NONE
    bench.machine.invariants()


def test_authorized_operations_are_told_when_asked_for() -> None:
    bench = Bench()
    join(bench)
    request = ConsumerGroupDescribeRequest(group_ids=["g", "h"], include_authorized_operations=True)
    (answer,) = bench.ask("consumer_group_describe", request, 1)
    assert answer.groups[0].authorized_operations == 0b110101001000
    assert answer.groups[1].authorized_operations == -(1 << 31)
