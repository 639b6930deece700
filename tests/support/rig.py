"""A broker without sockets for tests: the node core on the simulated disk, with a client, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.base.ports import DiskError, File
from tapelog.replication.partition import Partition
from tapelog.sim.client import SimClient
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.node import SimNode
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.list_offsets_response import ListOffsetsPartitionResponse
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import PartitionProduceResponse
from tapelog.wire.record_batch import Record, build_batch, iterate

TOPIC = "orders"
FLUSHED_MS = 20
"""Longer than any flush takes on a disk that is not slow."""


class Rig:
    """A node that has been started, and what tests often do with it."""

    def __init__(self, seed: int = 1, directories: tuple[str, ...] = ("logs",), **settings: str) -> None:
        self.clock = SimClock()
        named = {"offsets.topic.num.partitions": "2"} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        self.node = SimNode(SimEntropy(seed), self.clock, named, directories)
        self.node.boot()
        self.client = SimClient(self.node)

    def connect(self) -> SimClient:
        """Another connection."""
        return SimClient(self.node)

    def reboot(self, how: Callable[[], None]) -> None:
        """Go down (node.stop, node.kill or node.power_cut) and come back."""
        how()
        self.node.boot()
        self.client = SimClient(self.node)

    def later(self, request: Any, version: int, client: SimClient | None = None) -> list[Any]:
        """Send without waiting: the answer appears in the list."""
        answers: list[Any] = []
        (client or self.client).send(request, version, answers.append)
        return answers

    def partition(self, topic: str = TOPIC, index: int = 0) -> Partition:
        """The partition inside the node."""
        assert self.node.core is not None
        found = self.node.core.topics[topic].partitions[index]
        assert found is not None
        return found

    def topic_id(self, topic: str = TOPIC) -> bytes:
        """The topic's id in the published image."""
        assert self.node.core is not None
        return self.node.core.image.topics[topic].id

    # -- topics

    def create(self, topic: str = TOPIC, partitions: int = 1, **configs: str) -> str:
        """Create a topic; the underscores of config names stand for dots."""
        set_to = [CreatableTopicConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
        wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1, configs=set_to)
        answer = self.client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=1000), 7).topics[0]
        assert answer.error_code == 0, answer
        return topic

    def delete(self, topic: str = TOPIC) -> None:
        """Delete a topic."""
        answer = self.client.call(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5).responses[0]
        assert answer.error_code == 0, answer

    # -- produce

    def batch(self, *values: bytes, producer: tuple[int, int, int] = (-1, -1, -1), **options: Any) -> bytes:
        """A batch with one record per value; producer is (id, epoch, first sequence)."""
        id, epoch, sequence = producer
        at_ms = options.pop("at_ms", self.clock.wall_ms())
        records = [Record(0, at_ms, options.get("key", b"k"), value) for value in values or (b"v",)]
        options.pop("key", None)
        return build_batch(records, producer_id=id, producer_epoch=epoch, base_sequence=sequence, **options)

    def produce(
        self, batch: bytes | None = None, *, topic: str = TOPIC, index: int = 0, acks: int = -1, version: int = 9
    ) -> PartitionProduceResponse:
        """Produce one batch and wait for the answer."""
        request = produce_request((topic, index, self.batch() if batch is None else batch), acks=acks)
        response: PartitionProduceResponse = self.client.call(request, version).responses[0].partition_responses[0]
        return response

    # -- fetch

    def fetch(
        self, offset: int = 0, *, topic: str = TOPIC, index: int = 0, version: int = 12, **fields: Any
    ) -> PartitionData:
        """Fetch from one partition without a session, waiting for nothing."""
        part = FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=fields.pop("part_bytes", 1 << 20)
        )
        part.current_leader_epoch = fields.pop("leader_epoch", -1)
        request = fetch_request(part, topic=topic, topic_id=fields.pop("topic_id", b"\0" * 16), **fields)
        response: FetchResponse = self.client.call(request, version)
        assert response.error_code == 0, response
        return response.responses[0].partitions[0]

    def values(self, **fetch: Any) -> list[bytes | None]:
        """The values a fetch returns."""
        return values_of(self.fetch(**fetch))

    def offset_at(
        self, timestamp: int, *, version: int = 9, isolation: int = 0, epoch: int = -1
    ) -> ListOffsetsPartitionResponse:
        """ListOffsets for the first partition of the topic."""
        part = ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=[ListOffsetsTopic(name=TOPIC, partitions=[part])]
        )
        found: ListOffsetsPartitionResponse = self.client.call(request, version).topics[0].partitions[0]
        return found

    def hold_flushes(self) -> HeldFlushes:
        """From now on flush rounds are begun and do not end before they are released."""
        return HeldFlushes(self)


class HeldFlushes:
    """Flush rounds that are on their way to the disk."""

    def __init__(self, rig: Rig, disk: SimDisk | None = None) -> None:
        self.rig = rig
        self.disk = disk if disk is not None else rig.node.disk
        self.held: list[tuple[list[File], Callable[[DiskError | None], None]]] = []
        self._start = self.disk.start_flush
        self.disk.start_flush = self._hold  # type: ignore[method-assign]

    def _hold(self, files: list[File], done: Callable[[DiskError | None], None]) -> None:
        self.held.append((files, done))

    def release(self) -> None:
        """Let them end, and those that follow."""
        self.disk.start_flush = self._start  # type: ignore[method-assign]
        held, self.held = self.held, []
        for files, done in held:
            self._start(files, done)
        self.rig.node.pass_time(FLUSHED_MS)

    def fail(self, error: DiskError) -> None:
        """Let the round under way fail, once; later ones succeed, as on Linux."""
        self.disk.start_flush = self._start  # type: ignore[method-assign]
        held, self.held = self.held, []
        for _, done in held:
            done(error)
        self.rig.node.settle()
        self.rig.node.pass_time(FLUSHED_MS)


def produce_request(*batches: tuple[str | bytes, int, bytes | None], acks: int = -1) -> ProduceRequest:
    """A Produce of (topic name or id, partition, batch)."""
    request = ProduceRequest(acks=acks, timeout_ms=30_000)
    for topic, index, batch in batches:
        data = PartitionProduceData(index=index, records=batch)
        named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
        request.topic_data.append(TopicProduceData(partition_data=[data], **named))  # type: ignore[arg-type]
    return request


def fetch_request(
    *parts: FetchPartition, topic: str = TOPIC, topic_id: bytes = b"\0" * 16, **fields: Any
) -> FetchRequest:
    """A Fetch from partitions of one topic; without a session and without waiting, unless told otherwise."""
    defaults: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "session_epoch": -1}
    request = FetchRequest(**(defaults | fields))
    request.topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=list(parts))]
    return request


def wants(index: int, offset: int, max_bytes: int = 1 << 20) -> FetchPartition:
    """One partition of a Fetch."""
    return FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)


def raw_records(data: PartitionData) -> bytes:
    """The records of a fetched partition as bytes."""
    records = data.records
    if records is None or isinstance(records, bytes):
        return records or b""
    return records.read() if hasattr(records, "read") else records.tobytes()


def values_of(data: PartitionData) -> list[bytes | None]:
    """The values in a fetched partition."""
    raw = raw_records(data)
    return [record.value for record in iterate(raw, 0, len(raw))]
