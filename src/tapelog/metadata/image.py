"""The cluster's metadata as one immutable value.

Owned by whoever published it last (MetadataLog); read by every handler. An image is never changed after it was
built: `delta.ImageDelta` builds the next one, sharing everything that did not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.base.addresses import host_port
from tapelog.wire.primitives import ZERO_UUID

NO_LEADER: Final = -1

# ConfigResource types as they stand in records and requests.
RESOURCE_TOPIC: Final = 2
RESOURCE_BROKER: Final = 4
RESOURCE_BROKER_LOGGER: Final = 8
RESOURCE_CLIENT_METRICS: Final = 16
RESOURCE_GROUP: Final = 32

ConfigKey = tuple[int, str]
"""(resource type, resource name); the broker name '' is the cluster-wide default."""


class Endpoint:
    """Where a node can be reached under a listener name."""

    __slots__ = ("host", "name", "port", "security_protocol")

    def __init__(self, name: str, host: str, port: int, security_protocol: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Endpoint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Endpoint({self.name}://{host_port(self.host, self.port)})"

    def _key(self) -> tuple[str, str, int, int]:
        return (self.name, self.host, self.port, self.security_protocol)


class BrokerImage:
    """A registered broker. `epoch` is the offset of its registration record."""

    __slots__ = (
        "cordoned_log_dirs",
        "endpoints",
        "epoch",
        "features",
        "fenced",
        "id",
        "in_controlled_shutdown",
        "incarnation_id",
        "log_dirs",
        "rack",
    )

    def __init__(
        self,
        id: int,
        epoch: int,
        incarnation_id: bytes = ZERO_UUID,
        endpoints: tuple[Endpoint, ...] = (),
        rack: str | None = None,
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: tuple[bytes, ...] = (),
        features: tuple[tuple[str, int, int], ...] = (),
        cordoned_log_dirs: tuple[bytes, ...] = (),
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.incarnation_id = incarnation_id
        self.endpoints = endpoints
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = log_dirs
        self.features = features
        self.cordoned_log_dirs = cordoned_log_dirs
        """Directories that get no new replicas."""

    def endpoint(self, listener: str) -> Endpoint | None:
        """The address advertised for clients of that listener."""
        for endpoint in self.endpoints:
            if endpoint.name == listener:
                return endpoint
        return None

    @property
    def active(self) -> bool:
        """May lead and be given new replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokerImage) and all(
            getattr(self, name) == getattr(other, name) for name in BrokerImage.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.id, self.epoch))

    def __repr__(self) -> str:
        return f"BrokerImage(id={self.id}, epoch={self.epoch}, fenced={self.fenced}, {self.endpoints})"


class PartitionImage:
    """One partition: who holds it, who leads it, who is in sync."""

    __slots__ = (
        "adding_replicas",
        "directories",
        "elr",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "leader_recovery_state",
        "partition_epoch",
        "removing_replicas",
        "replicas",
    )

    def __init__(
        self,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        leader: int,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        directories: tuple[bytes, ...] = (),
        removing_replicas: tuple[int, ...] = (),
        adding_replicas: tuple[int, ...] = (),
        leader_recovery_state: int = 0,
        elr: tuple[int, ...] = (),
        last_known_elr: tuple[int, ...] = (),
    ) -> None:
        self.replicas = replicas
        self.isr = isr
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = directories
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.elr = elr
        self.last_known_elr = last_known_elr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionImage) and all(
            getattr(self, name) == getattr(other, name) for name in PartitionImage.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.replicas, self.isr, self.leader, self.leader_epoch, self.partition_epoch))

    def __repr__(self) -> str:
        return (
            f"PartitionImage(replicas={self.replicas}, isr={self.isr}, leader={self.leader}, "
            f"leader_epoch={self.leader_epoch}, partition_epoch={self.partition_epoch})"
        )


