"""A leader's answers to its followers, by Kafka's rules and nothing more: epochs, divergence, ranges, sessions."""

from __future__ import annotations

from tapelog.replication.partition import Partition
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest
from tapelog.wire.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

Key = tuple[bytes, int]


class ScriptedLeader:
    """Answers for one partition; `idle` says that the last fetch would have waited."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.idle = False
        self.sessions: dict[int, dict[Key, FetchPartition]] = {}
        self.epochs: dict[int, int] = {}
        self.asked: list[Message] = []
        self.fetches = 0

    def answer(self, replica: int, request: Message, now_ms: int) -> Message:
        """What comes back."""
        self.asked.append(request)
        if isinstance(request, ListOffsetsRequest):
            return self._range(request)
        assert isinstance(request, FetchRequest)
        self.fetches += 1
        response = FetchResponse()
        wanted = self._open(request, response)
        if wanted is None:
            return response
        self.idle = True
        assert request.replica_state is not None
        for (topic_id, _), part in wanted.items():
            data = self._read(part, replica, request.replica_state.replica_epoch, now_ms)
            if data.error_code or data.records or data.diverging_epoch is not None:
                self.idle = False
            response.responses.append(FetchableTopicResponse(topic_id=topic_id, partitions=[data]))
        return response

    def _open(self, request: FetchRequest, response: FetchResponse) -> dict[Key, FetchPartition] | None:
        wanted: dict[Key, FetchPartition] = {}
        if request.session_epoch > 0:
            if request.session_id not in self.sessions:
                response.error_code = int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
                return None
            if self.epochs[request.session_id] != request.session_epoch:
                response.error_code = int(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
                return None
            wanted = self.sessions[request.session_id]
            response.session_id = request.session_id
        else:
            response.session_id = len(self.sessions) + 1000
            self.sessions[response.session_id] = wanted
            self.epochs[response.session_id] = 0
        self.epochs[response.session_id] += 1
        for topic in request.topics:
            for part in topic.partitions:
                wanted[topic.topic_id, part.partition] = part
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                wanted.pop((gone.topic_id, index), None)
        return wanted

    def _read(self, part: FetchPartition, replica: int, broker_epoch: int, now_ms: int) -> PartitionData:
        partition, log = self.partition, self.partition.log
        data = PartitionData(partition_index=part.partition, high_watermark=-1, records=None)
        if not partition.leading:
            data.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif part.current_leader_epoch != partition.leader_epoch:
            newer = part.current_leader_epoch > partition.leader_epoch
            data.error_code = int(ErrorCode.UNKNOWN_LEADER_EPOCH if newer else ErrorCode.FENCED_LEADER_EPOCH)
        if data.error_code:
            return data
        if part.last_fetched_epoch >= 0:
            epoch, end = partition.epoch_end_offset(part.last_fetched_epoch)
            if end < 0:
                data.error_code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
                return data
            if epoch < part.last_fetched_epoch or end < part.fetch_offset:
                data.diverging_epoch = EpochEndOffset(epoch, end)
                return data
        if not log.start_offset <= part.fetch_offset <= log.end_offset:
            data.error_code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
            return data
        try:
            partition.follower_fetched(replica, part.fetch_offset, broker_epoch, now_ms, part.log_start_offset)
        except KafkaError as error:
            data.error_code = int(error.code)
            return data
        region = log.read(part.fetch_offset, part.partition_max_bytes, log.written_end, True)
        data.records = b"" if region is None else region.read()
        data.high_watermark, data.log_start_offset = partition.high_watermark, log.start_offset
        return data

    def _range(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        response = ListOffsetsResponse()
        log = self.partition.log
        for topic in request.topics:
            told = ListOffsetsTopicResponse(name=topic.name)
            for part in topic.partitions:
                answer = ListOffsetsPartitionResponse(partition_index=part.partition_index)
                if not self.partition.leading or part.current_leader_epoch != self.partition.leader_epoch:
                    answer.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                else:
                    answer.offset = log.start_offset if part.timestamp == -2 else log.written_end
                told.partitions.append(answer)
            response.topics.append(told)
        return response
