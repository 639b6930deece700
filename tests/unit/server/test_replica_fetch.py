"""Fetches of followers: what they read, what they claim, when they are answered, and who is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.server.fetch_sessions import EVICTION_MS
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchRequest, ReplicaState
from tests.support.rig import TOPIC, values_of
from tests.unit.server.replica_rig import EPOCHS, ME, OTHER, THIRD, Follower, LeaderRig, at, told


def code_of(answer: list[Any]) -> int:
    """The error of a Produce of one batch."""
    code: int = answer[0].responses[0].partition_responses[0].error_code
    return code


@pytest.mark.parametrize("version", [9, 12, 13, 15, 18])
def test_acks_all_is_answered_when_both_followers_have_come_back_for_more(version: int) -> None:
    rig = LeaderRig()
    answers = rig.send(b"a")
    followers = [Follower(rig, OTHER, version), Follower(rig, THIRD, version)]
    for follower in followers:
        assert values_of(follower.one(0)) == [b"a"]
    assert not answers
    for follower in followers:
        follower.send(at(1))
    assert code_of(answers) == 0
    assert rig.partition().high_watermark == 1


def test_acks_one_does_not_wait_for_followers() -> None:
    assert code_of(LeaderRig().send(b"a", acks=1)) == 0


def test_followers_read_what_is_written_and_not_yet_durable() -> None:
    rig = LeaderRig()
    flushes = rig.hold_flushes()
    answers = rig.send(b"a")
    first, second = Follower(rig, OTHER), Follower(rig, THIRD)
    for follower in (first, second):
        assert values_of(follower.one(0)) == [b"a"]
        follower.send(at(1))
    assert not answers, "their disks have it, ours has not"
    flushes.release()
    assert code_of(answers) == 0


def test_what_followers_are_given_is_counted_apart_from_what_consumers_are() -> None:
    rig = LeaderRig()
    rig.send(b"a")
    for id in (OTHER, THIRD):
        follower = Follower(rig, id)
        follower.one(0)
        follower.send(at(1))
    rig.values()
    traffic, size = rig.partition().counted(), rig.partition().log.size_bytes
    assert (traffic.bytes_in, traffic.replica_bytes_out, traffic.bytes_out) == (size, 2 * size, size)


def test_consumers_do_not_see_what_followers_see() -> None:
    rig = LeaderRig()
    rig.send(b"a")
    assert rig.values() == []
    for id in (OTHER, THIRD):
        Follower(rig, id).send(at(1))
    assert rig.values() == [b"a"]


def test_a_waiting_fetch_is_answered_when_something_is_written() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    answers = follower.send()
    rig.node.pass_time(100)
    assert not answers
    rig.send(b"a")
    assert told(answers[0]) == {0: (0, [b"a"])}


def test_a_waiting_fetch_is_answered_when_the_high_watermark_moves() -> None:
    rig = LeaderRig()
    first, second = Follower(rig, OTHER), Follower(rig, THIRD)
    for follower in (first, second):
        follower.one(0)
    rig.send(b"a")
    first.fetch()
    answers = first.send(at(1))
    rig.node.pass_time(100)
    assert not answers
    second.send(at(1))
    assert not answers, "perhaps there are records to travel with"
    rig.node.pass_time(5)
    assert told(answers[0]) == {0: (1, [])}, "who reads from this follower need not wait for the next record"


def test_nothing_new_is_told_when_the_wait_is_over() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    answers = follower.send()
    rig.node.pass_time(499)
    assert not answers
    rig.node.pass_time(2)
    assert answers[0].responses == []


def test_what_was_given_is_not_given_again_before_the_follower_comes_back() -> None:
    rig = LeaderRig(partitions=2)
    follower = Follower(rig, OTHER)
    follower.fetch(at(0, 0), at(0, 1))
    rig.send(b"a")
    assert told(follower.fetch()) == {0: (0, [b"a"])}
    answers = follower.send()  # it still writes the first one to its disk
    rig.send(b"b")
    assert not answers
    rig.send(b"c", index=1)
    assert told(answers[0]) == {1: (0, [b"c"])}
    assert told(follower.fetch(at(1, 0))) == {0: (0, [b"b"])}


def test_what_has_no_room_comes_next_time() -> None:
    rig = LeaderRig(partitions=3)
    follower = Follower(rig, OTHER)
    for index in range(3):
        rig.send(b"x" * 1000, index=index)
    assert [len(values) for _, values in told(follower.fetch(at(0, 0), at(0, 1), at(0, 2), max_bytes=10)).values()] == [
        1,
        0,
        0,
    ]
    assert list(told(follower.fetch(max_bytes=10))) == [1]
    assert list(told(follower.fetch(max_bytes=10))) == [2]


def test_claims_count_even_where_there_is_no_room() -> None:
    rig = LeaderRig(partitions=2)
    first, second = Follower(rig, OTHER), Follower(rig, THIRD)
    rig.send(b"x" * 100, index=0)
    answers = rig.send(b"y", index=1)
    for follower in (first, second):
        follower.fetch(at(0, 0), at(1, 1), max_bytes=10)
    assert code_of(answers) == 0


def test_without_a_session_it_waits_just_the_same() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.session_epoch = -1
    answers = follower.send(at(0))
    rig.node.pass_time(400)
    assert not answers, "a high watermark alone is no news to one of whom we know nothing"
    rig.send(b"a")
    assert told(answers[0]) == {0: (0, [b"a"])}
    assert not rig.partition()._waiters


def test_forgotten_partitions_are_not_looked_at() -> None:
    rig = LeaderRig(partitions=2)
    follower = Follower(rig, OTHER)
    follower.fetch(at(0, 0), at(0, 1))
    answers = rig.later(follower.forgets(0), 18, follower.client)
    rig.send(b"a", index=0)
    assert not answers
    assert not rig.partition(index=0)._waiters
    rig.send(b"b", index=1)
    assert list(told(answers[0])) == [1]


def test_a_fetch_that_hung_up_leaves_the_session_usable() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    follower.send()
    follower.client.hang_up()
    follower.client = rig.connect()
    answers = follower.send()
    rig.send(b"a")
    assert told(answers[0]) == {0: (0, [b"a"])}


def test_a_session_given_up_leaves_nothing_behind() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    assert rig.partition()._waiters
    follower.session_epoch = -1
    follower.fetch()
    assert not rig.partition()._waiters


# -- refusals


@pytest.mark.parametrize(("epoch", "code"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_another_leader_epoch_claims_nothing(epoch: int, code: ErrorCode) -> None:
    rig = LeaderRig()
    rig.send(b"a")
    for id in (OTHER, THIRD):
        data = Follower(rig, id).one(1, epoch=epoch)
        assert data.error_code == code
        assert data.current_leader is not None
        assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 1)
    assert rig.partition().high_watermark == 0


@pytest.mark.parametrize(
    ("epoch", "code"), [(1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
)
def test_who_has_no_replica_is_refused(epoch: int, code: ErrorCode) -> None:
    rig = LeaderRig()
    rig.partition().update(2, (1, OTHER), (1, OTHER), rig.clock.monotonic_ms())
    assert Follower(rig, THIRD).one(0, epoch=epoch).error_code == code


def test_a_fetch_from_before_the_broker_registered_anew_is_refused() -> None:
    rig = LeaderRig()
    rig.hub.alive[OTHER] = EPOCHS[OTHER] + 1
    assert Follower(rig, OTHER).one(0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_offsets_beyond_the_log_are_out_of_range_and_claim_nothing() -> None:
    rig = LeaderRig()
    rig.send(b"a")
    assert Follower(rig, OTHER).one(2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert Follower(rig, THIRD).one(2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert rig.partition().high_watermark == 0


def test_a_log_that_parts_from_ours_is_told_where_at_once_and_claims_nothing() -> None:
    rig = LeaderRig()
    rig.send(b"a")
    rig.partition().lead(5, 2, (1, OTHER, THIRD), (1, OTHER, THIRD), rig.clock.monotonic_ms())
    rig.send(b"b")
    for id in (OTHER, THIRD):
        data = Follower(rig, id).one(2, epoch=5, last=3)
        assert data.diverging_epoch is not None
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (1, 1)
        assert values_of(data) == []
    assert rig.partition().high_watermark == 0


def test_an_error_is_told_at_once_and_then_not_again_and_again() -> None:
    rig = LeaderRig(partitions=2)
    follower = Follower(rig, OTHER)
    response = follower.fetch(at(0, 0, epoch=9), at(0, 1))
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    answers = follower.send()
    rig.node.pass_time(400)
    assert not answers
    rig.node.pass_time(200)
    assert answers[0].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_leader_that_follows_says_so_to_the_fetch_that_waits() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    answers = follower.send()
    rig.partition().follow(THIRD, 2)
    rig.node.settle()
    data = answers[0].responses[0].partitions[0]
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert data.current_leader is not None
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (THIRD, 2)


def test_a_deleted_topic_is_told_to_the_fetch_that_waits() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    answers = follower.send()
    rig.delete(TOPIC)
    assert answers[0].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


# -- the in-sync replicas


def test_a_follower_that_has_caught_up_is_asked_into_the_isr() -> None:
    rig = LeaderRig(isr=(1, OTHER))
    Follower(rig, OTHER).one(0)
    assert rig.hub.isr_changes == []
    Follower(rig, THIRD).one(0)
    lead = rig.partition().leadership
    assert lead is not None
    assert lead.in_sync.asked is not None
    assert lead.in_sync.asked.isr == [(1, 11), (OTHER, 12), (THIRD, 13)]


def test_one_taken_out_of_the_isr_by_the_controller_comes_back_though_nothing_happens() -> None:
    rig = LeaderRig()
    followers = [Follower(rig, OTHER), Follower(rig, THIRD)]
    for follower in followers:
        follower.one(0)
        follower.fetch()
    now_ms = rig.clock.monotonic_ms()
    rig.partition().update(2, (1, OTHER, THIRD), (1, OTHER), now_ms)  # fenced for a moment
    lead = rig.partition().leadership
    assert lead is not None
    rig.node.settle()
    followers[1].send()
    assert lead.in_sync.asked is not None
    assert lead.in_sync.asked.ids == (1, OTHER, THIRD)


def test_one_whose_entry_was_refused_is_asked_for_again() -> None:
    rig = LeaderRig(isr=(1, OTHER))
    follower = Follower(rig, THIRD)
    follower.one(0)
    lead = rig.partition().leadership
    assert lead is not None
    assert lead.in_sync.asked is not None
    lead.in_sync.asked.copies = 1
    rig.partition().isr_refused(lead.in_sync.asked, ErrorCode.INELIGIBLE_REPLICA, rig.clock.monotonic_ms())
    for _ in range(3):
        follower.fetch()
    assert lead.in_sync.asked is not None


def test_a_fetch_that_waits_does_not_claim_again_what_may_be_gone_meanwhile() -> None:
    rig = LeaderRig(isr=(1, OTHER))
    rig.hub.alive.pop(THIRD)
    follower = Follower(rig, THIRD)
    follower.one(0)
    answers = follower.send()
    rig.hub.alive[THIRD] = EPOCHS[THIRD]
    rig.partition().update(4, (1, OTHER, THIRD), (1, OTHER), rig.clock.monotonic_ms())  # perhaps away and back
    rig.node.settle()
    lead = rig.partition().leadership
    assert lead is not None
    assert lead.in_sync.asked is None
    assert answers
    follower.send()
    assert lead.in_sync.asked is not None


def test_one_out_of_sync_claims_with_every_fetch_of_its_session() -> None:
    rig = LeaderRig(isr=(1, OTHER))
    rig.hub.alive.pop(THIRD)
    follower = Follower(rig, THIRD)
    follower.one(0)
    assert rig.hub.isr_changes == []
    rig.hub.alive[THIRD] = EPOCHS[THIRD]  # it has been unfenced, and has nothing new to say
    follower.send()
    lead = rig.partition().leadership
    assert lead is not None
    assert lead.in_sync.asked is not None


def test_one_that_was_taken_out_of_the_isr_and_has_everything_is_asked_in_again() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    answers = follower.send()
    rig.node.pass_time(10)
    assert not answers, "it waits for something to come"
    rig.partition().update(2, (ME, OTHER, THIRD), (ME, THIRD), rig.clock.monotonic_ms())
    rig.node.settle()
    lead = rig.partition().leadership
    assert lead is not None
    assert lead.in_sync.asked is None, "what it claimed is from before the image"
    assert answers, "it may say so again"
    follower.send()
    assert lead.in_sync.asked is not None
    assert OTHER in lead.in_sync.asked.ids


def test_an_epoch_that_ended_exactly_there_is_no_divergence() -> None:
    rig = LeaderRig()
    rig.send(b"a")
    rig.partition().lead(2, 2, (ME, OTHER, THIRD), (ME, OTHER, THIRD), rig.clock.monotonic_ms())
    rig.send(b"b")
    data = Follower(rig, OTHER).one(1, epoch=2, last=1)
    assert (data.diverging_epoch, values_of(data)) == (None, [b"b"])


def test_the_first_epoch_of_all_is_compared_too() -> None:
    rig = LeaderRig()
    rig.partition().lead(3, 2, (ME, OTHER, THIRD), (ME, OTHER, THIRD), rig.clock.monotonic_ms())
    rig.send(b"b")
    data = Follower(rig, OTHER).one(1, epoch=3, last=0)
    assert data.diverging_epoch is not None
    assert data.diverging_epoch.end_offset == 0


def test_a_broken_disk_is_told() -> None:
    rig = LeaderRig()
    rig.partition().offline = True
    assert Follower(rig, OTHER).one(0).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_fetch_that_may_not_wait_is_answered_at_once() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    follower.one(0)
    assert follower.send(max_wait_ms=0)


def test_a_partition_that_is_not_here_yet_is_refused_at_once_each_time() -> None:
    rig = LeaderRig()
    follower = Follower(rig, OTHER)
    assert follower.one(0, 5).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answers = follower.send(at(0, 5))
    assert answers, "nothing would wake it up"
    assert answers[0].responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_sessions_of_a_follower_that_restarted_are_forgotten() -> None:
    rig = LeaderRig()
    for _ in range(3):
        Follower(rig, OTHER).one(0)
    Follower(rig, THIRD).one(0)
    assert rig.node.core is not None
    sessions = rig.node.core.fetch_sessions.sessions
    assert len(sessions) == 4
    rig.node.pass_time(EVICTION_MS)
    Follower(rig, OTHER).one(0)
    assert sorted(session.replica for session in sessions.values()) == [OTHER, THIRD]
    assert len(rig.partition()._tail_waiters) == 2


def test_only_brokers_are_heard() -> None:
    rig = LeaderRig()
    Follower(rig, OTHER).one(0)
    rig.later(FetchRequest(replica_state=ReplicaState(replica_id=77, replica_epoch=-1)), 18)
    assert list(rig.hub.heard_ms) == [OTHER]
