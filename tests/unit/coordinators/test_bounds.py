"""What clients can make a coordinator remember: bounded, or no more than what is written down as well."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from tapelog.coordinators.classic import ledger, registry
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tests.unit.coordinators.bench import Bench

MEBIBYTE = 1024 * 1024


def joining(group: str = "g", member: str = "", size: int = 10, **fields: Any) -> JoinGroupRequest:
    protocol = JoinGroupRequestProtocol(name="p", metadata=b"x" * size)
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member,
        protocol_type="t",
        protocols=[protocol],
        **fields,
    )


def join(bench: Bench, group: str = "g", size: int = 10) -> Any:
    """Ask for an id, join with it; the answer."""
    answer = bench.ask("join_group", joining(group, size=size), 9)[0]
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        answer = bench.ask("join_group", joining(group, answer.member_id, size), 9)[0]
    return answer


def joining_anew(member: str, names: list[str], group: str = "g") -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=names,
        topic_partitions=[],
    )


def held(bench: Bench) -> int:
    """What the classic groups hold."""
    return int(bench.machine.classic.ledger.held_bytes)


def test_metadata_that_can_never_be_written_is_refused_when_it_comes() -> None:
    bench = Bench()
    assert join(bench, size=9 * MEBIBYTE).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert held(bench) == 0
    assert join(bench).error_code == ErrorCode.NONE


def test_a_coordinator_that_holds_enough_sends_newcomers_away_and_keeps_its_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger, "COORDINATOR_BYTES_MAX", 3 * MEBIBYTE)
    bench = Bench()
    ids = [join(bench, f"g{number}", MEBIBYTE).member_id for number in range(3)]
    assert join(bench, "g4").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    again = bench.ask("join_group", joining("g0", ids[0], MEBIBYTE), 9)[0]
    assert again.error_code == ErrorCode.NONE, "a member that brings no more may come back"
    bench.machine.invariants()
    bench.ask("leave_group", LeaveGroupRequest(group_id="g0", members=[MemberIdentity(member_id=ids[0])]), 5)
    assert join(bench, "g4").error_code == ErrorCode.NONE
    bench.coordinator.runtime.on_resigned(0)
    bench.coordinator.runtime.on_elected(0, 2)
    bench.settle()
    assert held(bench) < MEBIBYTE, "nothing of a shard that is gone counts"


def test_of_ids_given_out_only_the_newest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PENDING_MAX", 50)
    bench = Bench()
    ids = [bench.ask("join_group", joining(f"g{number % 5}"), 9)[0].member_id for number in range(500)]
    pending = sum(len(group.pending_joins) for group in bench.machine.classic.active.values())
    assert pending == 50
    assert len(bench.machine.classic.context.deadlines) <= 60
    oldest = bench.ask("join_group", joining("g0", ids[0]), 9)[0]
    assert oldest.error_code == ErrorCode.UNKNOWN_MEMBER_ID, "it asks for another"
    newest = bench.ask("join_group", joining("g4", ids[-1]), 9)
    bench.advance(70_000)
    assert newest[0].error_code == ErrorCode.NONE
    bench.machine.invariants()


def test_who_has_joined_with_its_id_keeps_it_however_many_are_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PENDING_MAX", 3)
    bench = Bench()
    member_id = join(bench).member_id
    for _ in range(10):
        bench.ask("join_group", joining("g"), 9)
    assert list(bench.machine.classic.find("g").members) == [member_id]
    bench.machine.invariants()


def test_strangers_leave_nothing_behind() -> None:
    bench = Bench()
    join(bench)
    bench.ask("consumer_group_heartbeat", joining_anew("a", ["orders"], "new"), 1)
    before = bench.machine.state.snapshot(), len(bench.machine.classic.context.deadlines), bench.log.end_offset(0)
    for number in range(200):
        name = f"stranger-{number}"
        for group in ("g", "new", name):
            bench.ask("heartbeat", HeartbeatRequest(group_id=group, generation_id=1, member_id=name), 4)
            bench.ask("join_group", joining(group, name), 9)
            sync = SyncGroupRequest(
                group_id=group, generation_id=1, member_id=name, protocol_type="t", protocol_name="p"
            )
            bench.ask("sync_group", sync, 5)
            beat = ConsumerGroupHeartbeatRequest(group_id=group, member_id=name, member_epoch=3)
            bench.ask("consumer_group_heartbeat", beat, 1)
            part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
            topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
            commit = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=7, member_id=name, topics=topics)
            bench.ask("offset_commit", commit, 9)
    after = bench.machine.state.snapshot(), len(bench.machine.classic.context.deadlines), bench.log.end_offset(0)
    assert after == before
    assert bench.machine.consumer.seen.keys() <= {"new"}


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([f"t{number}" for number in range(50_001)], "50001 names"),
        ([f"{number}".rjust(200, "t") for number in range(6_000)], "1000000 characters"),
    ],
    ids=["too many", "too long"],
)
def test_a_subscription_that_is_too_long_is_refused(names: list[str], reason: str) -> None:
    bench = Bench()
    answer = bench.ask("consumer_group_heartbeat", joining_anew("a", names), 1)[0]
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert reason in answer.error_message
    assert bench.machine.consumer.find("g") is None


def test_a_record_that_is_too_large_leaves_nothing_behind() -> None:
    """4 MiB is what can be written at once; a group above that stays what it was."""
    bench = Bench()
    member = join(bench, size=5 * MEBIBYTE)
    assignment = SyncGroupRequest(
        group_id="g",
        generation_id=member.generation_id,
        member_id=member.member_id,
        protocol_type="t",
        protocol_name="p",
    )
    assert bench.ask("sync_group", assignment, 5)[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    bench.advance(60_000)
    assert held(bench) == 0
    bench.machine.invariants()


def grown(count: int, act: Callable[[int], object]) -> float:
    """How many bytes each of so many actions leaves in memory."""
    act(count)
    gc.collect()
    tracemalloc.start()
    for number in range(count):
        act(number)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / count


def test_members_and_groups_cost_a_few_kilobytes_each() -> None:
    """The log of the bench included."""
    bench = Bench()

    def flood_consumer(number: int) -> None:
        bench.ask("consumer_group_heartbeat", joining_anew(f"m{number}", ["orders"]), 1)

    def flood_classic(number: int) -> None:
        join(bench, f"classic-{number}")

    def flood_ids(number: int) -> None:
        bench.ask("join_group", joining("pending"), 9)

    def flood_groups(number: int) -> None:
        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=number)
        topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
        bench.ask("offset_commit", OffsetCommitRequest(group_id=f"group-{number}", topics=topics), 9)

    costs = {act.__name__: grown(300, act) for act in (flood_consumer, flood_classic, flood_ids, flood_groups)}
    print({name: round(cost) for name, cost in costs.items()})
    assert costs["flood_consumer"] < 8_000
    assert costs["flood_classic"] < 10_000
    assert costs["flood_ids"] < 2_500
    assert costs["flood_groups"] < 3_000
