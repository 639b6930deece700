"""What the metadata image tells of rare events, and what must hold of every image."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.metadata.image import NO_LEADER, MetadataImage, PartitionImage, invariants
from tapelog.sim.rare import Rare


class Noticing:
    """Looks at each new image once, whichever node publishes it first."""

    def __init__(self, rare: Rare) -> None:
        self.rare = rare
        self.newest = MetadataImage()
        self.on_entered: Callable[[bytes, int, int], None] | None = None
        """Told of topic id, partition and node when a replica enters an ISR."""

    def published(self, image: MetadataImage) -> None:
        """A node has this image now."""
        before = self.newest
        if image.offset <= before.offset:
            return
        self.newest = image
        invariants(image)
        if image.controller_id != before.controller_id and before.controller_id >= 0:
            self.rare.count("another active controller")
        if image.topics is not before.topics:
            for id, topic in image.topics_by_id.items():
                old = before.topics_by_id.get(id)
                if old is not None and old is not topic:
                    for index, (was, now) in enumerate(zip(old.partitions, topic.partitions, strict=False)):
                        if was is not now:
                            self._changed(was, now)
                            self._entered(id, index, was, now)
        if image.brokers is not before.brokers:
            self._brokers(before, image)

    def _changed(self, was: PartitionImage, now: PartitionImage) -> None:
        assert now.leader_epoch >= was.leader_epoch, f"a leader epoch goes back: {was} {now}"
        assert now.partition_epoch >= was.partition_epoch, f"a partition epoch goes back: {was} {now}"
        assert now.leader == was.leader or now.leader_epoch > was.leader_epoch, f"a leader of no epoch: {was} {now}"
        count = self.rare.count
        if len(now.isr) < len(was.isr):
            count("ISR shrinks")
            if len(now.isr) == 1:
                count("ISR shrinks to one")
        elif len(now.isr) > len(was.isr):
            count("ISR expands")
        if now.leader == NO_LEADER and was.leader != NO_LEADER:
            count("partition without leader")
        elif now.leader != was.leader and now.leader != NO_LEADER:
            count("another leader")
            moving = was.adding_replicas or was.removing_replicas  # the leader's own word that others have caught up
            if now.leader not in was.isr and not moving and now.partition_epoch == was.partition_epoch + 1:
                assert now.leader in was.elr, f"an unclean election that nobody asked for: {was} {now}"
                count("leader from the eligible replicas")
        if now.elr and not was.elr:
            count("eligible leader replicas")
        if was.adding_replicas and not now.adding_replicas:
            count("reassignment ends")

    def _entered(self, id: bytes, index: int, was: PartitionImage, now: PartitionImage) -> None:
        if self.on_entered is not None and now.isr != was.isr:
            for node_id in now.isr:
                if node_id not in was.isr:
                    self.on_entered(id, index, node_id)

    def _brokers(self, before: MetadataImage, image: MetadataImage) -> None:
        for id, broker in image.brokers.items():
            old = before.brokers.get(id)
            if old is None or old is broker:
                continue
            if old.epoch != broker.epoch:
                self.rare.count("registered again")
            elif broker.fenced and not old.fenced:
                self.rare.count("broker fenced")
            elif broker.in_controlled_shutdown and not old.in_controlled_shutdown:
                self.rare.count("controlled shutdown")