class TopicImage:
    """A topic: its name, its id (new at every creation) and its partitions by index."""

    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, id: bytes, partitions: tuple[PartitionImage, ...] = ()) -> None:
        self.name = name
        self.id = id
        self.partitions = partitions

    def partition(self, index: int) -> PartitionImage | None:
        """The partition, or None if there is no such index."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TopicImage)
            and self.name == other.name
            and self.id == other.id
            and self.partitions == other.partitions
        )

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"TopicImage({self.name!r}, {self.id.hex()}, {len(self.partitions)} partitions)"


class ControllerImage:
    """A registered controller node."""

    __slots__ = ("endpoints", "features", "id", "incarnation_id")

    def __init__(
        self,
        id: int,
        incarnation_id: bytes,
        endpoints: tuple[Endpoint, ...] = (),
        features: tuple[tuple[str, int, int], ...] = (),
    ) -> None:
        self.id = id
        self.incarnation_id = incarnation_id
        self.endpoints = endpoints
        self.features = features

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ControllerImage) and all(
            getattr(self, name) == getattr(other, name) for name in ControllerImage.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.id, self.incarnation_id))


_EMPTY: Final[dict[str, str]] = {}


class MetadataImage:
    """Everything the metadata log says up to (excluding) `offset`.

    `offset`: end offset replayed; `epoch`: the leader epoch of the last batch; `timestamp_ms` of the last batch.
    The dictionaries are shared between images: read them, never write them.
    """

    __slots__ = (
        "brokers",
        "cluster_id",
        "configs",
        "controller_id",
        "controllers",
        "epoch",
        "features",
        "next_producer_id",
        "offset",
        "timestamp_ms",
        "topics",
        "topics_by_id",
    )

    def __init__(
        self,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: Mapping[int, BrokerImage] | None = None,
        controllers: Mapping[int, ControllerImage] | None = None,
        topics: Mapping[str, TopicImage] | None = None,
        topics_by_id: Mapping[bytes, TopicImage] | None = None,
        configs: Mapping[ConfigKey, Mapping[str, str]] | None = None,
        features: Mapping[str, int] | None = None,
        next_producer_id: int = 0,
        offset: int = 0,
        epoch: int = 0,
        timestamp_ms: int = 0,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: Mapping[int, BrokerImage] = brokers if brokers is not None else {}
        self.controllers: Mapping[int, ControllerImage] = controllers if controllers is not None else {}
        self.topics: Mapping[str, TopicImage] = topics if topics is not None else {}
        self.topics_by_id: Mapping[bytes, TopicImage] = topics_by_id if topics_by_id is not None else {}
        self.configs: Mapping[ConfigKey, Mapping[str, str]] = configs if configs is not None else {}
        self.features: Mapping[str, int] = features if features is not None else {}
        self.next_producer_id = next_producer_id
        self.offset = offset
        self.epoch = epoch
        self.timestamp_ms = timestamp_ms

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """Overrides set on that topic; not the effective values (see configs.effective_topic_config)."""
        return self.configs.get((RESOURCE_TOPIC, topic), _EMPTY)

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Overrides set on that resource."""
        return self.configs.get((resource_type, name), _EMPTY)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """The partition, or None if topic or index do not exist."""
        found = self.topics.get(topic)
        return found.partition(index) if found is not None else None

    def alive_brokers(self) -> list[BrokerImage]:
        """Brokers clients may be told of, by id."""
        return [self.brokers[id] for id in sorted(self.brokers) if not self.brokers[id].fenced]

    def same_state(self, other: MetadataImage) -> bool:
        """Whether both say the same about the cluster, whatever log position and leader they were read at."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in MetadataImage.__slots__
            if name not in ("controller_id", "offset", "epoch", "timestamp_ms")
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MetadataImage)
            and self.same_state(other)
            and (self.controller_id, self.offset, self.epoch, self.timestamp_ms)
            == (other.controller_id, other.offset, other.epoch, other.timestamp_ms)
        )

    def __hash__(self) -> int:
        return hash((self.offset, self.epoch))

    def __repr__(self) -> str:
        return (
            f"MetadataImage(offset={self.offset}, epoch={self.epoch}, brokers={len(self.brokers)}, "
            f"topics={len(self.topics)})"
        )


def invariants(image: MetadataImage) -> None:
    """Assert what every image must satisfy; run after each step in tests and simulation."""
    assert len(image.topics) == len(image.topics_by_id)
    for name, topic in image.topics.items():
        assert topic.name == name
        assert image.topics_by_id[topic.id] is topic
        for partition in topic.partitions:
            replicas = set(partition.replicas)
            assert partition.replicas, f"{name} has a partition without replicas"
            assert len(replicas) == len(partition.replicas)
            assert replicas.issuperset(partition.isr)
            assert replicas.issuperset(partition.elr)
            assert not set(partition.isr) & set(partition.elr), f"{name}: in sync and merely eligible at once"
            assert partition.leader == NO_LEADER or partition.leader in partition.isr, f"{name}: {partition}"
            assert not partition.directories or len(partition.directories) == len(partition.replicas)
    for resource_type, resource in image.configs:
        assert image.configs[(resource_type, resource)], "an empty override map is removed"
        if resource_type == RESOURCE_TOPIC:
            assert resource in image.topics, f"configs of the absent topic {resource}"
