"""The partitions this node leads: opened, created and removed so that they follow the metadata image.

The image is the truth: a directory that no topic of the image claims (by name and id) is removed at start, a partition
without a directory is created. Creating many partitions costs one sync.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.metadata.config_layers import effective, topic_defaults
from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC, ConfigKey, TopicImage
from tapelog.replication.partition import Partition
from tapelog.server.node_api import TopicState
from tapelog.wire.errors import ErrorCode

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

CLUSTER_METADATA: Final = "__cluster_metadata"
WATCHED: Final = ("__consumer_offsets", "__transaction_state")


class Partitions:
    """Keeps `node.topics` and the log directory in step with the image."""

    def __init__(self, node: NodeCore, directory: LogDirectory) -> None:
        self.node = node
        self.directory = directory
        self.missing: list[TopicImage] = []
        """Topics whose logs could not be created for want of space; tried again until there is some."""

    def open_metadata(self) -> Partition:
        """The log of the cluster's metadata, always there."""
        config = LogConfig(
            {"cleanup.policy": "compact,delete", "retention.ms": "-1", "max.message.bytes": str(8 << 20)}
        )
        config.compact = False
        directory = self.directory
        known = (CLUSTER_METADATA, 0) in directory.logs
        assert not known, "opened twice"
        opened = directory.open_log(CLUSTER_METADATA, 0, config, _METADATA_TOPIC_ID)
        return Partition(self.node.hub, opened, CLUSTER_METADATA, _METADATA_TOPIC_ID, 0, 0)

    def open_all(self) -> None:
        """At start: everything the image says this node holds."""
        node, directory, image = self.node, self.directory, self.node.image
        defaults = topic_defaults(node.metadata.layers)
        configs = {name: LogConfig(effective(defaults, image.topic_config(name))) for name in image.topics}
        existing = set(directory.partitions())
        for topic, index in sorted(existing):
            known = image.topics.get(topic)
            if (
                known is None
                or index >= len(known.partitions)
                or directory.topic_id_of(topic, index) not in (None, known.id)
            ):
                log.warning("removing %s-%d: the cluster knows no such partition", topic, index)
                directory.open_log(topic, index, LogConfig(None))
                directory.delete(topic, index)
                existing.discard((topic, index))
        wanted = [(topic.name, index) for topic in image.topics.values() for index in self._held(topic)]
        present = [key for key in wanted if key in existing]
        directory.open_all(present, lambda name: configs[name])
        directory.create_many(
            NewLog(name, index, image.topics[name].id, configs[name])
            for name, index in wanted
            if (name, index) not in existing
        )
        for topic_image in image.topics.values():
            self._lead(topic_image)

    def create(self, topics: list[TopicImage]) -> None:
        """Topics that are new or have new partitions."""
        node, directory, image = self.node, self.directory, self.node.image
        defaults = topic_defaults(node.metadata.layers)
        new: list[NewLog] = []
        configs: dict[str, LogConfig] = {}
        for topic in topics:
            config = configs[topic.name] = LogConfig(effective(defaults, image.topic_config(topic.name)))
            new += [
                NewLog(topic.name, index, topic.id, config)
                for index in self._held(topic)
                if (topic.name, index) not in directory.logs
            ]
        try:
            directory.create_many(new)
        except DiskFullError as error:
            node.dispatcher.complain(f"no room for the logs of new partitions: {error}. Free some space")
            self.missing += topics
        except DiskError as error:
            node.storage_broke(error)
        for topic in topics:
            self._lead(topic)

    def retry_missing(self) -> None:
        """Create what a full disk kept from being created, if the topics still exist."""
        missing, self.missing = self.missing, []
        known = [self.node.image.topics_by_id.get(topic.id) for topic in missing]
        self.create([topic for topic in known if topic is not None])

    def remove(self, topics: list[TopicImage]) -> None:
        """Topics that were deleted: everybody who waits is told, the files go."""
        node = self.node
        gone: list[tuple[str, int]] = []
        for topic in topics:
            state = node.topics.pop(topic.name, None)
            node.topics_by_id.pop(topic.id, None)
            if state is None:
                continue
            for partition in state.partitions:
                if partition is not None:
                    partition.close(int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                    gone.append((topic.name, partition.index))
        if not gone:
            return
        try:
            self.directory.delete_many(gone)
        except DiskError as error:
            node.storage_broke(error)

    def configure(self, changed: Mapping[ConfigKey, None]) -> None:
        """Settings changed: tell the logs they concern."""
        node = self.node
        everything = any(kind == RESOURCE_BROKER for kind, _ in changed)
        defaults = topic_defaults(node.metadata.layers)
        for name, state in node.topics.items():
            if everything or (RESOURCE_TOPIC, name) in changed:
                config = LogConfig(effective(defaults, node.image.topic_config(name)))
                for partition in state.partitions:
                    if partition is not None:
                        partition.log.update_config(config)
                        partition.use_config()

    def all(self) -> list[Partition]:
        """Every partition led here, topics by name."""
        return [
            partition
            for name in sorted(self.node.topics)
            for partition in self.node.topics[name].partitions
            if partition is not None
        ]

    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """For the checkpoint."""
        return {(partition.topic, partition.index): partition.high_watermark for partition in self.all()}

    def _held(self, topic: TopicImage) -> list[int]:
        return [index for index, part in enumerate(topic.partitions) if self.node.node_id in part.replicas]

    def _lead(self, topic: TopicImage) -> None:
        node = self.node
        state = node.topics.get(topic.name)
        if state is None or state.topic_id != topic.id:
            state = TopicState(topic.name, topic.id, [])
        for index, part in enumerate(topic.partitions):
            if index == len(state.partitions):
                state.partitions.append(None)
            opened: Log | None = self.directory.logs.get((topic.name, index))
            led = state.partitions[index]
            if led is not None:
                led.leader_epoch = part.leader_epoch
            if led is not None or opened is None or part.leader != node.node_id:
                continue
            partition = Partition(node.hub, opened, topic.name, topic.id, index, part.leader_epoch)
            partition.use_config()
            partition.watched = topic.name in WATCHED
            state.partitions[index] = partition
        node.topics[topic.name] = state
        node.topics_by_id[topic.id] = state


_METADATA_TOPIC_ID: Final = b"\0" * 15 + b"\1"
