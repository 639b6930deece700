"""The metadata quorum's APIs: Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot among its replicas; DescribeQuorum,
AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter for whoever administers it. Only translated here: raft/ decides."""

from __future__ import annotations

from tapelog.base.ids import ZERO
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from tapelog.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from tapelog.wire.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tapelog.wire.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest
from tapelog.wire.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tapelog.wire.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from tapelog.wire.messages.update_raft_voter_request import UpdateRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_response import CurrentLeader, UpdateRaftVoterResponse
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse

ENDPOINTS_FROM = 1
"""The first version of Vote, BeginQuorumEpoch, EndQuorumEpoch and FetchSnapshot that tells where the leader listens."""


def vote(node: NodeApi, call: Call, request: VoteRequest) -> None:
    """Versions 0 to 2; voters by directory since 1, pre-votes since 2."""
    _reply(call, node.raft.vote(request))


def begin_quorum_epoch(node: NodeApi, call: Call, request: BeginQuorumEpochRequest) -> None:
    """Versions 0 and 1."""
    _reply(call, node.raft.begin_quorum_epoch(request))


def end_quorum_epoch(node: NodeApi, call: Call, request: EndQuorumEpochRequest) -> None:
    """Versions 0 and 1."""
    _reply(call, node.raft.end_quorum_epoch(request))


def fetch_snapshot(node: NodeApi, call: Call, request: FetchSnapshotRequest) -> None:
    """Versions 0 and 1."""
    _reply(call, node.raft.fetch_snapshot(request))


def _reply(
    call: Call, response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchSnapshotResponse
) -> None:
    if call.version < ENDPOINTS_FROM:
        response.node_endpoints = []
    call.reply(response)


def describe_quorum(node: NodeApi, call: Call, request: DescribeQuorumRequest) -> None:
    """Versions 0 to 2; the voters' directories, addresses and messages since 2, times of fetches since 1. A tagged
    field of our own counts unclean elections."""
    response = node.raft.describe_quorum(request)
    response.unclean_elections = node.unclean_elections
    if call.version < 2:
        response.nodes = []
        for topic in response.topics:
            for partition in topic.partitions:
                for replica in (*partition.current_voters, *partition.observers):
                    replica.replica_directory_id = ZERO
    call.reply(response)


def add_raft_voter(node: NodeApi, call: Call, request: AddRaftVoterRequest) -> None:
    """Versions 0 and 1; answered when the change is committed, since 1 also as soon as it is in the log."""

    def told(error: KafkaError | None) -> None:
        code, text = _error(error)
        call.reply(AddRaftVoterResponse(error_code=code, error_message=text))

    node.raft.add_voter(request, told)


def remove_raft_voter(node: NodeApi, call: Call, request: RemoveRaftVoterRequest) -> None:
    """Version 0; answered when the change is committed."""

    def told(error: KafkaError | None) -> None:
        code, text = _error(error)
        call.reply(RemoveRaftVoterResponse(error_code=code, error_message=text))

    node.raft.remove_voter(request, told)


def update_raft_voter(node: NodeApi, call: Call, request: UpdateRaftVoterRequest) -> None:
    """Version 0; a voter tells where it listens. The answer names the leader."""

    def told(error: KafkaError | None) -> None:
        response = UpdateRaftVoterResponse(error_code=_error(error)[0])
        leader = node.raft.leader
        if leader is not None and leader.endpoint is not None:
            response.current_leader = CurrentLeader(
                leader_id=leader.id, leader_epoch=leader.epoch, host=leader.endpoint.host, port=leader.endpoint.port
            )
        call.reply(response)

    node.raft.update_voter(request, told)


def _error(error: KafkaError | None) -> tuple[int, str | None]:
    return (0, None) if error is None else (int(error.code), error.message or None)
