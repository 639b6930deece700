"""The APIs of the newer protocol, from the request to the shard and back: ConsumerGroupHeartbeat and -Describe."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.consumer.checks import check_request
from tapelog.coordinators.consumer.config import ConsumerConfig
from tapelog.coordinators.consumer.describe import describe
from tapelog.coordinators.consumer.heartbeat import heartbeat
from tapelog.coordinators.core import Runtime
from tapelog.coordinators.machine import GroupMachine
from tapelog.coordinators.outcome import Outcome
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tapelog.wire.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedGroup
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse


class ConsumerRequests:
    """ConsumerGroupHeartbeat and ConsumerGroupDescribe."""

    def __init__(
        self, runtime: Runtime[GroupMachine], config: ConsumerConfig, partition_for: Callable[[str], int]
    ) -> None:
        self._runtime = runtime
        self._config = config
        self._partition_for = partition_for

    def heartbeat(
        self,
        caller: Caller,
        request: ConsumerGroupHeartbeatRequest,
        done: Callable[[ConsumerGroupHeartbeatResponse], None],
    ) -> None:
        """One heartbeat. The answer comes when everything it says is committed; refusals say why."""
        reasons: dict[ErrorCode, str] = {}

        def refuse(code: ErrorCode) -> None:
            done(ConsumerGroupHeartbeatResponse(error_code=code, error_message=reasons.get(code)))

        def run(machine: GroupMachine) -> Outcome[ConsumerGroupHeartbeatResponse]:
            try:
                return heartbeat(machine.consumer, machine.classic, caller, request)
            except KafkaError as error:
                reasons[error.code] = error.message or error.code.name
                raise

        if not self._config.enabled:
            refuse(ErrorCode.UNSUPPORTED_VERSION)
            return
        try:
            check_request(request, caller.api_version, self._config.assignors)
        except KafkaError as error:
            done(ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message))
            return
        self._runtime.write(self._partition_for(request.group_id), run, done, refuse)

    def describe(
        self,
        request: ConsumerGroupDescribeRequest,
        operations: int,
        done: Callable[[ConsumerGroupDescribeResponse], None],
    ) -> None:
        """The groups asked for, in order; with what may be done to them, if that was asked too."""
        described: list[DescribedGroup] = []
        for group_id in request.group_ids:
            group = self._describe(group_id)
            if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = operations
            described.append(group)
        done(ConsumerGroupDescribeResponse(groups=described))

    def _describe(self, group_id: str) -> DescribedGroup:
        if not self._config.enabled:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
        if not group_id:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
        try:
            return self._runtime.read(self._partition_for(group_id), lambda m: describe(m.consumer, group_id))
        except KafkaError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code)
