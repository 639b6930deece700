"""Changing who votes."""

from __future__ import annotations

import pytest

from tapelog.raft.values import Endpoint
from tapelog.raft.voters import parse_voter, parse_voters
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_request import Listener as UpdatedListener
from tapelog.wire.messages.update_raft_voter_request import UpdateRaftVoterRequest
from tests.simulation.raft_world import CLUSTER, Node, World
from tests.unit.raft.quorums import cut, followers, raft_of, settled, started

Answers = list[KafkaError | None]


def add(leader: Node, node: Node, *, ack_when_committed: bool = True, timeout_ms: int = 1000) -> Answers:
    told: Answers = []
    listeners = [Listener(name="CONTROLLER", host="node", port=node.id)]
    request = AddRaftVoterRequest(CLUSTER, timeout_ms, node.id, node.disk.directory_id, listeners, ack_when_committed)
    raft_of(leader).add_voter(request, told.append)
    leader.settle()
    return told


def remove(leader: Node, node: Node, directory_id: bytes | None = None) -> Answers:
    told: Answers = []
    request = RemoveRaftVoterRequest(CLUSTER, node.id, directory_id or node.disk.directory_id)
    raft_of(leader).remove_voter(request, told.append)
    leader.settle()
    return told


def code_of(told: Answers) -> ErrorCode | None:
    assert len(told) == 1
    return told[0].code if told[0] is not None else None


def leader_of(world: World) -> Node:
    leader = world.leader()
    assert leader is not None
    return leader


def test_an_observer_that_has_caught_up_becomes_a_voter() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    leader = leader_of(world)
    told = add(leader, world.nodes[3])
    assert told == [], "answered when it is committed"
    assert world.run(500, lambda: told != [])
    assert code_of(told) is None
    settled(world)
    assert all(len(raft_of(node).voters) == 4 for node in world.nodes)
    world.run(2000)
    assert len(told) == 1, "not when its time is over, too"


def test_a_quorum_of_one_grows_to_three_and_survives_its_first_node() -> None:
    world = started(nodes=1, spares=2)
    world.run(500)
    for node in world.nodes[1:]:
        told = add(leader_of(world), node)
        assert world.run(500, lambda told=told: told != [])  # type: ignore[misc]
        assert code_of(told) is None
    world.nodes[0].crash()
    assert settled(world) is not world.nodes[0]


def test_only_one_change_is_under_way_at_a_time() -> None:
    world = started(nodes=3, spares=2)
    world.run(500)
    leader = leader_of(world)
    first, second = add(leader, world.nodes[3]), add(leader, world.nodes[4])
    assert code_of(second) == ErrorCode.REQUEST_TIMED_OUT
    assert world.run(500, lambda: first != [])
    assert code_of(first) is None


def test_who_is_a_voter_already_or_far_behind_is_not_added() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    leader = leader_of(world)
    assert code_of(add(leader, followers(world)[0])) == ErrorCode.DUPLICATE_VOTER
    world.nodes[3].wipe()
    assert code_of(add(leader, world.nodes[3])) == ErrorCode.REQUEST_TIMED_OUT


def test_only_the_leader_changes_voters() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    follower = followers(world)[0]
    assert code_of(add(follower, world.nodes[3])) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code_of(remove(follower, world.nodes[0])) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_removed_voter_stays_as_an_observer_and_holds_no_elections() -> None:
    world = started()
    leader, other = leader_of(world), followers(world)[0]
    told = remove(leader, other)
    assert world.run(500, lambda: told != []) and code_of(told) is None
    settled(world)
    epoch = raft_of(leader).epoch
    leader.crash()
    world.run(5000)
    assert raft_of(other).epoch == epoch or raft_of(other).quorum.leader_id != other.id
    assert other.epoch_led < 0


def test_a_leader_may_remove_itself_and_leads_until_that_is_committed() -> None:
    world = started()
    leader = leader_of(world)
    told = remove(leader, leader)
    assert raft_of(leader).is_leader
    assert world.run(2000, lambda: told != [])
    assert code_of(told) is None
    assert not raft_of(leader).is_leader
    assert settled(world) is not leader


