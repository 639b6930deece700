"""The group coordinator as the server sees it: one method per API, all of the same shape.

Every method takes the caller, the decoded request, and a function that gets the response exactly once, now or later.
Requests are checked here as far as no group state is needed, routed to the shard that owns the group, and answered in
the shape their version wants. The node core drives `runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from tapelog.base.ports import Entropy
from tapelog.base.timers import Timers
from tapelog.coordinators import admin, entry
from tapelog.coordinators.caller import Caller
from tapelog.coordinators.classic.ledger import Ledger
from tapelog.coordinators.config import GroupConfig
from tapelog.coordinators.consumer.config import ConsumerConfig, GroupOverrides
from tapelog.coordinators.consumer.watch import TopicWatch
from tapelog.coordinators.consumer_requests import ConsumerRequests
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.gate import TransactionGate
from tapelog.coordinators.gather import Gather
from tapelog.coordinators.hashing import partition_of
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.offset_requests import OffsetRequests
from tapelog.coordinators.offsets.delete import of_topics
from tapelog.coordinators.outcome import CoordinatorLog, Outcome, Reply
from tapelog.coordinators.topics import TopicLookup
from tapelog.coordinators.txn_offset_requests import TxnOffsetRequests
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tapelog.wire.messages.delete_groups_request import DeleteGroupsRequest
from tapelog.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tapelog.wire.messages.describe_groups_request import DescribeGroupsRequest
from tapelog.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.heartbeat_response import HeartbeatResponse
from tapelog.wire.messages.join_group_request import JoinGroupRequest
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from tapelog.wire.messages.list_groups_request import ListGroupsRequest
from tapelog.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tapelog.wire.messages.offset_commit_request import OffsetCommitRequest
from tapelog.wire.messages.offset_commit_response import OffsetCommitResponse
from tapelog.wire.messages.offset_delete_request import OffsetDeleteRequest
from tapelog.wire.messages.offset_delete_response import OffsetDeleteResponse
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest
from tapelog.wire.messages.offset_fetch_response import OffsetFetchResponse
from tapelog.wire.messages.sync_group_request import SyncGroupRequest
from tapelog.wire.messages.sync_group_response import SyncGroupResponse
from tapelog.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tapelog.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse

R = TypeVar("R")

NULLABLE_PROTOCOL_FROM: Final = 7
"""JoinGroup says null for no protocol from this version on, and an empty string before."""

PROTOCOL_IN_SYNC_FROM: Final = 5
MEMBERS_IN_LEAVE_FROM: Final = 3

GROUP_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""Read, delete, describe, describe and alter configs: all that can be done to a group, as a bit field."""


