"""Joining, syncing and leaving, beyond what the text scenarios tell: limits, versions, repeated requests."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.coordinators.classic.group import EMPTY, STABLE, TRANSITIONS, ClassicGroup
from tapelog.coordinators.classic.member import ClassicMember
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tests.unit.coordinators.bench import Bench


def joining(member_id: str = "", protocols: tuple[str, ...] = ("range",), **fields: Any) -> JoinGroupRequest:
    made = [JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in protocols]
    values: dict[str, Any] = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": made,
    }
    return JoinGroupRequest(**(values | fields))


def enter(bench: Bench, client: str = "c", **fields: Any) -> tuple[str, list[Any]]:
    """Join with the id that the group gives; the answer may still be on its way."""
    first = bench.ask("join_group", joining(**fields), 9, client)
    member_id = first[0].member_id
    return member_id, bench.ask("join_group", joining(member_id, **fields), 9, client)


def code(answers: list[Any]) -> ErrorCode:
    assert len(answers) == 1, "one answer"
    return ErrorCode(answers[0].error_code)


def test_a_member_id_is_the_client_id_and_a_random_uuid() -> None:
    bench = Bench()
    ids = [bench.ask("join_group", joining(), 9, "me")[0].member_id for _ in range(20)]
    assert len(set(ids)) == 20
    for member_id in ids:
        assert member_id.startswith("me-")
        assert [len(part) for part in member_id[3:].split("-")] == [8, 4, 4, 4, 12]
        assert member_id[3:].split("-")[2][0] == "4"


def test_a_full_group_takes_no_more_members() -> None:
    bench = Bench({"group.max.size": "2", "group.initial.rebalance.delay.ms": "100"})
    waiting = [enter(bench)[1] for _ in range(2)]
    assert code(bench.ask("join_group", joining(), 9)) == ErrorCode.GROUP_MAX_SIZE_REACHED
    bench.advance(200)
    assert [code(answers) for answers in waiting] == [ErrorCode.NONE] * 2
    assert code(bench.ask("join_group", joining(), 9)) == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_group_that_is_over_a_reduced_limit_rebalances_when_loaded() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    members = [enter(bench) for _ in range(3)]
    bench.advance(200)
    leader = members[0][0]
    request = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=leader, protocol_type="consumer", protocol_name="range"
    )
    assert code(bench.ask("sync_group", request, 5)) == ErrorCode.NONE
    smaller = Bench({"group.max.size": "2"}, log=bench.log)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=leader)
    assert code(smaller.ask("heartbeat", beat, 4)) == ErrorCode.REBALANCE_IN_PROGRESS
    answers = [smaller.ask("join_group", joining(member_id), 9) for member_id, _ in members]
    assert code(answers[2]) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [code(given) for given in answers[:2]] == [ErrorCode.NONE] * 2


def test_the_protocol_that_most_members_prefer_is_chosen() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    wishes = [("range", "sticky"), ("sticky", "range", "odd"), ("sticky", "range")]
    waiting = [enter(bench, protocols=wish)[1] for wish in wishes]
    bench.advance(1000)
    assert {answers[0].protocol_name for answers in waiting} == {"sticky"}
    leader = next(answers[0] for answers in waiting if answers[0].members)
    assert [member.metadata for member in leader.members] == [b"sticky"] * 3


def test_of_two_protocols_with_one_name_the_first_counts() -> None:
    bench = Bench()
    protocols = [
        JoinGroupRequestProtocol(name="range", metadata=b"1"),
        JoinGroupRequestProtocol(name="range", metadata=b"2"),
    ]
    request = joining()
    request.protocols = protocols
    assert bench.ask("join_group", request, 3)[0].members[0].metadata == b"1"


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", ("range",)), ("consumer", ())])
def test_a_refused_join_leaves_no_group_behind(protocol_type: str, protocols: tuple[str, ...]) -> None:
    bench = Bench()
    answers = bench.ask("join_group", joining(protocol_type=protocol_type, protocols=protocols), 9)
    assert code(answers) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.log.appends == 0
    assert bench.machine.state.group_ids() == []


def test_version_0_has_only_a_session_timeout() -> None:
    bench = Bench()
    bench.ask("join_group", joining(rebalance_timeout_ms=-1), 0)
    group = bench.machine.classic.find("g")
    assert [member.rebalance_timeout_ms for member in group.members.values()] == [10_000]


def test_a_join_that_is_sent_again_replaces_the_first() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    member_id, first = enter(bench)
    second = bench.ask("join_group", joining(member_id), 9)
    assert code(first) == ErrorCode.REBALANCE_IN_PROGRESS
    bench.advance(200)
    assert code(second) == ErrorCode.NONE


def test_a_join_that_is_sent_again_after_its_answer_was_lost_gets_the_same_generation() -> None:
    bench = Bench()
    member_id, first = enter(bench)
    again = bench.ask("join_group", joining(member_id), 9)
    assert again[0] == first[0]


def test_a_sync_that_is_sent_again_replaces_the_first() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    leader, _ = enter(bench)
    follower, _ = enter(bench)
    bench.advance(300)

    def sync(member_id: str) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id="g", generation_id=1, member_id=member_id, protocol_type="consumer", protocol_name="range"
        )

    first = bench.ask("sync_group", sync(follower), 5)
    second = bench.ask("sync_group", sync(follower), 5)
    assert code(first) == ErrorCode.REBALANCE_IN_PROGRESS
    assert code(bench.ask("sync_group", sync(leader), 5)) == ErrorCode.NONE
    assert code(second) == ErrorCode.NONE


def test_a_sync_must_speak_the_protocol_that_was_chosen() -> None:
    bench = Bench()
    member_id, _ = enter(bench)
    for kind, name in [("connect", "range"), ("consumer", "sticky")]:
        request = SyncGroupRequest(
            group_id="g", generation_id=1, member_id=member_id, protocol_type=kind, protocol_name=name
        )
        assert code(bench.ask("sync_group", request, 5)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    unnamed = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id)
    assert code(bench.ask("sync_group", unnamed, 5)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert code(bench.ask("sync_group", unnamed, 4)) == ErrorCode.NONE


def test_a_new_member_whose_first_join_takes_too_long_is_given_up() -> None:
    bench = Bench()
    leader, _ = enter(bench, rebalance_timeout_ms=1_000_000)
    sync = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=leader, protocol_type="consumer", protocol_name="range"
    )
    bench.ask("sync_group", sync, 5)
    _, waiting = enter(bench, rebalance_timeout_ms=1_000_000)
    for _ in range(60):
        assert waiting == []
        bench.ask("heartbeat", HeartbeatRequest(group_id="g", generation_id=1, member_id=leader), 4)
        bench.advance(5_000)
    assert code(waiting) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [6, 7])
def test_no_protocol_is_null_where_null_can_be_said(version: int) -> None:
    answers = Bench().ask("join_group", joining(session_timeout_ms=1), version)
    assert answers[0].protocol_name == (None if version >= 7 else "")
    answers[0].tobytes(version)


def test_requests_without_a_group_name_are_refused() -> None:
    bench = Bench()
    assert code(bench.ask("join_group", joining(group_id=""), 9)) == ErrorCode.INVALID_GROUP_ID
    assert code(bench.ask("sync_group", SyncGroupRequest(), 4)) == ErrorCode.INVALID_GROUP_ID
    assert code(bench.ask("heartbeat", HeartbeatRequest(), 4)) == ErrorCode.INVALID_GROUP_ID
    assert code(bench.ask("leave_group", LeaveGroupRequest(), 5)) == ErrorCode.INVALID_GROUP_ID


def test_leaving_a_group_that_is_not_there_is_said_of_each_member() -> None:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="x"), MemberIdentity(member_id="y")])
    response = Bench().ask("leave_group", request, 5)[0]
    assert response.error_code == ErrorCode.NONE
    assert [member.error_code for member in response.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_while_a_shard_loads_heartbeats_are_welcome_and_joins_are_not() -> None:
    bench = Bench(load=False)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="x")
    assert code(bench.ask("heartbeat", beat, 4)) == ErrorCode.NOT_COORDINATOR
    log = bench.log
    full = Bench(log=log)
    for name in ("g", "h", "i"):
        enter(full, group_id=name)
    loading = Bench(load=False, log=log)
    loading.coordinator.runtime._load_bytes_max = 1
    loading.coordinator.runtime.on_elected(0, 2)
    assert code(loading.ask("heartbeat", beat, 4, settle=False)) == ErrorCode.NONE
    assert code(loading.ask("join_group", joining(), 9, settle=False)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_thousand_members_join_in_reasonable_steps() -> None:
    """Joining costs the same whether the group is small or large: no member is looked at for another's join."""
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    waiting = [enter(bench, client=f"c{i}")[1] for i in range(1000)]
    bench.advance(60_000)
    assert all(code(answers) == ErrorCode.NONE for answers in waiting)
    assert sum(len(answers[0].members) for answers in waiting) == 1000


def test_a_group_refuses_transitions_that_the_table_lacks() -> None:
    for state, targets in TRANSITIONS.items():
        for target in TRANSITIONS:
            group = ClassicGroup("g", state, 0)
            if target in targets:
                group.transition(target, 5)
                assert (group.state, group.previous_state, group.state_since_ms) == (target, state, 5)
            else:
                with pytest.raises(AssertionError, match=f"{state} to {target}"):
                    group.transition(target, 5)


def test_a_consumer_group_that_cannot_be_read_may_be_subscribed_to_anything() -> None:
    group = ClassicGroup("g", STABLE, 0)
    group.add(ClassicMember("m", None, "c", "/h", 1, 1, "consumer", [("range", b"\xff")]), None)
    group.protocol = "range"
    assert group.compute_subscribed() is None
    assert group.is_subscribed_to("orders")
    empty = ClassicGroup("g", EMPTY, 0)
    assert not empty.is_subscribed_to("orders")
