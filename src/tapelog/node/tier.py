"""This node's work in the tier: an uploader per partition it leads, what topics are, what deleted ones leave behind.

`roles` tells which partitions are led, the core which topics changed. Everything happens on the loop; the store answers
there. A slow or absent store costs nothing but time: nothing waits for it except what is to be copied.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.log.tier import carry_out, layout, scripts
from tapelog.log.tier.manifest import Manifest
from tapelog.log.tier.operations import CopySegment, Operation, Result
from tapelog.log.tier.store import ObjectStore, RefusedError, StoreError
from tapelog.log.tier.uploader import Backoff, Uploader
from tapelog.metadata.image import TopicImage
from tapelog.node.tier_topics import TierTopics
from tapelog.replication.partition import Partition
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.describe_log_dirs_response import PartitionTier

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

LOOK_MS: Final = 1_000
"""How often partitions are looked at for segments that have been sealed."""
ALL_MS: Final = 10_000
"""How often even where nothing seems to have changed: retention goes by the clock."""
LOOKS_PER_STEP: Final = 200
COPIERS_MAX: Final = 4
"""Segments on their way up at a time, whatever remote.log.manager.copier.thread.pool.size allows: each takes memory."""
REFUSED_MS: Final = 60_000
"""How long to wait before a store that was refused is asked again."""

Key = tuple[bytes, int]


class Led:
    """One partition that this node leads."""

    def __init__(self, partition: Partition, uploader: Uploader) -> None:
        self.partition = partition
        self.uploader = uploader
        self.seen: tuple[int, int] = (-1, -1)
        self.look_ms = 0


class Tier:
    """See the module."""

    def __init__(self, node: NodeCore, store: ObjectStore) -> None:
        self.node = node
        self.store = store
        self.ready = False
        """Whether the store has shown that it can be used."""
        self.error = ""
        self.failing_since_ms = -1
        """Why it has not, and since when by the wall clock."""
        self.topics = TierTopics(node, store)
        self._led: dict[Key, Led] = {}
        self._copying = 0
        self._waiting: dict[Key, None] = {}
        """For their turn to copy."""
        self._stopped = False
        self.bytes_per_second = 0
        """What all copies may take together: read by their threads, changed on the loop."""
        self._configure()
        self._backoff = Backoff(
            node.entropy,
            node.setting_int("remote.log.manager.task.retry.backoff.ms"),
            node.setting_int("remote.log.manager.task.retry.backoff.max.ms"),
        )

    def start(self) -> None:
        """Try the store, in the background; then begin."""
        node, chance = self.node, self.node.entropy.token(8).hex()
        owner = f"{node.config.cluster_id}-{node.node_id}"  # the bucket may be another cluster's, too
        scripts.play(scripts.probe(f"{owner}-{chance}"), self.store, self._probed)

    def stop(self) -> None:
        """Begin nothing any more; what is under way is left to its fate."""
        self._stopped = True
        self.topics.stop()

    def _probed(self, error: StoreError | None) -> None:
        if self._stopped:
            return
        if error is None:
            if self.failing_since_ms >= 0:
                log.info("the tier can be used, after all")
            self.ready, self.error, self.failing_since_ms = True, "", -1
            self.topics.start()
            self._tick()
            return
        known, self.error = self.error, str(error)
        if self.failing_since_ms < 0:
            log.error("the tier cannot be used: %s. Tried again from time to time; nothing is lost meanwhile", error)
        elif known != self.error and isinstance(error, RefusedError):  # others may have other words at every try
            log.error("the tier cannot be used, now for another reason: %s", error)
        if self.failing_since_ms < 0:
            self.failing_since_ms = self.node.clock.wall_ms()
        wait_ms = REFUSED_MS if isinstance(error, RefusedError) else self._backoff.failed()
        self.node.timers.after(wait_ms, self.start)

    # --- roles -------------------------------------------------------------------------------------------------------

    def led(self, partition: Partition) -> None:
        """This node leads the partition, in a new epoch."""
        self.lost(partition)
        if partition.log.config.remote:
            partition.log.tiered_end = 0  # until we have seen for ourselves that it is the same
            self._led[partition.topic_id, partition.index] = Led(partition, self._uploader(partition))
            topic = self.node.image.topics_by_id.get(partition.topic_id)
            if topic is not None:
                self.topics.known.see(topic)
        elif partition.topic_id in self.topics.known:
            self._leave(partition)  # tiering was turned off, and whoever led then may not have come to it
        self.topics.led(partition)

    def lost(self, partition: Partition) -> None:
        """It does not any more."""
        key = (partition.topic_id, partition.index)
        held = self._led.pop(key, None)
        if held is not None and isinstance(held.uploader.operation, CopySegment):
            self._copied()
        self._waiting.pop(key, None)
        self.topics.lost(partition)

    def configured(self, partition: Partition) -> None:
        """The topic's settings may have changed."""
        key = (partition.topic_id, partition.index)
        if not partition.leading or partition.closed:
            return
        if partition.log.config.remote and key not in self._led:
            self.led(partition)
        elif not partition.log.config.remote and key in self._led:
            self.lost(partition)
            self._leave(partition)
        else:
            self.topics.led(partition)

    def deleted(self, topics: list[TopicImage]) -> None:
        """Topics were deleted, and are still held here: what those led here have in the tier is removed."""
        for topic in topics:
            led = [index for index in range(len(topic.partitions)) if (topic.id, index) in self._led]
            if led:
                epoch = max(part.leader_epoch for part in topic.partitions)
                self.topics.remove(layout.topic_prefix(topic.id), epoch)

    def _leave(self, partition: Partition) -> None:
        """Tiering was turned off, with remote.log.delete.on.disable: only what is here is left."""
        held = partition.log
        held.tiered_end = 0
        try:
            held.increment_start_offset(held.local_start_offset)
        except KafkaError as error:
            log.warning("%s-%d: %s", partition.topic, partition.index, error)
        prefix = layout.partition_prefix(partition.topic_id, partition.index)
        self.topics.remove(prefix, partition.leader_epoch)

    def manifest_of(self, topic_id: bytes, partition: int) -> Manifest | None:
        """The newest manifest this node has written for a partition it leads."""
        held = self._led.get((topic_id, partition))
        return None if held is None else held.uploader.manifest

    def status(self, partition: Partition) -> PartitionTier | None:
        """How a partition that is led here does; None for others."""
        held = self._led.get((partition.topic_id, partition.index))
        if held is None:
            return None
        uploader, kept = held.uploader, partition.log
        manifest, items = uploader.manifest, kept.segments.items
        ends = [segment.base_offset for segment in items[1:]]
        late = [segment.size for segment, end in zip(items, ends, strict=False) if end > kept.tiered_end]
        return PartitionTier(
            state=uploader.state,
            hold=kept.config.hold,
            start_offset=manifest.start_offset if manifest is not None else -1,
            end_offset=manifest.end_offset if manifest is not None else -1,
            segments=manifest.count if manifest is not None else -1,
            bytes=manifest.log_bytes if manifest is not None else -1,
            lag_segments=len(late),
            lag_bytes=sum(late),
            error=uploader.error,
            failing_since_ms=uploader.failing_since_ms,
        )

    def _uploader(self, partition: Partition) -> Uploader:
        node = self.node
        return Uploader(
            partition.topic,
            partition.topic_id,
            partition.index,
            broker=node.node_id,
            leader_epoch=partition.leader_epoch,
            entropy=node.entropy,
            backoff_ms=node.setting_int("remote.log.manager.task.retry.backoff.ms"),
            backoff_ms_max=node.setting_int("remote.log.manager.task.retry.backoff.max.ms"),
            orphan_check_ms=node.setting_int("tapelog.tier.orphan.check.interval.ms"),
            cluster=node.config.cluster_id,
        )

    # --- work --------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Look at all partitions, a bounded number at a time."""
        self._configure()
        keys = list(self._led)

        def step() -> None:
            now_ms = self.node.clock.monotonic_ms()
            for _ in range(min(LOOKS_PER_STEP, len(keys))):
                held = self._led.get(keys.pop())
                if held is not None:
                    self._glance(held, now_ms)
            if not self._stopped:
                self.node.timers.after(1 if keys else LOOK_MS, step if keys else self._tick)

        step()

    def _glance(self, held: Led, now_ms: int) -> None:
        """Look closer where something has changed, or where it was long ago."""
        uploader, kept = held.uploader, held.partition.log
        if uploader.operation is not None or now_ms < uploader.wake_ms:
            return
        seen = (kept.active.base_offset, kept.start_offset)
        if seen != held.seen or now_ms >= held.look_ms:
            self._look(held)

    def _look(self, held: Led) -> None:
        """Have the uploader do the next thing, if there is one."""
        partition, uploader, node = held.partition, held.uploader, self.node
        kept = partition.log
        if partition.closed or partition.offline or self._stopped or self.topics.removing(uploader.prefix):
            return
        now_ms = node.clock.monotonic_ms()
        shown = carry_out.view(kept, uploader.manifest, partition.high_watermark, node.clock.wall_ms())
        if shown.sealed and self._copying >= self._copiers():
            self._waiting[partition.topic_id, partition.index] = None
            shown = carry_out.without_copying(shown)
        operation = uploader.next(now_ms, shown)
        held.seen = (kept.active.base_offset, kept.start_offset)
        waits = kept.active.base_offset > kept.tiered_end and uploader.manifest is not None
        held.look_ms = now_ms + (LOOK_MS if waits else ALL_MS)
        if operation is not None:
            self._begin(held, operation)

    def _begin(self, held: Led, operation: Operation) -> None:
        uploader = held.uploader
        copying = isinstance(operation, CopySegment)
        self._copying += copying

        def done(result: Result) -> None:
            if self._led.get((uploader.topic_id, uploader.partition)) is not held or self._stopped:
                return  # not ours any more; the next leader collects what it left
            before = uploader.error
            uploader.done(self.node.clock.monotonic_ms(), self.node.clock.wall_ms(), result)
            if uploader.error and uploader.error != before:
                log.warning("%s-%d: tier: %s", uploader.topic, uploader.partition, uploader.error)
            self._advance(held)
            if copying:
                self._copied()
            if self._led.get((uploader.topic_id, uploader.partition)) is held:
                self._look(held)

        verify = self.node.setting_bool("tapelog.tier.verify.uploads")
        carry_out.carry_out(operation, self.store, uploader.prefix, held.partition.log, done, verify)

    def _advance(self, held: Led) -> None:
        """The log knows what the newest manifest has, and begins where that begins."""
        manifest, partition = held.uploader.manifest, held.partition
        if manifest is None or not held.uploader.related:
            return
        kept = partition.log
        kept.tiered_end = manifest.end_offset
        start = min(manifest.start_offset, partition.high_watermark)
        if start > kept.start_offset:
            kept.increment_start_offset(start)
            partition.wake_fetches()

    def _copied(self) -> None:
        """A copy has ended: it is somebody else's turn."""
        self._copying -= 1
        if self._waiting:
            self.node.timers.after(0, self._next_copy)

    def _next_copy(self) -> None:
        keys = list(self._waiting)[: max(0, self._copiers() - self._copying)]
        for key in keys:
            self._waiting.pop(key, None)
            held = self._led.get(key)
            if held is not None and held.uploader.operation is None:
                self._look(held)

    def _configure(self) -> None:
        self.bytes_per_second = self.node.setting_int("remote.log.manager.copy.max.bytes.per.second")

    def _copiers(self) -> int:
        return min(COPIERS_MAX, self.node.setting_int("remote.log.manager.copier.thread.pool.size"))