def test_a_voter_is_named_with_its_disk_and_the_last_one_stays() -> None:
    world = started()
    leader = leader_of(world)
    assert code_of(remove(leader, followers(world)[0], b"?" * 16)) == ErrorCode.VOTER_NOT_FOUND
    alone = started(nodes=1)
    assert code_of(remove(leader_of(alone), alone.nodes[0])) == ErrorCode.INVALID_REQUEST


def test_a_wiped_disk_comes_back_as_an_observer_and_replaces_what_was_lost() -> None:
    world = started()
    leader, unlucky = leader_of(world), followers(world)[0]
    old = unlucky.key
    unlucky.wipe()
    unlucky.boot()
    settled(world)
    assert not raft_of(unlucky).quorum.is_voter
    gone = remove(leader, unlucky, old.directory_id)
    assert world.run(500, lambda: gone != []) and code_of(gone) is None
    world.run(500)
    told = add(leader, unlucky)
    assert world.run(500, lambda: told != []) and code_of(told) is None
    settled(world)
    assert raft_of(unlucky).quorum.is_voter


def test_with_auto_join_a_wiped_disk_takes_the_place_of_the_old_one_by_itself() -> None:
    world = World(1, nodes=3)
    world.config = world.config._replace(auto_join=True)
    for node in world.nodes:
        node.boot()
    settled(world)
    unlucky = followers(world)[0]
    unlucky.wipe()
    unlucky.boot()
    assert world.run(
        10_000,
        lambda: (
            raft_of(leader_of(world)).voters.get(unlucky.id) is not None
            and unlucky.key in raft_of(leader_of(world)).voters
        ),
    )
    settled(world)
    assert raft_of(unlucky).quorum.is_voter


def test_without_it_an_observer_stays_one() -> None:
    world = started(nodes=3, spares=1)
    world.run(10_000)
    assert len(raft_of(leader_of(world)).voters) == 3


def test_a_voter_that_was_moved_tells_the_leader() -> None:
    world = started()
    moved = followers(world)[0]
    raft_of(moved).quorum.endpoints = (Endpoint("CONTROLLER", "moved", moved.id),)
    assert world.run(5000, lambda: raft_of(leader_of(world)).voters.get(moved.id).endpoint.host == "moved")  # type: ignore[union-attr]


def test_a_node_of_another_cluster_gives_up_and_one_in_its_own_does_not() -> None:
    world = started()
    lost: list[int] = []
    for node in world.nodes:
        raft_of(node).quorum.wrong_cluster = lambda node=node: lost.append(node.id)  # type: ignore[misc]
    stranger = followers(world)[0]
    stranger.crash()
    stranger.wipe()
    world.cluster_of[stranger.id] = "other"
    stranger.boot()
    raft_of(stranger).quorum.wrong_cluster = lambda: lost.append(stranger.id)
    world.run(3000)
    assert lost == [stranger.id]


def test_one_wrong_address_is_somebody_elses_mistake() -> None:
    world = started(nodes=5)
    node = world.nodes[0]
    node.crash()
    node.wipe()
    cut(world, node)
    node.boot()
    quorum = raft_of(node).quorum
    lost: list[bool] = []
    quorum.wrong_cluster = lambda: lost.append(True)
    for port in (1, 1, 2):
        quorum._met_stranger(("elsewhere", port))
    assert lost == [], "two of the four others"
    quorum._met_stranger(("elsewhere", 3))
    quorum._met_stranger(("elsewhere", 4))
    assert lost == [True]


def test_who_asks_not_to_wait_is_answered_at_once() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    assert code_of(add(leader_of(world), world.nodes[3], ack_when_committed=False)) is None


def test_a_voter_that_moved_is_found_at_its_new_address() -> None:
    world = started()
    leader, other = leader_of(world), followers(world)[0]
    told: Answers = []
    request = UpdateRaftVoterRequest(
        CLUSTER,
        raft_of(leader).epoch,
        other.id,
        other.disk.directory_id,
        [UpdatedListener(name="CONTROLLER", host="elsewhere", port=other.id)],
    )
    raft_of(leader).update_voter(request, told.append)
    leader.settle()
    assert world.run(500, lambda: told != []) and code_of(told) is None
    voter = raft_of(leader).voters.get(other.id)
    assert voter is not None and voter.endpoint is not None and voter.endpoint.host == "elsewhere"
    request.current_leader_epoch -= 1
    told.clear()
    raft_of(leader).update_voter(request, told.append)
    assert code_of(told) == ErrorCode.FENCED_LEADER_EPOCH


