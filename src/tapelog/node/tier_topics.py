"""Topics in the tier: `topic.json` of those whose first partition is led here, and the end of deleted ones.

What is to be removed is noted in a file before anything else of a deleted topic goes, so that a crash does not forget
it: `tier-removals` beside the metadata, one prefix and leader epoch per line. What nobody led when it was deleted is
found by any node (`tier_known`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError
from tapelog.log.tier import layout, scripts
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.store import ObjectStore, StoreError
from tapelog.log.tier.topic import TopicDocument
from tapelog.log.tier.uploader import Backoff
from tapelog.metadata.image import TopicImage
from tapelog.node.tier_known import KnownTopics
from tapelog.replication.partition import Partition

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

REMOVALS: Final = "tier-removals"
AGAIN_MS: Final = 60_000
"""Removed a second time after this: a copy that was under way may have arrived since."""
TOPIC_LENGTH: Final = len(layout.topic_prefix(bytes(16)))
FIRST_SWEEP_MS: Final = 60_000
"""After the start; the next ones tapelog.tier.orphan.check.interval.ms apart."""


class TierTopics:
    """See the module."""

    def __init__(self, node: NodeCore, store: ObjectStore) -> None:
        self._node = node
        self._store = store
        self._ready = False
        self._stopped = False
        self._untold: dict[str, None] = {}
        """Topics whose topic.json is to be written."""
        self._telling = False
        self._removals: dict[str, int] = {}
        self._removing = False
        self._backoff = Backoff(node.entropy, 500, 30_000)
        self.known = KnownTopics(node)

    def start(self) -> None:
        """The store can be used."""
        self._ready = True
        self._load_removals()
        self.known.look()
        self._node.timers.after(min(FIRST_SWEEP_MS, self._sweep_ms()), self._sweep)
        self._go_on()

    def stop(self) -> None:
        """Begin nothing any more."""
        self._stopped = True

    # --- topic.json --------------------------------------------------------------------------------------------------

    def led(self, partition: Partition) -> None:
        """A partition is led here, or its topic's settings changed."""
        if partition.index == 0 and partition.log.config.remote:
            self._untold[partition.topic] = None
            self._go_on()

    def lost(self, partition: Partition) -> None:
        """It is not any more."""
        if partition.index == 0:
            self._untold.pop(partition.topic, None)

    def changed(self, topics: list[TopicImage]) -> None:
        """Topics have more partitions, or other replicas."""
        for topic in topics:
            self.known.see(topic)
            state = self._node.topics.get(topic.name)
            first = state.partitions[0] if state is not None and state.partitions else None
            if first is not None and first.leading:
                self.led(first)

    def _document(self, name: str) -> TopicDocument | None:
        node = self._node
        topic, state = node.image.topics.get(name), node.topics.get(name)
        first = state.partitions[0] if state is not None and state.partitions else None
        if topic is None or first is None or not first.leading or first.topic_id != topic.id:
            return None
        configs = dict(sorted(node.image.topic_config(name).items()))
        configs.pop("tapelog.tier.restore", None)
        replicas = len(topic.partitions[0].replicas)
        return TopicDocument(
            name, topic.id, node.config.cluster_id, len(topic.partitions), replicas, first.leader_epoch, configs
        )

    def _tell(self) -> None:
        name = next(iter(self._untold))
        del self._untold[name]
        document = self._document(name)
        if document is None:
            self._go_on()
            return
        self._telling = True

        def told(error: StoreError | None) -> None:
            self._telling = False
            if error is not None:
                self._untold[name] = None
                self._node.timers.after(self._backoff.failed(), self._go_on)
            else:
                self._backoff.succeeded()
                self._go_on()

        scripts.play(scripts.tell_topic(document), self._store, told)

    def _go_on(self) -> None:
        if not self._ready or self._stopped:
            return
        if self._untold and not self._telling:
            self._tell()
        if self._removals and not self._removing:
            self._remove_next()

    # --- removal -----------------------------------------------------------------------------------------------------

    def remove(self, prefix: str, leader_epoch: int) -> None:
        """Delete everything below a prefix, sooner or later, whatever happens meanwhile."""
        self._removals[prefix] = leader_epoch
        self._save_removals()
        self._go_on()

    def removing(self, prefix: str) -> bool:
        """Whether a partition's prefix, or its topic's, is being removed, or waits for it."""
        return bool(self._removals) and (prefix in self._removals or prefix[:TOPIC_LENGTH] in self._removals)

    def _lives(self, prefix: str) -> bool:
        """Whether a deleted topic is there again: `tape tier restore` gives it its old id, and its objects."""
        topic_id = layout.topic_of_prefix(prefix)
        return topic_id is not None and topic_id in self._node.image.topics_by_id

    def _remove_next(self) -> None:
        prefix, epoch = next(iter(self._removals.items()))
        if self._lives(prefix):
            log.info("tier: %s was restored and is not removed", prefix)
            del self._removals[prefix]
            self._save_removals()
            self._go_on()
            return
        self._removing = True
        writer = self._writer(epoch)

        def removed(error: StoreError | None) -> None:
            self._removing = False
            if self._stopped:
                return
            if error is not None:
                log.warning("tier: cannot remove %s yet: %s", prefix, error)
                self._removals[prefix] = self._removals.pop(prefix)
                self._node.timers.after(self._backoff.failed(), self._go_on)
                return
            log.info("tier: removed %s", prefix)
            self._removals.pop(prefix, None)
            self._save_removals()
            topic_id = layout.topic_of_prefix(prefix)
            if topic_id is not None:  # it is still known: should we be killed before, a sweep does the same
                self._node.timers.after(AGAIN_MS, lambda: self._once_more(topic_id, epoch))
            self._go_on()

        scripts.play(scripts.remove(prefix, writer), self._store, removed)

    def _once_more(self, topic_id: bytes, epoch: int) -> None:
        def removed(error: StoreError | None) -> None:
            if error is None and not self._stopped and topic_id not in self._node.image.topics_by_id:
                self.known.forget(topic_id)

        if not self._stopped and topic_id not in self._node.image.topics_by_id:
            script = scripts.remove(layout.topic_prefix(topic_id), self._writer(epoch))
            scripts.play(script, self._store, removed)

    def _sweep_ms(self) -> int:
        return self._node.setting_int("tapelog.tier.orphan.check.interval.ms")

    def _sweep(self) -> None:
        """Topics that were deleted while nobody led them, or whose last leader died before they were removed."""
        if self._stopped:
            return
        self.known.look()
        for topic_id, epoch in self.known.gone():
            prefix = layout.topic_prefix(topic_id)
            if prefix not in self._removals:
                log.info("tier: %s was deleted, removing what may be left of it", prefix)
                self.remove(prefix, epoch)
        self._node.timers.after(self._sweep_ms(), self._sweep)

    def _writer(self, epoch: int) -> Writer:
        node = self._node
        return Writer(node.node_id, epoch, node.entropy.token(6).hex(), node.config.cluster_id)

    @property
    def _path(self) -> str:
        return f"{self._node.storage.metadata_path}/{REMOVALS}"

    def _load_removals(self) -> None:
        try:
            lines = self._node.disk.read_file(self._path).decode().splitlines()
        except (OSError, UnicodeDecodeError, DiskError):
            return
        for line in lines:
            prefix, _, epoch = line.partition(" ")
            if prefix and epoch.isdecimal():
                self._removals.setdefault(prefix, int(epoch))

    def _save_removals(self) -> None:
        text = "".join(f"{prefix} {epoch}\n" for prefix, epoch in self._removals.items())
        try:
            self._node.disk.replace_file(self._path, text.encode())
        except DiskError as error:
            log.warning("tier: cannot note what is to be removed: %s", error)
