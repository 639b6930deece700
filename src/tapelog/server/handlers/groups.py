"""The group APIs: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, TxnOffsetCommit, OffsetFetch,
OffsetDelete, DescribeGroups, ListGroups and DeleteGroups. All of them only carry the request to the coordinator and its
answer back.
"""

from __future__ import annotations

from tapelog.coordinators.caller import Caller
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.delete_groups_request import DeleteGroupsRequest
from tapelog.wire.messages.describe_groups_request import DescribeGroupsRequest
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest
from tapelog.wire.messages.list_groups_request import ListGroupsRequest
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest


def join_group(node: NodeApi, call: Call, request: JoinGroupRequest) -> None:
    """A member joins, or comes back for a rebalance."""
    node.groups.join_group(_caller(call), request, call.reply)


def sync_group(node: NodeApi, call: Call, request: SyncGroupRequest) -> None:
    """The leader hands out assignments; members fetch theirs."""
    node.groups.sync_group(_caller(call), request, call.reply)


def heartbeat(node: NodeApi, call: Call, request: HeartbeatRequest) -> None:
    """A member is alive."""
    node.groups.heartbeat(_caller(call), request, call.reply)


def leave_group(node: NodeApi, call: Call, request: LeaveGroupRequest) -> None:
    """Members leave."""
    node.groups.leave_group(_caller(call), request, call.reply)


def offset_commit(node: NodeApi, call: Call, request: OffsetCommitRequest) -> None:
    """A group's positions."""
    node.groups.offset_commit(_caller(call), request, call.reply)


def txn_offset_commit(node: NodeApi, call: Call, request: TxnOffsetCommitRequest) -> None:
    """A group's positions as part of a transaction."""
    node.groups.txn_offset_commit(_caller(call), request, call.reply)


def offset_fetch(node: NodeApi, call: Call, request: OffsetFetchRequest) -> None:
    """Where a group stands."""
    node.groups.offset_fetch(_caller(call), request, call.reply)


def offset_delete(node: NodeApi, call: Call, request: OffsetDeleteRequest) -> None:
    """Forget positions of topics nobody in the group reads."""
    node.groups.offset_delete(_caller(call), request, call.reply)


def describe_groups(node: NodeApi, call: Call, request: DescribeGroupsRequest) -> None:
    """State and members of groups."""
    node.groups.describe_groups(_caller(call), request, call.reply)


def list_groups(node: NodeApi, call: Call, request: ListGroupsRequest) -> None:
    """Every group coordinated here."""
    node.groups.list_groups(_caller(call), request, call.reply)


def delete_groups(node: NodeApi, call: Call, request: DeleteGroupsRequest) -> None:
    """Remove empty groups with their offsets."""
    node.groups.delete_groups(_caller(call), request, call.reply)


def consumer_group_heartbeat(node: NodeApi, call: Call, request: ConsumerGroupHeartbeatRequest) -> None:
    """A member of the newer protocol joins, lives or leaves."""
    node.groups.consumer_group_heartbeat(_caller(call), request, call.reply)


def consumer_group_describe(node: NodeApi, call: Call, request: ConsumerGroupDescribeRequest) -> None:
    """State and members of groups of the newer protocol."""
    node.groups.consumer_group_describe(_caller(call), request, call.reply)


def _caller(call: Call) -> Caller:
    connection = call.connection
    return Caller(call.client_id, f"/{connection.peer_host}", call.version, connection.principal, connection.number)
