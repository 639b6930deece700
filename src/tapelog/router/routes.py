"""Which API goes where. ApiVersions is answered from this table, as far as all nodes of the cluster serve it.

Not offered: share groups (their sessions belong to connections with the leaders), client telemetry, delegation tokens,
and everything between nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapelog.router import configs, fetch, keyed, log_dirs, markers, rewritten, split
from tapelog.router.catalogue import GROUP, TRANSACTION
from tapelog.router.refusals import refusing
from tapelog.router.session import forward
from tapelog.wire.api_keys import ApiKey
from tapelog.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tapelog.wire.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tapelog.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from tapelog.router.session import Handler

PASSED = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.LIST_CONFIG_RESOURCES,
)
"""To any node, which does it or hands it to the controller."""


def _group(api_key: int) -> Handler:
    return keyed.one_key(GROUP, lambda request: str(request.group_id), refusing(api_key))


def _transaction(api_key: int, field: str = "transactional_id") -> Handler:
    def key_of(request: Any) -> str | None:
        if field == "v3_and_below_transactional_id" and request.transactions:
            return str(request.transactions[0].transactional_id)
        found: str | None = getattr(request, field)
        return found

    return keyed.one_key(TRANSACTION, key_of, refusing(api_key))


HANDLERS: dict[int, Handler] = {
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: split.splitting(
        split.LIST_OFFSETS,
        lambda index, code: ListOffsetsPartitionResponse(partition_index=index, error_code=int(code)),
        lambda topic, parts: ListOffsetsTopicResponse(name=topic.name, partitions=parts),
        ListOffsetsResponse,
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: split.splitting(
        split.LEADER_EPOCHS,
        lambda index, code: EpochEndOffset(partition=index, error_code=int(code)),
        lambda topic, parts: OffsetForLeaderTopicResult(topic=topic.topic, partitions=parts),
        OffsetForLeaderEpochResponse,
    ),
    ApiKey.DELETE_RECORDS: split.splitting(
        split.DELETE_RECORDS,
        lambda index, code: DeleteRecordsPartitionResult(partition_index=index, error_code=int(code)),
        lambda topic, parts: DeleteRecordsTopicResult(name=topic.name, partitions=parts),
        DeleteRecordsResponse,
    ),
    ApiKey.DESCRIBE_PRODUCERS: split.splitting(
        split.PRODUCERS,
        lambda index, code: PartitionResponse(partition_index=index, error_code=int(code)),
        lambda topic, parts: TopicResponse(name=topic.name, partitions=parts),
        DescribeProducersResponse,
    ),
    ApiKey.WRITE_TXN_MARKERS: markers.write,
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs.describe,
    ApiKey.METADATA: rewritten.metadata,
    ApiKey.FIND_COORDINATOR: rewritten.find_coordinator,
    ApiKey.DESCRIBE_CLUSTER: rewritten.describe_cluster,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: rewritten.describe_topic_partitions,
    ApiKey.LIST_GROUPS: rewritten.list_groups,
    ApiKey.LIST_TRANSACTIONS: rewritten.list_transactions,
    **{
        key: _group(key)
        for key in (
            ApiKey.OFFSET_COMMIT,
            ApiKey.JOIN_GROUP,
            ApiKey.HEARTBEAT,
            ApiKey.LEAVE_GROUP,
            ApiKey.SYNC_GROUP,
            ApiKey.TXN_OFFSET_COMMIT,
            ApiKey.OFFSET_DELETE,
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
        )
    },
    **{key: _transaction(key) for key in (ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN)},
    ApiKey.ADD_PARTITIONS_TO_TXN: _transaction(ApiKey.ADD_PARTITIONS_TO_TXN, "v3_and_below_transactional_id"),
    ApiKey.OFFSET_FETCH: keyed.offset_fetch,
    ApiKey.DESCRIBE_GROUPS: keyed.describe_groups,
    ApiKey.DELETE_GROUPS: keyed.delete_groups,
    ApiKey.CONSUMER_GROUP_DESCRIBE: keyed.consumer_group_describe,
    ApiKey.DESCRIBE_TRANSACTIONS: keyed.describe_transactions,
    **{
        key: configs.of_resources(key)
        for key in (ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    },
    **dict.fromkeys(PASSED, forward),
}
HANDLERS[ApiKey.API_VERSIONS] = rewritten.api_versions(
    [ApiKey.PRODUCE, ApiKey.API_VERSIONS, *(key for key in HANDLERS if key not in PASSED)], PASSED
)
