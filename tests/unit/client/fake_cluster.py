"""A cluster of fake brokers: topics with leaders that can be moved, logs of real batches, errors on demand."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from tapelog.client.cluster import Cluster
from tapelog.client.settings import ConnectionSettings
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.values import ZERO_UUID
from tests.unit.client.fake_broker import Answer, FakeBroker
from tests.unit.client.fake_pace import FakePace

TOPIC = "orders"
TOPIC_ID = bytes(range(16))
Extra = Callable[[int, Message, int], Answer | NotImplementedError]


def batch(base_offset: int, count: int = 1, size: int = 10, **more: int | bool) -> bytes:
    """A batch of records at those offsets."""
    records = [Record(0, 1000, b"k", bytes(size)) for _ in range(count)]
    return build_batch(records, base_offset=base_offset, **more)  # type: ignore[arg-type]


class FakeCluster:
    """Brokers 1..n. The first leads everything until told otherwise; any of them answers what its leader would."""

    def __init__(self, brokers: int = 1, partitions: int = 1) -> None:
        self.pace = FakePace()
        self.leaders = dict.fromkeys(range(partitions), 1)
        self.topic_id = TOPIC_ID
        self.epoch = 3
        self.log: list[tuple[int, bytes]] = []
        """(base offset, batch), for every partition the same."""
        self.start = 0
        self.local_start = 0
        self.end = 0
        self.stable = -1
        self.preferred = -1
        self.coordinator = 1
        self.errors: list[tuple[type[Message], int]] = []
        """Errors to answer with: for the next request of that class, once each."""
        self.extra: Extra | None = None
        self.brokers = {
            node: FakeBroker(lambda request, version, node=node: self.answer(node, request, version))
            for node in range(1, brokers + 1)
        }

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for broker in self.brokers.values():
            try:
                broker.stop()
            except OSError:
                pass

    def connect(self, **settings: object) -> Cluster:
        bootstrap = tuple(broker.address for broker in self.brokers.values())
        return Cluster(ConnectionSettings(bootstrap, **settings), self.pace)  # type: ignore[arg-type]

    def add(self, *batches: bytes) -> None:
        for one in batches:
            base = int.from_bytes(one[:8], "big")
            self.log.append((base, one))
            self.end = base + int.from_bytes(one[23:27], "big") + 1

    def asked(self, kind: type[Message]) -> list[Message]:
        return [one for broker in self.brokers.values() for one, _ in broker.asked if isinstance(one, kind)]

    def error_for(self, request: Message) -> int:
        for at, (kind, code) in enumerate(self.errors):
            if isinstance(request, kind):
                del self.errors[at]
                return code
        return 0

    def answer(self, node: int, request: Message, version: int) -> Answer:
        if self.extra is not None:
            special = self.extra(node, request, version)
            if not isinstance(special, NotImplementedError):
                return special
        if isinstance(request, MetadataRequest):
            return self.metadata(request)
        if isinstance(request, FindCoordinatorRequest):
            where = self.brokers[self.coordinator].address
            code = self.error_for(request)
            if version < 4:
                return FindCoordinatorResponse(error_code=code, node_id=1, host=where.host, port=where.port)
            return FindCoordinatorResponse(
                coordinators=[
                    Coordinator(key, self.coordinator, where.host, where.port, code) for key in request.coordinator_keys
                ]
            )
        if isinstance(request, ListOffsetsRequest):
            return self.list_offsets(node, request)
        assert isinstance(request, FetchRequest), request
        return self.fetch(node, request)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        brokers = [MetadataResponseBroker(node, b.address.host, b.address.port) for node, b in self.brokers.items()]
        error = self.error_for(request)
        names = [TOPIC] if request.topics is None else [topic.name or TOPIC for topic in request.topics]
        topics = []
        for name in names:
            code = error or (0 if name == TOPIC else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            parts = [
                MetadataResponsePartition(0, p, leader, self.epoch, [1], [1]) for p, leader in self.leaders.items()
            ]
            topics.append(MetadataResponseTopic(code, name, self.topic_id, partitions=[] if code else parts))
        return MetadataResponse(brokers=brokers, topics=topics)

    def list_offsets(self, node: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        points = {-1: self.end, -2: self.start, -4: self.local_start}
        if request.isolation_level and self.stable >= 0:
            points[-1] = self.stable
        topics = []
        for topic in request.topics:
            rows = []
            for part in topic.partitions:
                code = self.error_for(request)
                if self.leaders[part.partition_index] != node:
                    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                found = points.get(part.timestamp, -1)
                rows.append(
                    ListOffsetsPartitionResponse(part.partition_index, code, -1, -1 if code else found, self.epoch)
                )
            topics.append(ListOffsetsTopicResponse(topic.name, rows))
        return ListOffsetsResponse(topics=topics)

    def fetch(self, node: int, request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        (part,) = topic.partitions
        told = PartitionData(part.partition, self.error_for(request), self.end, self.end, self.start)
        told.last_stable_offset = self.end if self.stable < 0 else self.stable
        if told.error_code:
            pass
        elif topic.topic_id not in (ZERO_UUID, self.topic_id):
            told.error_code = ErrorCode.UNKNOWN_TOPIC_ID
        elif node == self.leaders[part.partition] and self.preferred >= 0:
            told.preferred_read_replica = self.preferred
        elif node not in (self.leaders[part.partition], self.preferred):
            told.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif not self.start <= part.fetch_offset <= self.end:
            told.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            told.records = self.read(part.fetch_offset, part.partition_max_bytes)
        return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, [told])])

    def read(self, offset: int, size: int) -> bytes:
        found = b"".join(
            one
            for base, one in self.log
            if base + int.from_bytes(one[23:27], "big") >= offset and self.local_start <= base
        )
        return found[:size]
