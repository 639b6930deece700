"""What fetches of consumers and of followers have in common: finding a partition, comparing epochs, the answer.

Used by `fetch` and `fetch_replica`. Errors are put into the partition's part of the response.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.partition import Partition
from tapelog.server.call import Call
from tapelog.server.fetch_sessions import Wanted
from tapelog.server.handlers.leaders import address, leader
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

LEADER_SINCE: Final = 12
ADDRESS_SINCE: Final = 16
BY_ID_SINCE: Final = 13
_STORAGE: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_UNKNOWN_ID: Final = int(ErrorCode.UNKNOWN_TOPIC_ID)
_UNKNOWN: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_FENCED: Final = int(ErrorCode.FENCED_LEADER_EPOCH)
_FROM_THE_FUTURE: Final = int(ErrorCode.UNKNOWN_LEADER_EPOCH)
_OUT_OF_RANGE: Final = int(ErrorCode.OFFSET_OUT_OF_RANGE)
_HINTED: Final = (_NOT_LEADER, _FENCED)


def find(node: NodeApi, wanted: Wanted, by_id: bool) -> Partition | None:
    """The partition a fetch means, if it is hosted here."""
    state = node.topics_by_id.get(wanted.topic_id) if by_id else node.topics.get(wanted.topic)
    if state is None or not 0 <= wanted.index < len(state.partitions):
        return None
    return state.partitions[wanted.index]


def missing(node: NodeApi, wanted: Wanted, by_id: bool) -> int:
    """The code for a partition that is not hosted here."""
    state = node.topics_by_id.get(wanted.topic_id) if by_id else node.topics.get(wanted.topic)
    if state is None:
        return _UNKNOWN_ID if by_id else _UNKNOWN
    return _NOT_LEADER if 0 <= wanted.index < len(state.partitions) else _UNKNOWN


def nothing(index: int) -> PartitionData:
    """An answer without anything in it yet."""
    return PartitionData(partition_index=index, high_watermark=-1, aborted_transactions=None, records=None)


def check(partition: Partition, wanted: Wanted, data: PartitionData, from_leader: bool) -> bool:
    """Compare what the sender believes of leader and log with what is."""
    if partition.offline or partition.closed:
        data.error_code = _STORAGE if partition.offline else _NOT_LEADER
        return False
    if wanted.leader_epoch >= 0 and wanted.leader_epoch != partition.leader_epoch:
        data.error_code = _FROM_THE_FUTURE if wanted.leader_epoch > partition.leader_epoch else _FENCED
        return False
    if from_leader and not partition.leading:
        data.error_code = _NOT_LEADER
        return False
    if wanted.last_fetched_epoch >= 0:
        epoch, end = partition.epoch_end_offset(wanted.last_fetched_epoch)
        if end < 0 or wanted.offset < partition.log.start_offset:
            data.error_code = _OUT_OF_RANGE
            return False
        if epoch < wanted.last_fetched_epoch or end < wanted.offset:
            data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
            data.high_watermark = partition.high_watermark
            data.log_start_offset = partition.log.start_offset
            return False
    return True


def is_news(wanted: Wanted, data: PartitionData) -> bool:
    """Whether an incremental answer must name a partition without records."""
    return (
        data.error_code != 0
        or data.error_code != wanted.told_error
        or data.high_watermark != wanted.told_high_watermark
        or data.log_start_offset != wanted.told_start_offset
        or data.diverging_epoch is not None
        or data.preferred_read_replica >= 0
    )


def put(response: FetchResponse, wanted: Wanted, data: PartitionData) -> None:
    """Into the response, and note what is told."""
    wanted.told_high_watermark = data.high_watermark
    wanted.told_start_offset = data.log_start_offset
    wanted.told_error = data.error_code
    topic = response.responses[-1] if response.responses else None
    if topic is None or topic.topic_id != wanted.topic_id or topic.topic != wanted.topic:
        topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id)
        response.responses.append(topic)
    if data.records is None:
        data.records = b""
    topic.partitions.append(data)


def hint(node: NodeApi, call: Call, response: FetchResponse, wanted: Wanted, data: PartitionData) -> None:
    """An error says that this is the wrong leader, or the wrong epoch: tell what we know."""
    hinted = data.error_code in _HINTED
    if call.version < LEADER_SINCE or not (hinted or data.error_code == _FROM_THE_FUTURE):
        return
    known = leader(node, wanted.topic, wanted.topic_id, call.version >= BY_ID_SINCE, wanted.index)
    if known is None:
        return
    data.current_leader = LeaderIdAndEpoch(leader_id=known[0], leader_epoch=known[1])
    if call.version < ADDRESS_SINCE or not hinted:
        return
    endpoint = address(node, known[0], call.connection.listener)
    if endpoint is not None and all(told.node_id != known[0] for told in response.node_endpoints):
        response.node_endpoints.append(NodeEndpoint(node_id=known[0], host=endpoint.host, port=endpoint.port))
