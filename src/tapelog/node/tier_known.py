"""Tiered topics that this node has seen: whoever is among them and not in the metadata any more was deleted.

A topic's leaders remove it from the tier at once. If there was none, or it died over it, somebody else must: every node
writes down which tiered topics it knows (`tier-topics` beside the metadata, one id and leader epoch per line), and
looks from time to time which of them are gone. Absence alone proves nothing, a new cluster has no topics: what this
node has never seen is never touched, and if the metadata has begun anew since (controllers that lost their disks) all
of it is forgotten. That is so if it is older than what was written down, or if it knows none of the witnesses: topics
without a tier that were there then. Their ids are random and nothing brings them back, whereas `tape tier restore`
gives tiered topics their old ids. Asked only while partitions follow the image, which then is up to date.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base import ids
from tapelog.base.ports import DiskError
from tapelog.metadata.image import MetadataImage, TopicImage

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

FILE: Final = "tier-topics"
SAVE_MS: Final = 1_000
"""New ones are written down together."""
EPOCHS_AHEAD: Final = 999_999
"""Elections that a topic may have had since its epoch was noted. Less than `tape tier restore` adds: what somebody has
restored since is spared."""
REMOTE: Final = "remote.storage.enable"
WITNESS: Final = "witness"
WITNESSES_MAX: Final = 16


def is_tiered(image: MetadataImage, topic: str) -> bool:
    """Whether old segments of that topic go to the tier."""
    return image.topic_config(topic).get(REMOTE, "").lower() == "true"


def has_tiered_topics(image: MetadataImage) -> bool:
    """Whether there is any."""
    return any(is_tiered(image, topic) for topic in image.topics)


def witnesses(image: MetadataImage) -> list[bytes]:
    """Ids that only this metadata has; topics of the cluster itself first, nobody deletes those."""
    plain = [topic for name, topic in image.topics.items() if not is_tiered(image, name)]
    plain.sort(key=lambda topic: (not topic.name.startswith("__"), topic.name))
    return [topic.id for topic in plain[:WITNESSES_MAX]]


class KnownTopics:
    """See the module."""

    def __init__(self, node: NodeCore) -> None:
        self._node = node
        self._epochs: dict[bytes, int] = {}
        self._position = (0, 0)
        """Epoch and offset of the metadata when it was written down last."""
        self._witnesses: list[bytes] = []
        self._saving = False
        self._load()

    def __contains__(self, topic_id: bytes) -> bool:
        return topic_id in self._epochs

    def see(self, topic: TopicImage) -> None:
        """Note it, if it is tiered."""
        noted = self._epochs.get(topic.id, -1)
        if noted < 0 and not is_tiered(self._node.image, topic.name):
            return
        epoch = max((part.leader_epoch for part in topic.partitions), default=0)
        if noted < 0 or epoch > noted + EPOCHS_AHEAD // 2:
            self._epochs[topic.id] = epoch
            self._save_soon()

    def look(self) -> None:
        """Note all that are tiered now, and how far the metadata has come."""
        image = self._node.image
        anew = self._begun_anew(image)
        if anew:
            if self._epochs:
                log.error(
                    "the cluster's metadata has begun anew: %d topics in the tier that it does not know stay there; "
                    "bring them back with tape tier restore",
                    len(self._epochs),
                )
            self._epochs.clear()
        self._witnesses = witnesses(image)
        for topic in image.topics.values():
            self.see(topic)
        if anew:
            self._save()  # at once: later this metadata may be longer than the one before
        elif self._epochs and self._position != (image.epoch, image.offset):
            self._save_soon()

    def _begun_anew(self, image: MetadataImage) -> bool:
        if image.epoch < self._position[0] or image.offset < self._position[1]:
            return True
        return bool(self._witnesses) and not any(one in image.topics_by_id for one in self._witnesses)

    def gone(self) -> list[tuple[bytes, int]]:
        """Those that were deleted, with the greatest leader epoch that they can have had."""
        topics = self._node.image.topics_by_id
        return [(one, epoch + EPOCHS_AHEAD) for one, epoch in self._epochs.items() if one not in topics]

    def forget(self, topic_id: bytes) -> None:
        """Nothing is left of it."""
        if self._epochs.pop(topic_id, None) is not None:
            self._save_soon()

    def _save_soon(self) -> None:
        if not self._saving:
            self._saving = True
            self._node.timers.after(SAVE_MS, self._save)

    @property
    def _path(self) -> str:
        return f"{self._node.storage.metadata_path}/{FILE}"

    def _save(self) -> None:
        self._saving = False
        image = self._node.image
        self._position = image.epoch, image.offset
        text = f"metadata {image.epoch} {image.offset}\n"
        text += "".join(f"{WITNESS} {ids.to_text(one)}\n" for one in self._witnesses)
        text += "".join(f"{ids.to_text(one)} {epoch}\n" for one, epoch in self._epochs.items())
        try:
            self._node.disk.replace_file(self._path, text.encode())
        except DiskError as error:
            log.warning("tier: cannot note which topics are tiered: %s", error)

    def _load(self) -> None:
        try:
            lines = self._node.disk.read_file(self._path).decode().splitlines()
        except (OSError, UnicodeDecodeError, DiskError):
            return
        for line in lines:
            word, *numbers = line.split(" ")
            try:
                if word == "metadata":
                    self._position = int(numbers[0]), int(numbers[1])
                elif word == WITNESS:
                    self._witnesses.append(ids.from_text(numbers[0]))
                else:
                    self._epochs[ids.from_text(word)] = int(numbers[0])
            except (ValueError, IndexError):
                continue
