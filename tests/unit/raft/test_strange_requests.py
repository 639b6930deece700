"""What other replicas may say: in early versions, which name no voter, and in epochs that nobody can be in."""

from __future__ import annotations

import pytest

from tapelog.raft import requests
from tapelog.raft.quorum import EPOCH_JUMP_MAX, EPOCH_MAX
from tapelog.raft.values import ReplicaKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages import begin_quorum_epoch_request, end_quorum_epoch_request
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.primitives import Reader
from tests.simulation.raft_world import CLUSTER, CONFIG, Node, World
from tests.unit.raft.quorums import ask_vote, followers, raft_of, settled, started
from tests.unit.raft.test_elections import FAR, STRANGER


def told(node: Node, leader_id: int, epoch: int) -> int:
    """Somebody says that it leads; the error code."""
    request = requests.begin(CLUSTER, node.key, leader_id, epoch, ())
    return int(raft_of(node).begin_quorum_epoch(request).topics[0].partitions[0].error_code)


def told_of_the_end(node: Node, leader_id: int, epoch: int) -> int:
    """Somebody says that it leads no more; the error code."""
    request = requests.end(CLUSTER, leader_id, epoch, [], ())
    return int(raft_of(node).end_quorum_epoch(request).topics[0].partitions[0].error_code)


def test_a_request_for_a_vote_of_version_0_is_heard() -> None:
    world = started()
    voter = followers(world)[0]
    epoch = raft_of(voter).epoch + 1
    request = requests.vote(CLUSTER, voter.key, STRANGER, epoch, FAR, pre_vote=False)
    data = request.tobytes(0)
    again = VoteRequest.decode(Reader(data, 0, len(data)), 0)
    assert again.voter_id == -1, "version 0 does not say who is asked"
    answer = raft_of(voter).vote(again).topics[0].partitions[0]
    assert (answer.error_code, answer.vote_granted, answer.leader_epoch) == (0, True, epoch)
    assert ask_vote(voter, ReplicaKey(8, b"8" * 16), epoch, FAR) == (0, False), "it has voted"


def test_the_beginning_and_the_end_of_an_epoch_in_version_0_are_heard() -> None:
    world = started()
    one, two = followers(world)
    epoch = raft_of(one).epoch + 1
    begin = begin_quorum_epoch_request.PartitionData(leader_id=two.id, leader_epoch=epoch)
    topic = begin_quorum_epoch_request.TopicData(topic_name=requests.TOPIC, partitions=[begin])
    answer = raft_of(one).begin_quorum_epoch(BeginQuorumEpochRequest(cluster_id=CLUSTER, topics=[topic]))
    assert answer.topics[0].partitions[0].error_code == 0
    leader = raft_of(one).leader
    assert leader is not None
    assert (leader.id, leader.epoch) == (two.id, epoch)
    end = end_quorum_epoch_request.PartitionData(leader_id=two.id, leader_epoch=epoch, preferred_successors=[one.id])
    ended = end_quorum_epoch_request.TopicData(topic_name=requests.TOPIC, partitions=[end])
    raft_of(one).end_quorum_epoch(EndQuorumEpochRequest(cluster_id=CLUSTER, topics=[ended]))
    world.run(1)
    assert raft_of(one).leader is None, "named first: it asks for votes at once"
    settled(world)


@pytest.mark.parametrize("epoch", [EPOCH_MAX, EPOCH_MAX - 1, 1 << 30, EPOCH_JUMP_MAX + 100])
def test_an_epoch_that_nobody_can_be_in_is_not_believed(epoch: int) -> None:
    world = started()
    before = settled(world)
    for node in world.nodes:
        known = raft_of(node).epoch
        assert ask_vote(node, STRANGER, epoch, FAR) == (ErrorCode.INVALID_REQUEST, False)
        assert ask_vote(node, STRANGER, epoch, FAR, pre_vote=True) == (ErrorCode.INVALID_REQUEST, False)
        assert told(node, STRANGER.id, epoch) == ErrorCode.INVALID_REQUEST
        assert told_of_the_end(node, STRANGER.id, epoch) == ErrorCode.INVALID_REQUEST
        raft_of(node).quorum.learn(epoch, STRANGER.id, None)
        assert raft_of(node).epoch == known
    world.run(CONFIG.fetch_timeout_ms * 2)
    assert settled(world) is before


def test_a_replica_that_was_away_for_many_elections_believes_them() -> None:
    world = started()
    node = followers(world)[0]
    assert ask_vote(node, STRANGER, raft_of(node).epoch + EPOCH_JUMP_MAX, FAR) == (0, True)
    settled(world)


def test_in_the_last_epoch_that_can_be_said_nobody_stands_and_nothing_breaks() -> None:
    world = World(1, nodes=3)
    for node in world.nodes:
        node.boot()
        while raft_of(node).epoch < EPOCH_MAX:
            told_of_the_end(node, STRANGER.id, min(EPOCH_MAX, raft_of(node).epoch + EPOCH_JUMP_MAX))
    world.run(CONFIG.fetch_timeout_ms * 10)
    assert [raft_of(node).epoch for node in world.nodes] == [EPOCH_MAX] * 3
    assert world.leader() is None
