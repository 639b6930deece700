"""The role of each partition held here: led, followed, or ended, and who is told about a change of it.

Called by `node.partitions` with what the newest image says. Roles go forwards only: by leader epoch. Fetcher and
coordinators hear of a change after the partition itself has made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tapelog.log.config import LogConfig
from tapelog.log.directories import LogDirectories
from tapelog.log.log import Log
from tapelog.metadata.config_layers import effective, topic_defaults
from tapelog.metadata.image import PartitionImage, TopicImage
from tapelog.node.fetchers import Fetchers
from tapelog.replication.partition import Partition
from tapelog.server.node_api import TopicState

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

WATCHED: Final = ("__consumer_offsets", "__transaction_state")


class Roles:
    """See the module."""

    def __init__(self, node: NodeCore, directory: LogDirectories, fetchers: Fetchers) -> None:
        self.node = node
        self.directory = directory
        self.fetchers = fetchers
        self._configs: dict[str, LogConfig] = {}

    def begin(self) -> None:
        """The image may be another one than before."""
        self._configs.clear()

    def config_of(self, topic: str) -> LogConfig:
        """What the image says of a topic's logs; parsed once per step."""
        config = self._configs.get(topic)
        if config is None:
            defaults = topic_defaults(self.node.metadata.layers)
            config = self._configs[topic] = LogConfig(effective(defaults, self.node.image.topic_config(topic)))
        return config

    def take(self, state: TopicState, topic: TopicImage, index: int, image: PartitionImage) -> None:
        """Bring a partition held here to what the image says, unless it has no log yet."""
        opened = self.directory.logs.get((topic.name, index))
        if opened is None:
            return
        held = state.partitions[index]
        fresh = held is None
        config = self.config_of(topic.name)
        if fresh and config.restore and not self._restored(config, topic, index, opened):
            return
        if held is None:
            held = state.partitions[index] = self._partition(topic, index, image, opened)
        if image.leader == self.node.node_id:
            self._lead(held, image, fresh)
        else:
            self._follow(held, image, fresh)

    def _restored(self, config: LogConfig, topic: TopicImage, index: int, opened: Log) -> bool:
        from tapelog.node.tier_restored import restored

        return restored(self.node, config, topic, index, opened)

    def end(self, partition: Partition, code: int) -> None:
        """It is held here no more: everybody who waits for it gets this error code."""
        self.fetchers.stop(partition)
        led = partition.leading
        partition.close(code)
        if self.node.tier_reads is not None:
            self.node.tier_reads.forget(partition)
        if led:
            self.node.coordinators.lost(partition)
            if self.node.tier is not None:
                self.node.tier.lost(partition)

    def _partition(self, topic: TopicImage, index: int, image: PartitionImage, opened: Log) -> Partition:
        node = self.node
        opened.update_config(self.config_of(topic.name))
        partition = Partition(node.hub, opened, topic.name, topic.id, index, image.leader_epoch)
        partition.watched = topic.name in WATCHED
        node.quotas.bind(partition)
        if image.replicas != (node.node_id,):  # of its own, a replica cannot know what is committed
            known = self.directory.known_high_watermark(opened)
            partition.high_watermark = max(opened.local_start_offset, min(known, opened.durable_end))
        return partition

    def _lead(self, partition: Partition, image: PartitionImage, fresh: bool) -> None:
        node = self.node
        now_ms = node.clock.monotonic_ms()
        if not fresh and partition.leading and image.leader_epoch <= partition.leader_epoch:
            partition.update(image.partition_epoch, image.replicas, image.isr, now_ms)
            return
        self.fetchers.stop(partition)
        partition.lead(image.leader_epoch, image.partition_epoch, image.replicas, image.isr, now_ms)
        if partition.watched:
            node.write_queued(partition)  # coordinators load what is written: a marker may only be queued
            node.coordinators.led(partition)
        if node.tier is not None:
            node.tier.led(partition)

    def _follow(self, partition: Partition, image: PartitionImage, fresh: bool) -> None:
        node = self.node
        if not fresh and not partition.leading and image.leader_epoch == partition.leader_epoch:
            self.fetchers.update(partition, image)
            return
        led = partition.leading and not fresh
        partition.follow(image.leader, image.leader_epoch)
        if led:
            node.coordinators.lost(partition)
            if node.tier is not None:
                node.tier.lost(partition)
        self.fetchers.follow(partition, image)
