"""What is refused between the protocols, and what stays the same when a group changes its kind."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from tapelog.coordinators.consumer.migration.embedded import assigned_of, assignment_bytes, subscription_of
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.primitives import WireError
from tests.unit.coordinators.bench import Bench
from tests.unit.coordinators.migration.clients import GROUP, subscription_bytes
from tests.unit.coordinators.migration.world import World

ORDERS = subscription_bytes(["orders"], set(), -1, 3, None)


NOTED = assignment_bytes({"orders": (0,)}, 3)[:-4] + b"\0\0\0\1!"
"""An assignment in which the leader's assignor left a note."""


def joining(member_id: str = "", metadata: bytes = ORDERS, *names: str, **more: Any) -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names or ("range",)]
    fields: dict[str, Any] = {"protocol_type": "consumer", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000}
    return JoinGroupRequest(group_id=GROUP, member_id=member_id, protocols=protocols, **(fields | more))


def heartbeat(member_id: str, epoch: int = 0, **more: Any) -> ConsumerGroupHeartbeatRequest:
    if epoch == 0:
        more = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["orders"], "topic_partitions": []} | more
    return ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, **more)


def code(answers: list[Any]) -> ErrorCode:
    assert len(answers) == 1, "one answer"
    return ErrorCode(answers[0].error_code)


def classic_group(
    bench: Bench, metadata: bytes = ORDERS, share: bytes = b"", protocol: str = "range", **more: Any
) -> str:
    """A stable classic group of one member."""
    member_id = bench.ask("join_group", joining("", metadata, protocol, **more), 9)[0].member_id
    joined = bench.ask("join_group", joining(member_id, metadata, protocol, **more), 9)[0]
    assert joined.error_code == ErrorCode.NONE
    request = SyncGroupRequest(
        group_id=GROUP,
        generation_id=joined.generation_id,
        member_id=member_id,
        protocol_type=more.get("protocol_type", "consumer"),
        protocol_name=protocol,
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=share)],
    )
    assert code(bench.ask("sync_group", request, 5)) == ErrorCode.NONE
    return str(member_id)


def consumer_group(bench: Bench, member_id: str = "c") -> int:
    """A consumer group of one member; its epoch."""
    response = bench.ask("consumer_group_heartbeat", heartbeat(member_id), 1)[0]
    assert response.error_code == ErrorCode.NONE
    return int(response.member_epoch)


# -- the embedded protocol


def test_embedded_bytes_are_those_of_another_implementation() -> None:
    theirs = ConsumerProtocolMemberMetadata(0, ["orders", "events"], b"mine").encode()
    assert subscription_of(theirs).topics == {"orders", "events"}
    ours = assignment_bytes({"orders": (0, 2), "events": (1,)}, 0)
    read = ConsumerProtocolMemberAssignment.decode(ours)
    assert sorted(read.assignment) == [("events", [1]), ("orders", [0, 2])]
    assert assigned_of(read.encode()).places == {"orders": (0, 2), "events": (1,)}
    assert assigned_of(ConsumerProtocolMemberAssignment(0, [("a", [3])], b"data").encode()).user_data == b"data"


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_subscription_is_read_in_every_version(version: int) -> None:
    read = subscription_of(subscription_bytes(["b", "a"], {("a", 1), ("a", 0)}, 7, version, "here"))
    assert read.version == version
    assert read.topics == {"a", "b"}
    assert read.owned == ({"a": (0, 1)} if version >= 1 else {})
    assert read.rack == ("here" if version >= 3 else None)


def test_a_version_from_the_future_is_read_as_far_as_known() -> None:
    data = subscription_bytes(["a"], {("a", 1)}, 7, 3, "here")
    assert subscription_of(b"\0\x09" + data[2:] + b"more to come").owned == {"a": (1,)}
    with pytest.raises(WireError):
        subscription_of(b"\xff\xff" + data[2:])
    with pytest.raises(WireError):
        subscription_of(data[:9])


