"""Who leads the quorum, and who does not."""

from __future__ import annotations

import pytest

from tapelog.base.ports import DiskError
from tapelog.raft.following import FAST_FAILURES_MAX
from tapelog.raft.roles import Follower
from tapelog.raft.values import OffsetEpoch, ReplicaKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.vote_request import VoteRequest
from tests.simulation.raft_disk import VoteFile
from tests.simulation.raft_world import CONFIG, World
from tests.unit.raft.quorums import ask_vote, cut, followers, raft_of, settled, started

FAR = OffsetEpoch(1 << 40, 1 << 20)
STRANGER = ReplicaKey(9, b"d" * 16)


def test_the_only_voter_leads_before_any_time_has_passed() -> None:
    world = World(1, nodes=1)
    world.nodes[0].boot()
    assert raft_of(world.nodes[0]).is_leader
    assert world.clock.monotonic_ms() == 0
    settled(world)


def test_three_voters_elect_one_soon_after_they_start() -> None:
    world = started()
    assert world.clock.monotonic_ms() < CONFIG.election_timeout_ms
    assert len([node for node in world.nodes if raft_of(node).is_leader]) == 1
    leader = world.leader()
    assert leader is not None
    assert [raft_of(node).leader.id for node in world.nodes if raft_of(node).leader] == [leader.id] * 3  # type: ignore[union-attr]


def test_a_crashed_leader_is_replaced_well_before_the_fetch_timeout() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    old.crash()
    before_ms = world.clock.monotonic_ms()
    new = settled(world)
    assert new is not old
    assert world.clock.monotonic_ms() - before_ms < CONFIG.fetch_timeout_ms


def test_a_silent_leader_is_replaced_after_the_fetch_timeout() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    cut(world, old)
    world.run(CONFIG.fetch_timeout_ms * 4)
    new = settled(world)
    assert new is not old
    assert old.epoch_led < 0, "a leader without a majority steps down"


def test_a_new_leader_knows_since_when_the_one_before_it_is_silent() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    world.run(500)
    cut(world, old)
    cut_ms = world.clock.monotonic_ms()
    assert world.run(10_000, lambda: any(node.epoch_led > 0 for node in world.nodes if node is not old))
    new = settled(world)
    found = raft_of(new).predecessor
    assert found is not None and found[0] == old.id
    assert cut_ms - CONFIG.fetch_max_wait_ms - 100 <= found[1] <= cut_ms + 100
    raft_of(new).leading.resign()
    raft_of(new).elections.stand()
    again = settled(world)
    assert again is not new or raft_of(again).predecessor is None, "it led last itself"


def test_two_that_stand_at_once_do_not_wait_for_the_silent_leader_to_vote() -> None:
    slowest_ms = 0
    for seed in range(30):
        world = started(seed=seed)
        old = world.leader()
        assert old is not None
        cut(world, old)
        before_ms = world.clock.monotonic_ms()
        first, second = followers(world)
        raft_of(first).quorum.become_prospective()
        raft_of(second).quorum.become_prospective()
        assert world.run(10_000, lambda: first.epoch_led > 0 or second.epoch_led > 0)  # noqa: B023
        slowest_ms = max(slowest_ms, world.clock.monotonic_ms() - before_ms)
    assert slowest_ms < CONFIG.election_timeout_ms


def test_a_follower_that_was_cut_off_disturbs_nobody_when_it_comes_back() -> None:
    world = started()
    leader, lonely = world.leader(), followers(world)[0]
    assert leader is not None
    epoch = raft_of(leader).epoch
    cut(world, lonely)
    world.run(CONFIG.fetch_timeout_ms * 10)
    assert raft_of(lonely).epoch == epoch, "pre-votes begin no epoch"
    world.cuts.clear()
    world.run(CONFIG.fetch_timeout_ms * 2)
    assert settled(world) is leader and raft_of(leader).epoch == epoch


def test_a_leader_that_stops_cleanly_is_followed_by_a_caught_up_voter_at_once() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    before_ms = world.clock.monotonic_ms()
    raft_of(old).stop()
    assert world.run(10_000, lambda: any(node.epoch_led > 0 for node in world.nodes if node is not old))
    assert world.clock.monotonic_ms() - before_ms < 150


def test_a_vote_is_given_once_per_epoch_and_survives_a_restart() -> None:
    world = started()
    voter = followers(world)[0]
    epoch = raft_of(voter).epoch + 1
    assert ask_vote(voter, STRANGER, epoch, FAR) == (0, True)
    assert ask_vote(voter, STRANGER, epoch, FAR) == (0, True), "the same candidate may ask again"
    assert ask_vote(voter, ReplicaKey(8, b"e" * 16), epoch, FAR) == (0, False)
    voter.crash()
    voter.boot()
    assert ask_vote(voter, ReplicaKey(8, b"e" * 16), epoch, FAR) == (0, False)
    assert ask_vote(voter, ReplicaKey(9, b"f" * 16), epoch, FAR) == (0, False), "another disk is another candidate"