class GroupCoordinator:
    """Groups and their offsets, over the partitions of `__consumer_offsets` that this node leads."""

    def __init__(
        self,
        coordinator_log: CoordinatorLog,
        timers: Timers,
        entropy: Entropy,
        topics: TopicLookup,
        settings: Mapping[str, str] | None = None,
        overrides: GroupOverrides | None = None,
    ) -> None:
        self.config = GroupConfig(settings)
        self.consumer_config = ConsumerConfig(settings, overrides)
        self._watch = TopicWatch(topics)
        ledger = Ledger()
        self.runtime: Runtime[GroupMachine] = Runtime(
            coordinator_log,
            timers,
            lambda context: GroupMachine(context, self.config, self.consumer_config, entropy, self._watch, ledger),
            commit_timeout_ms=self.config.commit_timeout_ms,
        )
        self._consumer = ConsumerRequests(self.runtime, self.consumer_config, self.partition_for)
        self._offsets = OffsetRequests(self.runtime, topics, self.partition_for)
        self._txn_offsets = TxnOffsetRequests(self.runtime, topics, self.partition_for)
        self.gate: TransactionGate | None = None
        """Who knows the producers' transactions; without it no offset is committed in one."""

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that owns the group."""
        return partition_of(group_id, self.config.partitions)

    # -- membership

    def join_group(self, caller: Caller, request: JoinGroupRequest, done: Callable[[JoinGroupResponse], None]) -> None:
        """JoinGroup. The answer comes when the joining phase of the group's rebalance is over."""
        no_protocol = None if caller.api_version >= NULLABLE_PROTOCOL_FROM else ""

        def give(response: JoinGroupResponse) -> None:
            response.protocol_name = response.protocol_name or no_protocol
            done(response)

        def refuse(code: ErrorCode) -> None:
            reply.answer(JoinGroupResponse(member_id=request.member_id, error_code=code))
            self.runtime.flush_answers()

        reply: Reply[JoinGroupResponse] = Reply(self.runtime.post, give)
        timeout_ms = request.session_timeout_ms
        if not request.group_id:
            refuse(ErrorCode.INVALID_GROUP_ID)
        elif not self.config.session_timeout_ms_min <= timeout_ms <= self.config.session_timeout_ms_max:
            refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
        else:
            self._write(request.group_id, lambda m: entry.join(m, caller, request, reply), _ignore, refuse)

    def sync_group(self, caller: Caller, request: SyncGroupRequest, done: Callable[[SyncGroupResponse], None]) -> None:
        """SyncGroup. The answer comes when the leader's assignment is committed."""

        def refuse(code: ErrorCode) -> None:
            reply.answer(SyncGroupResponse(error_code=code))
            self.runtime.flush_answers()

        reply: Reply[SyncGroupResponse] = Reply(self.runtime.post, done)
        unnamed = request.protocol_type is None or request.protocol_name is None
        if not request.group_id:
            refuse(ErrorCode.INVALID_GROUP_ID)
        elif caller.api_version >= PROTOCOL_IN_SYNC_FROM and unnamed:
            refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        else:
            self._write(request.group_id, lambda m: entry.sync(m, request, reply), _ignore, refuse)

    def heartbeat(self, caller: Caller, request: HeartbeatRequest, done: Callable[[HeartbeatResponse], None]) -> None:
        """Heartbeat."""

        def refuse(code: ErrorCode) -> None:
            # While a shard loads its members are not to blame: let them go on.
            loading = code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            done(HeartbeatResponse(error_code=ErrorCode.NONE if loading else code))

        if not request.group_id:
            refuse(ErrorCode.INVALID_GROUP_ID)
        else:
            self._write(request.group_id, lambda m: entry.heartbeat(m, request), done, refuse)

    def leave_group(
        self, caller: Caller, request: LeaveGroupRequest, done: Callable[[LeaveGroupResponse], None]
    ) -> None:
        """LeaveGroup. Before version 3 one member, whose result is the response's own."""
        single = caller.api_version < MEMBERS_IN_LEAVE_FROM
        if single:
            request = LeaveGroupRequest(
                group_id=request.group_id, members=[MemberIdentity(member_id=request.member_id)]
            )

        def give(response: LeaveGroupResponse) -> None:
            if single and response.members:
                response = LeaveGroupResponse(error_code=response.members[0].error_code)
            done(response)

        def refuse(code: ErrorCode) -> None:
            if code != ErrorCode.UNKNOWN_MEMBER_ID:
                give(LeaveGroupResponse(error_code=code))
                return
            unknown = [
                MemberResponse(member_id=m.member_id, group_instance_id=m.group_instance_id, error_code=code)
                for m in request.members
            ]
            give(LeaveGroupResponse(members=unknown))

        if not request.group_id:
            refuse(ErrorCode.INVALID_GROUP_ID)
        else:
            self._write(request.group_id, lambda m: entry.leave(m, request), give, refuse)

    def consumer_group_heartbeat(
        self,
        caller: Caller,
        request: ConsumerGroupHeartbeatRequest,
        done: Callable[[ConsumerGroupHeartbeatResponse], None],
    ) -> None:
        """ConsumerGroupHeartbeat: join, live and leave by the newer protocol."""
        self._consumer.heartbeat(caller, request, done)

    # -- offsets

    def offset_commit(
        self, caller: Caller, request: OffsetCommitRequest, done: Callable[[OffsetCommitResponse], None]
    ) -> None:
        """OffsetCommit. The answer comes when the offsets are committed."""
        self._offsets.commit(caller, request, done)

    def txn_offset_commit(
        self, caller: Caller, request: TxnOffsetCommitRequest, done: Callable[[TxnOffsetCommitResponse], None]
    ) -> None:
        """TxnOffsetCommit. The answer comes when the offsets are in the log as part of the transaction."""
        self._txn_offsets.commit(self.gate, caller, request, done)

    def offset_fetch(
        self, caller: Caller, request: OffsetFetchRequest, done: Callable[[OffsetFetchResponse], None]
    ) -> None:
        """OffsetFetch."""
        self._offsets.fetch(caller, request, done)

    def offset_delete(
        self, caller: Caller, request: OffsetDeleteRequest, done: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """OffsetDelete."""
        self._offsets.delete(caller, request, done)

    # -- administration

    def describe_groups(
        self, caller: Caller, request: DescribeGroupsRequest, done: Callable[[DescribeGroupsResponse], None]
    ) -> None:
        """DescribeGroups, in the order asked."""
        described: list[DescribedGroup] = []
        for group_id in request.groups:
            group = self._describe(caller, group_id)
            if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = GROUP_OPERATIONS
            described.append(group)
        done(DescribeGroupsResponse(groups=described))

    def _describe(self, caller: Caller, group_id: str) -> DescribedGroup:
        try:
            return self.runtime.read(
                self.partition_for(group_id), lambda m: admin.describe(m.classic, group_id, caller.api_version)
            )
        except KafkaError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code)

    def consumer_group_describe(
        self,
        caller: Caller,
        request: ConsumerGroupDescribeRequest,
        done: Callable[[ConsumerGroupDescribeResponse], None],
    ) -> None:
        """ConsumerGroupDescribe, in the order asked."""
        self._consumer.describe(request, GROUP_OPERATIONS, done)

    def list_groups(
        self, caller: Caller, request: ListGroupsRequest, done: Callable[[ListGroupsResponse], None]
    ) -> None:
        """ListGroups: those this node coordinates. An error if it does not know all of them yet."""
        states, types = request.states_filter, request.types_filter
        listed: list[ListedGroup] = []
        try:
            for partition in self.runtime.partitions():
                listed += self.runtime.read(partition, lambda m: admin.list_all(m, states, types))
        except KafkaError as error:
            done(ListGroupsResponse(error_code=error.code))
            return
        done(ListGroupsResponse(groups=listed))

    def delete_groups(
        self, caller: Caller, request: DeleteGroupsRequest, done: Callable[[DeleteGroupsResponse], None]
    ) -> None:
        """DeleteGroups, each with its own result."""
        by_partition: dict[int, list[str]] = {}
        for group_id in dict.fromkeys(request.groups_names):
            by_partition.setdefault(self.partition_for(group_id), []).append(group_id)

        def finish(parts: list[list[DeletableGroupResult]]) -> None:
            done(DeleteGroupsResponse(results=[result for part in parts for result in part]))

        gather: Gather[list[DeletableGroupResult]] = Gather(len(by_partition), finish)
        for place, (partition, group_ids) in enumerate(by_partition.items()):
            self._delete_in(partition, group_ids, gather, place)

    def _delete_in(
        self, partition: int, group_ids: list[str], gather: Gather[list[DeletableGroupResult]], place: int
    ) -> None:
        def refuse(code: ErrorCode) -> None:
            gather.put(place, [DeletableGroupResult(group_id=g, error_code=code) for g in group_ids])

        self.runtime.write(
            partition, lambda m: admin.delete(m, group_ids), lambda part: gather.put(place, part), refuse
        )

    def on_topics_changed(self, names: Collection[str]) -> None:
        """These topics were created, deleted or given more partitions; their groups see to it as they heartbeat."""
        self._watch.changed(names)

    def on_brokers_changed(self) -> None:
        """Brokers came or went, and with them racks."""
        self._watch.all_changed()

    def on_topics_deleted(self, names: Collection[str]) -> None:
        """These topics are gone, and with them every offset committed there."""
        gone = frozenset(names)
        for partition in self.runtime.partitions():
            self.runtime.write(partition, lambda m: of_topics(m.state.offsets, gone), _ignore, _ignore)

    # -- inside

    def _write(
        self,
        group_id: str,
        operation: Callable[[GroupMachine], Outcome[R]],
        done: Callable[[R], None],
        failed: Callable[[ErrorCode], None],
    ) -> None:
        self.runtime.write(self.partition_for(group_id), operation, done, failed)


def _ignore(_: object) -> None:
    """Nobody waits for this."""