# -- what cannot be converted


@pytest.mark.parametrize(
    ("settings", "group", "reason"),
    [
        ({}, {"protocol_type": "connect"}, "does not use the consumer embedded protocol"),
        ({}, {"metadata": b"mine"}, "embedded consumer protocol is malformed"),
        ({}, {"share": b"mine too"}, "embedded consumer protocol is malformed"),
        ({}, {"share": NOTED, "protocol": "mine"}, "custom assignor is in use"),
        ({"group.consumer.migration.policy": "downgrade"}, {}, "online upgrade is disabled"),
        ({"group.consumer.migration.policy": "disabled"}, {}, "online upgrade is disabled"),
        ({"group.consumer.max.size": "0"}, {}, "exceeds the consumer group maximum size"),
    ],
)
def test_a_group_that_cannot_be_upgraded_stays_as_it_is(
    settings: dict[str, str], group: dict[str, Any], reason: str
) -> None:
    bench = Bench(settings)
    member_id = classic_group(bench, **group)
    appended = bench.log.appends
    refused = bench.ask("consumer_group_heartbeat", heartbeat("c"), 1)
    assert code(refused) == ErrorCode.GROUP_ID_NOT_FOUND
    assert reason in refused[0].error_message
    assert bench.log.appends == appended
    beat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert code(bench.ask("heartbeat", beat, 4)) == ErrorCode.NONE


def test_notes_of_the_clients_own_assignors_are_no_custom_assignor() -> None:
    bench = Bench()
    classic_group(bench, share=NOTED, protocol="cooperative-sticky")
    assert consumer_group(bench) == 2


def test_a_member_that_is_behind_when_its_group_turns_classic_loses_nothing() -> None:
    world = World()
    a = world.classic("a", cooperative=True)
    world.consumer("c")
    world.run()
    b = world.consumer("b")
    b.act()
    world.bench.advance(2000)
    world.clients["c"].act()
    epoch = a.epoch
    assert epoch < world.bench.machine.consumer.find(GROUP).target_epoch
    owned = set(a.owned)
    for name in ("b", "c"):
        world.clients.pop(name).leave()
    assert world.bench.machine.consumer.find(GROUP) is None
    assert commit(world.bench, 3, a.member_id, epoch) == ErrorCode.NONE
    beat = HeartbeatRequest(group_id=GROUP, generation_id=epoch, member_id=a.member_id)
    assert code(world.bench.ask("heartbeat", beat, 4)) == ErrorCode.REBALANCE_IN_PROGRESS
    a.act()
    assert a.owned == owned
    world.run()
    assert code(world.bench.ask("heartbeat", beat, 4)) == ErrorCode.ILLEGAL_GENERATION


