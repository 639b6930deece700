"""Small quorums on a good net, for tests that tell one story each."""

from __future__ import annotations

from tapelog.raft.machine import Raft
from tapelog.raft.values import OffsetEpoch, ReplicaKey
from tapelog.wire.messages import vote_request
from tapelog.wire.messages.vote_request import VoteRequest
from tests.simulation.raft_world import CLUSTER, Node, World


def started(nodes: int = 3, spares: int = 0, seed: int = 1) -> World:
    """A quorum whose nodes have all been started, and have a leader that everybody follows."""
    world = World(seed, nodes, spares)
    for node in world.nodes:
        node.boot()
    settled(world)
    return world


def settled(world: World) -> Node:
    """Wait until a leader has committed something and all who live have it; the leader."""

    def agreed() -> bool:
        leader = world.leader()
        if leader is None or leader.raft is None:
            return False
        end = leader.log.end_offset
        live = [node for node in world.nodes if node.raft is not None and not cut_off(world, node)]
        return leader.raft.high_watermark == end and all(node.applied == end for node in live)

    assert world.run(10_000, agreed), "the quorum does not settle"
    leader = world.leader()
    assert leader is not None
    return leader


def cut_off(world: World, node: Node) -> bool:
    """Whether nothing reaches it."""
    others = [other for other in world.nodes if other is not node]
    return bool(others) and all((other.id, node.id) in world.cuts for other in others)


def cut(world: World, node: Node) -> None:
    """Nothing gets to that node or away from it."""
    for other in world.nodes:
        if other is not node:
            world.cuts[(node.id, other.id)] = None
            world.cuts[(other.id, node.id)] = None


def followers(world: World) -> list[Node]:
    """Who lives and does not lead."""
    leader = world.leader()
    return [node for node in world.nodes if node is not leader and node.raft is not None]


def raft_of(node: Node) -> Raft:
    """Its machine."""
    assert node.raft is not None
    return node.raft


def ask_vote(
    voter: Node,
    candidate: ReplicaKey,
    epoch: int,
    end: OffsetEpoch,
    *,
    pre_vote: bool = False,
    key: ReplicaKey | None = None,
) -> tuple[int, bool]:
    """(error code, granted) of a request for a vote."""
    named = key if key is not None else voter.key
    partition = vote_request.PartitionData(
        replica_epoch=epoch,
        replica_id=candidate.id,
        replica_directory_id=candidate.directory_id,
        voter_directory_id=named.directory_id,
        last_offset=end.offset,
        last_offset_epoch=end.epoch,
        pre_vote=pre_vote,
    )
    topic = vote_request.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    response = raft_of(voter).vote(VoteRequest(cluster_id=CLUSTER, voter_id=named.id, topics=[topic]))
    answer = response.topics[0].partitions[0]
    return answer.error_code, answer.vote_granted