def test_the_text_of_a_voter_is_kafkas() -> None:
    voter = parse_voter("3@example.org:9093:AAECAwQFBgcICQoLDA0ODw")
    assert (voter.key.id, voter.key.directory_id) == (3, bytes(range(16)))
    assert voter.endpoint is not None and (voter.endpoint.host, voter.endpoint.port) == ("example.org", 9093)
    assert parse_voter("3@[::1]:9093:AAECAwQFBgcICQoLDA0ODw").endpoint[1] == "::1"  # type: ignore[index]
    for bad in ("", "3", "3@x:9093", "x@h:1:AAECAwQFBgcICQoLDA0ODw", "3@h:0:AAECAwQFBgcICQoLDA0ODw", "3@h:1:no"):
        with pytest.raises(ValueError):
            parse_voter(bad)
    with pytest.raises(ValueError, match="same id"):
        parse_voters(["3@a:1:AAECAwQFBgcICQoLDA0ODw", "3@b:1:AAECAwQFBgcICQoLDA0ODw"])


def test_a_leader_whose_own_removal_reached_nobody_is_elected_once_more_to_commit_it() -> None:
    """Found by seed 262: it alone has the whole log, so the others cannot be elected without it."""
    world = started(nodes=2)
    leader, other = leader_of(world), followers(world)[0]
    other.crash()
    remove(leader, leader)
    world.run(50)
    assert leader.log.durable_end == leader.log.end_offset > other.log.end_offset
    leader.crash()
    leader.boot()
    other.boot()
    assert settled(world) is other
    assert [voter.key for voter in raft_of(other).voters.voters.values()] == [other.key]


def test_a_change_that_the_disk_took_back_is_refused_and_the_next_one_is_not() -> None:
    world = started(nodes=1, spares=1)
    world.run(500)
    leader = leader_of(world)
    leader.full = True
    told = add(leader, world.nodes[1])
    leader.full = False
    assert code_of(told) == ErrorCode.KAFKA_STORAGE_ERROR
    assert raft_of(leader).is_leader and len(raft_of(leader).voters) == 1
    again = add(leader, world.nodes[1])
    assert world.run(500, lambda: again != [])
    assert code_of(again) is None and len(told) == 1


def test_an_observer_that_fell_silent_is_not_made_a_voter() -> None:
    """A quorum of one could not even remove it again."""
    world = started(nodes=1, spares=1)
    world.run(500)
    leader, spare = leader_of(world), world.nodes[1]
    spare.crash()
    world.run(world.config.check_quorum_ms + 1)
    assert code_of(add(leader, spare)) == ErrorCode.REQUEST_TIMED_OUT
    end = world.propose(leader)
    assert world.run(500, lambda: leader.applied == end)


def test_who_has_waited_long_enough_for_a_change_is_told_so_once_and_it_may_still_happen() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    leader, spare = leader_of(world), world.nodes[3]
    for node in world.nodes[:3]:
        if node is not leader:
            cut(world, node)
    told = add(leader, spare, timeout_ms=100)
    world.run(90)
    assert told == []
    world.run(20)
    assert code_of(told) == ErrorCode.REQUEST_TIMED_OUT
    world.cuts.clear()
    settled(world)
    assert all(len(raft_of(node).voters) == 4 for node in world.nodes)
    assert len(told) == 1


def test_a_change_that_a_leader_wrote_alone_never_was_once_its_log_is_cut_back() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    old, spare = leader_of(world), world.nodes[3]
    cut(world, old)
    told = add(old, spare)
    assert len(raft_of(old).voters) == 4, "a leader goes by the newest record, committed or not"
    assert world.run(10_000, lambda: any(node.epoch_led > 1 for node in world.nodes if node is not old))
    world.cuts.clear()
    assert settled(world) is not old
    assert all(len(raft_of(node).voters) == 3 for node in world.nodes)
    assert len(told) == 1 and told[0] is not None