def test_only_somebody_who_joins_converts_a_group() -> None:
    bench = Bench()
    classic_group(bench)
    assert code(bench.ask("consumer_group_heartbeat", heartbeat("c", 3), 1)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert code(bench.ask("consumer_group_heartbeat", heartbeat("c", -1), 1)) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_join_that_is_refused_after_all_leaves_the_classic_group_alone() -> None:
    bench = Bench({"group.consumer.max.size": "1"})
    member_id = classic_group(bench)
    assert code(bench.ask("consumer_group_heartbeat", heartbeat("c"), 1)) == ErrorCode.GROUP_MAX_SIZE_REACHED
    beat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert code(bench.ask("heartbeat", beat, 4)) == ErrorCode.NONE
    bench.machine.invariants()


def test_what_a_leader_gave_to_two_members_belongs_to_the_first() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100"})
    ids = [bench.ask("join_group", joining(), 9)[0].member_id for _ in range(2)]
    waiting = [bench.ask("join_group", joining(member_id), 9) for member_id in ids]
    bench.advance(1000)
    leader = next(answers[0].leader for answers in waiting)
    share = assignment_bytes({"orders": (0, 1, 2, 3)}, 3)
    shares = [SyncGroupRequestAssignment(member_id=member_id, assignment=share) for member_id in ids]
    sync = SyncGroupRequest(
        group_id=GROUP,
        generation_id=1,
        member_id=leader,
        protocol_type="consumer",
        protocol_name="range",
        assignments=shares,
    )
    bench.ask("sync_group", sync, 5)
    consumer_group(bench)
    bench.machine.invariants()


# -- classic members at the door of a consumer group


def test_a_classic_member_is_given_an_id_and_then_let_in() -> None:
    bench = Bench()
    consumer_group(bench)
    first = bench.ask("join_group", joining(), 9)
    assert code(first) == ErrorCode.MEMBER_ID_REQUIRED
    second = bench.ask("join_group", joining(first[0].member_id), 9)[0]
    assert (second.error_code, second.protocol_type, second.protocol_name) == (ErrorCode.NONE, "consumer", "range")
    assert (second.leader, second.members) == ("", [])
    old = bench.ask("join_group", joining(), 3)[0]
    assert (old.error_code, old.member_id != first[0].member_id) == (ErrorCode.NONE, True)


@pytest.mark.parametrize(
    ("request_of", "expected"),
    [
        (joining(protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (joining("", b"not a subscription"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (joining("", ORDERS, "sticky", "roundrobin"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (joining(group_instance_id="nobody", member_id="known"), ErrorCode.UNKNOWN_MEMBER_ID),
        (joining(group_instance_id="one", member_id="other"), ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_who_cannot_join_a_consumer_group(request_of: JoinGroupRequest, expected: ErrorCode) -> None:
    bench = Bench()
    consumer_group(bench)
    assert code(bench.ask("join_group", joining(group_instance_id="one"), 9)) == ErrorCode.NONE
    assert code(bench.ask("join_group", request_of, 9)) == expected
    bench.machine.invariants()


def test_a_full_consumer_group_takes_no_classic_member() -> None:
    bench = Bench({"group.consumer.max.size": "1"})
    consumer_group(bench)
    assert code(bench.ask("join_group", joining(), 9)) == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_lone_classic_member_may_change_its_protocols() -> None:
    bench = Bench()
    consumer_group(bench)
    member_id = bench.ask("join_group", joining(), 3)[0].member_id
    again = bench.ask("join_group", joining(member_id, ORDERS, "cooperative-sticky", "range"), 3)[0]
    assert (again.error_code, again.protocol_name) == (ErrorCode.NONE, "cooperative-sticky")


def test_requests_of_the_other_protocol_know_no_such_member() -> None:
    bench = Bench()
    epoch = consumer_group(bench)
    beat = HeartbeatRequest(group_id=GROUP, generation_id=epoch, member_id="c")
    assert code(bench.ask("heartbeat", beat, 4)) == ErrorCode.UNKNOWN_MEMBER_ID
    sync = SyncGroupRequest(group_id=GROUP, generation_id=epoch, member_id="c")
    assert code(bench.ask("sync_group", sync, 4)) == ErrorCode.UNKNOWN_MEMBER_ID
    beat.member_id = "stranger"
    assert code(bench.ask("heartbeat", beat, 4)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_sync_must_name_the_members_generation_and_protocol() -> None:
    bench = Bench()
    consumer_group(bench)
    joined = bench.ask("join_group", joining(), 3)[0]

    def sync(generation: int, kind: str | None, name: str | None) -> ErrorCode:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=joined.member_id,
            protocol_type=kind,
            protocol_name=name,
        )
        return code(bench.ask("sync_group", request, 5 if kind else 4))

    assert sync(joined.generation_id + 1, "consumer", "range") == ErrorCode.ILLEGAL_GENERATION
    assert sync(joined.generation_id, "connect", "range") == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(joined.generation_id, "consumer", "sticky") == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(joined.generation_id, None, None) == ErrorCode.NONE


def test_an_administrator_removes_members_of_either_protocol() -> None:
    bench = Bench()
    consumer_group(bench)
    bench.ask("join_group", joining(group_instance_id="one"), 9)
    named = [
        MemberIdentity(member_id="", group_instance_id="one"),
        MemberIdentity(member_id="stranger"),
        MemberIdentity(member_id="", group_instance_id="two"),
        MemberIdentity(member_id="c"),
    ]
    response = bench.ask("leave_group", LeaveGroupRequest(group_id=GROUP, members=named), 5)[0]
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [m.error_code for m in response.members] == [ErrorCode.NONE, unknown, unknown, ErrorCode.NONE]
    assert bench.machine.consumer.find(GROUP).is_empty


# -- what stays


def commit(bench: Bench, offset: int, member_id: str, epoch: int) -> ErrorCode:
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[part])],
    )
    return ErrorCode(bench.ask("offset_commit", request, 9)[0].topics[0].partitions[0].error_code)


def committed(bench: Bench) -> int:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)])
    return int(bench.ask("offset_fetch", request, 9)[0].groups[0].topics[0].partitions[0].committed_offset)


def test_offsets_stay_when_a_group_changes_its_kind_both_ways() -> None:
    world = World()
    a = world.classic("a", cooperative=True)
    world.run()
    assert commit(world.bench, 5, a.member_id, a.epoch) == ErrorCode.NONE
    c = world.consumer("c")
    world.run()
    assert committed(world.bench) == 5
    assert commit(world.bench, 6, a.member_id, a.epoch) == ErrorCode.NONE
    assert commit(world.bench, 7, a.member_id, a.epoch + 1) == ErrorCode.ILLEGAL_GENERATION
    world.clients.pop("c").leave()
    world.run()
    assert world.bench.machine.consumer.find(GROUP) is None
    assert committed(world.bench) == 6
    assert commit(world.bench, 7, a.member_id, a.epoch) == ErrorCode.NONE
    assert commit(world.bench, 8, c.member_id or "c", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_described_group_says_which_protocol_a_member_speaks() -> None:
    world = World()
    world.classic("a")
    world.run()
    world.consumer("c")
    world.run()
    described = world.bench.ask("consumer_group_describe", ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1)[0]
    kinds = {member.client_id: member.member_type for member in described.groups[0].members}
    assert kinds == {"a": 0, "c": 1}


def test_old_clients_that_do_not_say_what_they_own_are_taken_to_own_nothing_as_they_join() -> None:
    world = World()
    world.classic("a", version=0)
    world.classic("b", version=0)
    world.run()
    world.consumer("c")
    world.run()
    assert world.all_owned(["orders"])


def test_a_thousand_classic_members_are_upgraded_and_join_again_in_reasonable_time() -> None:
    bench = Bench({"group.initial.rebalance.delay.ms": "100", "group.consumer.assignment.interval.ms": "1000"})
    bench.topics.create("orders", 2000)
    ids = [bench.ask("join_group", joining(), 9, f"c{i}")[0].member_id for i in range(1000)]
    for member_id in ids:
        bench.ask("join_group", joining(member_id), 9)
    bench.advance(1000)
    shares = {member_id: assignment_bytes({"orders": (2 * i, 2 * i + 1)}, 3) for i, member_id in enumerate(ids)}
    sync = SyncGroupRequest(
        group_id=GROUP,
        generation_id=1,
        member_id=ids[0],
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=m, assignment=share) for m, share in shares.items()],
    )
    assert code(bench.ask("sync_group", sync, 5)) == ErrorCode.NONE
    epoch = consumer_group(bench)
    group = bench.machine.consumer.find(GROUP)
    assert (group.classic_count, epoch) == (1000, 2)
    answers = [bench.ask("join_group", joining(member_id), 9)[0] for member_id in ids]
    assert {answer.generation_id for answer in answers} == {epoch}
    bench.machine.invariants()