def test_a_vote_that_cannot_be_written_down_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    world = started()
    voter = followers(world)[0]
    epoch = raft_of(voter).epoch

    def broken(self: VoteFile, data: bytes) -> None:
        raise DiskError("broken")

    monkeypatch.setattr(VoteFile, "write", broken)
    request = VoteRequest(cluster_id=raft_of(voter).quorum.cluster_id, voter_id=voter.id)
    from tapelog.wire.messages import vote_request

    partition = vote_request.PartitionData(
        replica_epoch=epoch + 1, replica_id=9, voter_directory_id=voter.key.directory_id, last_offset=1 << 40
    )
    request.topics = [vote_request.TopicData(topic_name="__cluster_metadata", partitions=[partition])]
    assert raft_of(voter).vote(request).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert raft_of(voter).epoch == epoch, "nothing changed that is not on disk"


def test_a_candidate_with_less_of_the_log_gets_no_vote() -> None:
    world = started()
    voter = followers(world)[0]
    epoch, ours = raft_of(voter).epoch, raft_of(voter).quorum.end()
    shorter, older = OffsetEpoch(ours.offset - 1, ours.epoch), OffsetEpoch(ours.offset + 9, ours.epoch - 1)
    assert ask_vote(voter, STRANGER, epoch + 1, shorter) == (0, False)
    assert ask_vote(voter, STRANGER, epoch + 1, older) == (0, False)
    assert ask_vote(voter, STRANGER, epoch + 1, ours) == (0, True)


def test_a_follower_that_hears_its_leader_refuses_pre_votes() -> None:
    world = started()
    voter, leader = followers(world)[0], world.leader()
    assert leader is not None
    epoch = raft_of(voter).epoch
    assert ask_vote(voter, STRANGER, epoch, FAR, pre_vote=True) == (0, False)
    assert ask_vote(leader, STRANGER, epoch, FAR, pre_vote=True) == (0, False)
    leader.crash()
    other = next(node for node in followers(world) if node is not voter)
    other.crash()
    world.run(CONFIG.fetch_timeout_ms)
    assert ask_vote(voter, STRANGER, epoch, FAR, pre_vote=True) == (0, True)
    assert raft_of(voter).quorum.state.voted != STRANGER, "a pre-vote is not a vote"


def test_a_follower_whose_leader_does_not_answer_any_more_does_not_stand_in_the_way() -> None:
    world = started()
    leader, voter = world.leader(), followers(world)[0]
    assert leader is not None
    leader.crash()
    assert world.run(CONFIG.fetch_timeout_ms, lambda: raft_of(voter).following._failures >= FAST_FAILURES_MAX)
    assert isinstance(raft_of(voter).quorum.role, Follower), "it does not stand itself yet"
    assert ask_vote(voter, STRANGER, raft_of(voter).epoch, FAR, pre_vote=True) == (0, True)


def test_the_others_give_the_first_successor_time() -> None:
    world = started()
    leading = raft_of(followers(world)[0]).leading
    assert leading._pause_ms(0) == 0
    for place in range(1, 20):
        assert 50 <= leading._pause_ms(place) < 50 + CONFIG.election_backoff_max_ms


def test_votes_of_an_old_epoch_or_for_another_disk_are_refused() -> None:
    world = started()
    voter = followers(world)[0]
    epoch = raft_of(voter).epoch
    assert ask_vote(voter, STRANGER, epoch - 1, FAR) == (ErrorCode.FENCED_LEADER_EPOCH, False)
    wrong = ReplicaKey(voter.id, b"x" * 16)
    assert ask_vote(voter, STRANGER, epoch + 1, FAR, key=wrong) == (ErrorCode.INVALID_VOTER_KEY, False)


def test_requests_of_another_cluster_or_without_sense_are_refused() -> None:
    world = started()
    voter = raft_of(followers(world)[0])
    assert voter.vote(VoteRequest(cluster_id="other")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert voter.vote(VoteRequest(cluster_id=None)).error_code == ErrorCode.INVALID_REQUEST


def test_a_restarted_leader_does_not_lead_its_old_epoch_again() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    epoch = raft_of(old).epoch
    for node in world.nodes:
        node.crash()
    old.boot()
    assert raft_of(old).quorum.role.name == "resigned"
    assert ask_vote(old, STRANGER, epoch, FAR) == (0, False)
    for node in world.nodes:
        if node.raft is None:
            node.boot()
    assert raft_of(settled(world)).epoch > epoch
