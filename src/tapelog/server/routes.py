"""The routes table: one row per API that this node serves, and on which listeners. ApiVersions is computed from it.

Handlers and message classes are imported when an API is first used, so that a broker starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, UnsupportedVersionError

if TYPE_CHECKING:
    from tapelog.server.call import Call
    from tapelog.server.node_api import NodeApi

Handler = Callable[["NodeApi", "Call", Any], None]

ON_BROKER: Final = 1
ON_CONTROLLER: Final = 2
ON_BOTH: Final = 3
FORWARDED: Final = 7
"""Served on both listeners, by the active controller only: other brokers carry it there in an Envelope."""


class Route:
    """One API: its versions, how to decode it and who answers it."""

    def __init__(
        self,
        api_key: int,
        name: str,
        versions: tuple[int, int],
        flexible_from: int,
        handler: str,
        advertised_from: int = -1,
        on: int = ON_BROKER,
    ) -> None:
        self.api_key = api_key
        self.name = name
        self.min_version, self.max_version = versions
        self.flexible_from = flexible_from
        self.advertised_from = advertised_from if advertised_from >= 0 else self.min_version
        self.handler = handler
        self.on = on
        self._decode: Callable[[Reader, int], Message] = self._load_decoder
        self._handle: Handler = self._load_handler

    def decode(self, reader: Reader, version: int) -> Message:
        """The request in these bytes; WireError if they are none."""
        return self._decode(reader, version)

    def handle(self, node: NodeApi, call: Call, request: Message) -> None:
        """Answer the request."""
        self._handle(node, call, request)

    def _load_decoder(self, reader: Reader, version: int) -> Message:
        self._decode = _message_class(self.name, "Request").decode
        return self._decode(reader, version)

    def _load_handler(self, node: NodeApi, call: Call, request: Message) -> None:
        module, _, function = self.handler.partition(":")
        self._handle = getattr(import_module(f"tapelog.server.handlers.{module}"), function or "handle")
        self._handle(node, call, request)

    def error_response(self, code: int, message: str, version: int) -> Message | None:
        """A response that carries nothing but an error; None if this API's response has no place for one."""
        response: Any = _message_class(self.name, "Response")()
        if not hasattr(response, "error_code"):
            return None
        response.error_code = code
        if message and hasattr(response, "error_message"):
            response.error_message = message
        assert isinstance(response, Message)
        return response if _carries(response, version) else None


def _carries(response: Any, version: int) -> bool:
    """Whether the error code is among what that version writes."""
    try:
        data = response.tobytes(version)
    except UnsupportedVersionError:
        return False
    return bool(type(response).decode(Reader(data, 0, len(data)), version).error_code == response.error_code)


def _message_class(name: str, kind: str) -> Any:
    snake = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
    return getattr(import_module(f"tapelog.wire.messages.{snake}_{kind.lower()}"), name + kind)


