"""Who may lead, as an image and its configuration say: brokers, directories, min.insync.replicas, unclean election.

Made once per controller operation, asked once per partition by election.py and those who call it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tapelog.base.config import BrokerSettings
from tapelog.base.config_values import parse_boolean
from tapelog.base.ids import DIR_LOST, DIR_MIGRATING, DIR_UNASSIGNED
from tapelog.metadata.config_layers import Layers
from tapelog.metadata.image import BrokerImage, MetadataImage, PartitionImage

ELR_FEATURE: Final = "eligible.leader.replicas.version"
MIN_ISR: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"


def online(directory: bytes, log_dirs: Collection[bytes]) -> bool:
    """Whether a replica assigned to that directory can be there, given the broker's directories."""
    if directory == DIR_LOST:
        return False
    return directory in (DIR_UNASSIGNED, DIR_MIGRATING) or not log_dirs or directory in log_dirs


def default_directory(broker: BrokerImage | None) -> bytes:
    """Where a new replica goes: known at once where there is no choice."""
    return broker.log_dirs[0] if broker is not None and len(broker.log_dirs) == 1 else DIR_UNASSIGNED


def directory_of(partition: PartitionImage, replica: int) -> bytes:
    """The directory that holds the replica, as far as it is known."""
    if not partition.directories or replica not in partition.replicas:
        return DIR_UNASSIGNED
    return partition.directories[partition.replicas.index(replica)]


def elr_enabled(image: MetadataImage) -> bool:
    """Whether the cluster keeps eligible leader replicas (KIP-966)."""
    return image.features.get(ELR_FEATURE, 0) >= 1


class Electorate:
    """The voters' roll of one operation. `without` will not be there when its records are applied, `welcome` will, and
    with these directories if they are named."""

    def __init__(
        self,
        image: MetadataImage,
        settings: BrokerSettings,
        without: Collection[int] = (),
        welcome: int = -1,
        welcome_dirs: Collection[bytes] | None = None,
    ) -> None:
        self.image = image
        self.elr = elr_enabled(image)
        self.without = without
        self.welcome = welcome
        self.welcome_dirs = welcome_dirs
        layers = Layers(image, settings, None)
        self._min_isr = layers.text(MIN_ISR) or "1"
        self._unclean = layers.text(UNCLEAN) or "false"

    def may_lead(self, partition: PartitionImage, replica: int) -> bool:
        """Whether the broker is there and so is the directory that holds the replica."""
        broker = self.image.brokers.get(replica)
        if broker is None or replica in self.without:
            return False
        if not broker.active and replica != self.welcome:
            return False
        known = replica == self.welcome and self.welcome_dirs is not None
        return online(directory_of(partition, replica), (self.welcome_dirs or ()) if known else broker.log_dirs)

    def min_isr(self, topic: str, replicas: int) -> int:
        """How many in-sync replicas make a record of that topic committed; never more than there are replicas."""
        return min(int(self.image.topic_config(topic).get(MIN_ISR) or self._min_isr), replicas)

    def unclean(self, topic: str) -> bool:
        """Whether the topic prefers being available to keeping what was acknowledged."""
        return parse_boolean(self.image.topic_config(topic).get(UNCLEAN) or self._unclean)

    def default_directory(self, replica: int) -> bytes:
        """Where a new replica of that broker goes."""
        return default_directory(self.image.brokers.get(replica))
