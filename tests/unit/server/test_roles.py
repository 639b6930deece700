"""What clients hear from a broker that does not lead, and from one that has only just begun to."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode
from tests.support.rig import TOPIC, fetch_request, produce_request, values_of, wants
from tests.unit.server.replica_rig import OTHER, THIRD, LeaderRig

LATEST, EARLIEST = -1, -2
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def follower() -> LeaderRig:
    """A node that follows 2 in epoch 3, and has what both have committed."""
    rig = LeaderRig(isr=(1,))
    rig.send(b"a", b"b")
    rig.partition().follow(OTHER, 3)
    return rig


@pytest.mark.parametrize("version", [9, 10, 12, 13])
@pytest.mark.parametrize("acks", [1, -1])
def test_a_produce_is_told_who_leads(follower: LeaderRig, version: int, acks: int) -> None:
    named = follower.topic_id() if version >= 13 else TOPIC
    response = follower.client.call(produce_request((named, 0, follower.batch(b"c")), acks=acks), version)
    part = response.responses[0].partition_responses[0]
    assert part.error_code == NOT_LEADER
    if version >= 10:
        assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (OTHER, 3)
    assert follower.partition().log.end_offset == 2


def test_appends_that_wait_are_told_who_leads_now() -> None:
    rig = LeaderRig()
    answers = rig.later(produce_request((TOPIC, 0, rig.batch(b"a"))), 12)
    rig.node.pass_time(50)
    assert not answers
    rig.partition().follow(THIRD, 2)
    rig.node.settle()
    part = answers[0].responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (NOT_LEADER, -1)
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (THIRD, 2)


def test_the_leaders_address_comes_with_it(follower: LeaderRig) -> None:
    follower.partition().follow(1, 4)  # the only broker whose address the image has
    response = follower.client.call(produce_request((TOPIC, 0, follower.batch(b"c"))), 12)
    assert [node.node_id for node in response.node_endpoints] == [1]


def test_a_partition_on_other_brokers_is_not_unknown(follower: LeaderRig) -> None:
    assert follower.node.core is not None
    follower.node.core.topics[TOPIC].partitions[0] = None
    assert follower.produce().error_code == NOT_LEADER
    assert follower.fetch().error_code == NOT_LEADER
    assert follower.offset_at(LATEST).error_code == NOT_LEADER
    assert follower.produce(index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert follower.fetch(index=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [4, 10])
def test_old_consumers_read_from_leaders_only(follower: LeaderRig, version: int) -> None:
    assert follower.fetch(version=version).error_code == NOT_LEADER


def test_newer_consumers_read_from_followers_up_to_their_high_watermark(follower: LeaderRig) -> None:
    follower.partition().high_watermark = 1
    data = follower.fetch(version=12, leader_epoch=3)
    assert (data.error_code, data.high_watermark) == (0, 1)
    follower.partition().leader_says(2, 0)
    assert values_of(follower.fetch(version=12)) == [b"a", b"b"]


def test_a_follower_that_is_behind_sends_a_consumer_to_the_leader_and_not_back_to_the_beginning(
    follower: LeaderRig,
) -> None:
    assert follower.fetch(2, version=12).error_code == 0
    assert follower.fetch(3, version=12).error_code == NOT_LEADER


def test_a_consumer_that_waits_at_a_follower_hears_of_new_records(follower: LeaderRig) -> None:
    answers = follower.later(fetch_request(wants(0, 2), max_wait_ms=10_000), 12)
    batch = bytearray(follower.batch(b"c"))
    batch[0:8], batch[12:16] = (2).to_bytes(8, "big"), (3).to_bytes(4, "big")
    follower.partition().append_replicated(bytes(batch), 0, len(batch))
    follower.node.settle()
    follower.node.pass_time(50)
    assert not answers
    follower.partition().leader_says(3, 0)
    follower.node.settle()
    assert values_of(answers[0].responses[0].partitions[0]) == [b"c"]


@pytest.mark.parametrize(("epoch", "code"), [(2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_followers_compare_leader_epochs_too(follower: LeaderRig, epoch: int, code: ErrorCode) -> None:
    assert follower.fetch(leader_epoch=epoch).error_code == code
    assert follower.offset_at(EARLIEST, epoch=epoch).error_code == code


def test_offsets_are_asked_of_leaders_only(follower: LeaderRig) -> None:
    assert follower.offset_at(LATEST).error_code == NOT_LEADER
    assert follower.offset_at(EARLIEST, epoch=3).error_code == NOT_LEADER


# -- a new leader


@pytest.fixture
def new_leader() -> LeaderRig:
    """A leader of epoch 4 that knows of fewer committed records than its predecessor may have told of."""
    rig = LeaderRig(isr=(1,))
    rig.send(b"a", b"b")
    rig.partition().follow(OTHER, 3)
    rig.partition().high_watermark = 1
    rig.partition().lead(4, 9, (1, OTHER, THIRD), (1, OTHER), rig.clock.monotonic_ms())
    return rig


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (9, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_a_new_leader_does_not_say_where_the_end_is_before_it_knows(
    new_leader: LeaderRig, version: int, code: ErrorCode
) -> None:
    assert new_leader.offset_at(LATEST, version=version).error_code == code
    assert new_leader.offset_at(LATEST, version=version, isolation=1).error_code == code
    assert new_leader.offset_at(EARLIEST, version=version).offset == 0
    new_leader.partition().follower_fetched(OTHER, 2, 12, 0)
    assert new_leader.offset_at(LATEST, version=version).offset == 2


def test_times_beyond_what_it_knows_have_no_answer_yet(new_leader: LeaderRig) -> None:
    assert new_leader.offset_at(-3).error_code in (0, ErrorCode.OFFSET_NOT_AVAILABLE)
    assert new_leader.offset_at(new_leader.clock.wall_ms() + 1000).error_code == 0, "nothing is that late"


def test_consumers_wait_instead_of_being_sent_back(new_leader: LeaderRig) -> None:
    data = new_leader.fetch(2)
    assert (data.error_code, data.high_watermark, values_of(data)) == (0, 1, [])


# -- consumers in racks


def test_consumers_are_sent_to_the_replica_in_their_rack() -> None:
    rig = LeaderRig(isr=(1, OTHER))
    assert rig.node.core is not None
    rig.send(b"a")
    rig.partition().follower_fetched(OTHER, 1, 12, 0, 0)
    rig.node.core.rack_aware = True
    rig.node.core.isr._racks = {1: "here", OTHER: "there"}
    data = rig.fetch(version=12, rack_id="there")
    assert (data.preferred_read_replica, values_of(data), data.high_watermark) == (OTHER, [], 1)
    for rack in ("here", "nowhere", ""):
        data = rig.fetch(version=12, rack_id=rack)
        assert (data.preferred_read_replica, values_of(data)) == (-1, [b"a"])