_NEVER: Final = 32767
_TABLE: Final = (
    Route(0, "Produce", (3, 13), 9, "produce", advertised_from=0),
    Route(1, "Fetch", (4, 18), 12, "fetch", on=ON_BOTH),
    Route(2, "ListOffsets", (1, 11), 6, "list_offsets"),
    Route(3, "Metadata", (0, 13), 9, "metadata"),
    Route(8, "OffsetCommit", (2, 10), 8, "groups:offset_commit"),
    Route(9, "OffsetFetch", (1, 10), 6, "groups:offset_fetch"),
    Route(10, "FindCoordinator", (0, 6), 3, "find_coordinator"),
    Route(11, "JoinGroup", (0, 9), 6, "groups:join_group"),
    Route(12, "Heartbeat", (0, 4), 4, "groups:heartbeat"),
    Route(13, "LeaveGroup", (0, 5), 4, "groups:leave_group"),
    Route(14, "SyncGroup", (0, 5), 4, "groups:sync_group"),
    Route(15, "DescribeGroups", (0, 6), 5, "groups:describe_groups"),
    Route(16, "ListGroups", (0, 5), 3, "groups:list_groups"),
    Route(18, "ApiVersions", (0, 4), 3, "api_versions", on=ON_BOTH),
    Route(19, "CreateTopics", (2, 7), 5, "topics:create_topics", on=FORWARDED),
    Route(20, "DeleteTopics", (1, 6), 4, "topics:delete_topics", on=FORWARDED),
    Route(21, "DeleteRecords", (0, 2), 2, "delete_records"),
    Route(22, "InitProducerId", (0, 6), 2, "init_producer_id"),
    Route(23, "OffsetForLeaderEpoch", (2, 4), 4, "offset_for_leader_epoch"),
    Route(24, "AddPartitionsToTxn", (0, 5), 3, "transactions:add_partitions_to_txn"),
    Route(25, "AddOffsetsToTxn", (0, 4), 3, "transactions:add_offsets_to_txn"),
    Route(26, "EndTxn", (0, 5), 3, "transactions:end_txn"),
    Route(27, "WriteTxnMarkers", (1, 2), 1, "write_txn_markers"),
    Route(28, "TxnOffsetCommit", (0, 5), 3, "groups:txn_offset_commit"),
    Route(29, "DescribeAcls", (1, 3), 2, "described:describe_acls", on=ON_BOTH),
    Route(32, "DescribeConfigs", (1, 4), 4, "configs:describe_configs", on=ON_BOTH),
    Route(33, "AlterConfigs", (0, 2), 2, "configs:alter_configs", on=FORWARDED),
    Route(34, "AlterReplicaLogDirs", (1, 2), 2, "alter_replica_log_dirs"),
    Route(35, "DescribeLogDirs", (1, 5), 2, "describe_log_dirs"),
    Route(37, "CreatePartitions", (0, 3), 2, "topics:create_partitions", on=FORWARDED),
    Route(42, "DeleteGroups", (0, 2), 2, "groups:delete_groups"),
    Route(43, "ElectLeaders", (0, 2), 2, "controller_partitions:elect_leaders", on=FORWARDED),
    Route(44, "IncrementalAlterConfigs", (0, 1), 1, "configs:incremental_alter_configs", on=FORWARDED),
    Route(
        45,
        "AlterPartitionReassignments",
        (0, 1),
        0,
        "controller_partitions:alter_partition_reassignments",
        on=FORWARDED,
    ),
    Route(46, "ListPartitionReassignments", (0, 0), 0, "described:list_partition_reassignments", on=FORWARDED),
    Route(47, "OffsetDelete", (0, 0), _NEVER, "groups:offset_delete"),
    Route(48, "DescribeClientQuotas", (0, 1), 1, "described:describe_client_quotas"),
    Route(52, "Vote", (0, 2), 0, "raft:vote", on=ON_CONTROLLER),
    Route(53, "BeginQuorumEpoch", (0, 1), 1, "raft:begin_quorum_epoch", on=ON_CONTROLLER),
    Route(54, "EndQuorumEpoch", (0, 1), 1, "raft:end_quorum_epoch", on=ON_CONTROLLER),
    Route(55, "DescribeQuorum", (0, 2), 0, "raft:describe_quorum", on=FORWARDED),
    Route(56, "AlterPartition", (2, 3), 2, "controller_partitions:alter_partition", on=ON_CONTROLLER),
    Route(57, "UpdateFeatures", (0, 2), 0, "controller_partitions:update_features", on=FORWARDED),
    Route(58, "Envelope", (0, 0), 0, "envelope", on=ON_CONTROLLER),
    Route(59, "FetchSnapshot", (0, 1), 0, "raft:fetch_snapshot", on=ON_CONTROLLER),
    Route(60, "DescribeCluster", (0, 2), 0, "described:describe_cluster", on=ON_BOTH),
    Route(61, "DescribeProducers", (0, 0), 0, "describe_producers"),
    Route(62, "BrokerRegistration", (0, 4), 0, "controller_brokers:broker_registration", on=ON_CONTROLLER),
    Route(63, "BrokerHeartbeat", (0, 2), 0, "controller_brokers:broker_heartbeat", on=ON_CONTROLLER),
    Route(64, "UnregisterBroker", (0, 0), 0, "controller_brokers:unregister_broker", on=FORWARDED),
    Route(65, "DescribeTransactions", (0, 0), 0, "transactions:describe_transactions"),
    Route(66, "ListTransactions", (0, 2), 0, "transactions:list_transactions"),
    Route(67, "AllocateProducerIds", (0, 0), 0, "controller_brokers:allocate_producer_ids", on=ON_CONTROLLER),
    Route(68, "ConsumerGroupHeartbeat", (0, 1), 0, "groups:consumer_group_heartbeat"),
    Route(69, "ConsumerGroupDescribe", (0, 1), 0, "groups:consumer_group_describe"),
    Route(70, "ControllerRegistration", (0, 0), 0, "controller_brokers:controller_registration", on=ON_CONTROLLER),
    Route(73, "AssignReplicasToDirs", (0, 0), 0, "controller_partitions:assign_replicas_to_dirs", on=ON_CONTROLLER),
    Route(74, "ListConfigResources", (0, 1), 0, "configs:list_config_resources"),
    Route(75, "DescribeTopicPartitions", (0, 0), 0, "described:describe_topic_partitions"),
    Route(80, "AddRaftVoter", (0, 1), 0, "raft:add_raft_voter", on=FORWARDED),
    Route(81, "RemoveRaftVoter", (0, 0), 0, "raft:remove_raft_voter", on=FORWARDED),
    Route(82, "UpdateRaftVoter", (0, 0), 0, "raft:update_raft_voter", on=ON_CONTROLLER),
)


def _index() -> list[Route | None]:
    routes: list[Route | None] = [None] * (max(route.api_key for route in _TABLE) + 1)
    for route in _TABLE:
        routes[route.api_key] = route
    return routes


ROUTES: Final = _index()


def served(side: int = ON_BROKER) -> list[Route]:
    """Every route of that kind of listener, by API key."""
    return [route for route in ROUTES if route is not None and route.on & side]


def unsupported_version_response() -> Message:
    """What an ApiVersions request of a version we do not know gets: v0, with the versions we do."""
    from tapelog.server.handlers.api_versions import response_for_unsupported_version

    return response_for_unsupported_version()
