"""The coordinators' door to their internal topic: append, read back, and move the start."""

from __future__ import annotations

from collections.abc import Collection

from tapelog.base.kafka_configs import GROUP_SYNONYMS
from tapelog.base.ports import DiskError
from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_GROUP
from tapelog.replication.partition import ORIGIN_COORDINATOR, Partition
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError


class InternalTopicLog:
    """Implements `coordinators.core.CoordinatorLog` on the partitions of one internal topic."""

    def __init__(self, node: NodeApi, topic: str) -> None:
        self.node = node
        self.topic = topic

    def append(self, partition: int, batch: bytes) -> int:
        """Queue the batch; returns the end offset behind it. Committed when the high watermark reaches that."""
        found = self._partition(partition)
        found.append(batch, 0, len(batch), ORIGIN_COORDINATOR)
        return found.log.end_offset

    def start_offset(self, partition: int) -> int:
        """Where the log begins."""
        return self._partition(partition).log.start_offset

    def end_offset(self, partition: int) -> int:
        """Where the next record goes."""
        return self._partition(partition).log.end_offset

    def high_watermark(self, partition: int) -> int:
        """Up to where records are committed."""
        return self._partition(partition).high_watermark

    def size_bytes(self, partition: int) -> int:
        """How much of the disk the partition takes."""
        return self._partition(partition).log.size_bytes

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds offset; empty at the end."""
        found = self._partition(partition)
        if offset >= found.log.written_end:
            return b""
        try:
            region = found.log.read(offset, max_bytes, found.log.written_end, True)
            return b"" if region is None else region.read()
        except DiskError as error:
            self.node.disk_failed(found, error)
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self.topic}-{partition} cannot be read") from error

    def advance_start(self, partition: int, offset: int) -> None:
        """Everything below offset has been rewritten above it: let it go."""
        found = self._partition(partition)
        log = found.log
        log.increment_start_offset(offset)
        if log.written_end == log.end_offset:
            try:
                log.roll()  # so that the next retention check can free what lies before
            except DiskError as error:
                self.node.disk_failed(found, error)

    def _partition(self, index: int) -> Partition:
        state = self.node.topics.get(self.topic)
        found = state.partitions[index] if state is not None and 0 <= index < len(state.partitions) else None
        if found is None or found.closed or found.offline or not found.leading:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self.topic}-{index} is not led here")
        return found


class ImageTopics:
    """Implements `coordinators.topics.TopicLookup` on the published image."""

    def __init__(self, node: NodeApi) -> None:
        self.node = node

    def id_of(self, name: str) -> bytes | None:
        """The topic's id."""
        topic = self.node.image.topics.get(name)
        return topic.id if topic is not None else None

    def name_of(self, topic_id: bytes) -> str | None:
        """The topic's name."""
        topic = self.node.image.topics_by_id.get(topic_id)
        return topic.name if topic is not None else None

    def partition_count(self, name: str) -> int:
        """How many partitions it has."""
        topic = self.node.image.topics.get(name)
        return len(topic.partitions) if topic is not None else 0

    def names(self) -> Collection[str]:
        """Every topic."""
        return self.node.image.topics.keys()

    def racks(self, name: str, partition: int) -> frozenset[str]:
        """The racks of the brokers that hold a replica of the partition."""
        image = self.node.image
        found = image.partition(name, partition)
        brokers = [image.brokers.get(replica) for replica in found.replicas] if found is not None else []
        return frozenset(broker.rack for broker in brokers if broker is not None and broker.rack is not None)

    def version(self) -> int:
        """How far the metadata log has been applied."""
        return self.node.image.offset


class ImageOverrides:
    """Implements `coordinators.consumer.config.GroupOverrides` on the published image."""

    def __init__(self, node: NodeApi) -> None:
        self.node = node

    def value(self, group_id: str, name: str) -> str | None:
        """What was set for the group; else for this broker or for all of them, while they ran."""
        image = self.node.image
        text = image.config(RESOURCE_GROUP, group_id).get(name)
        for broker in (str(self.node.node_id), ""):
            if text is None:
                text = image.config(RESOURCE_BROKER, broker).get(GROUP_SYNONYMS[name])
        return text
