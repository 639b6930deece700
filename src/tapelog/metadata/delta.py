"""Replay: the one way from an image to the next.

An ImageDelta collects records on top of a base image and copies only what they touch; build() gives the new
image. MetadataLog makes one per committed batch and hands it to subscribers, which learn from it what changed.
"""

from __future__ import annotations

from typing import assert_never

from tapelog.base.ids import DIR_UNASSIGNED
from tapelog.metadata.election import is_unclean
from tapelog.metadata.image import (
    RESOURCE_TOPIC,
    BrokerImage,
    ConfigKey,
    ControllerImage,
    Endpoint,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tapelog.metadata.record_types import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    StateRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

_NO_LEADER_CHANGE = -2
_UNCHANGED = 0


class MetadataReplayError(Exception):
    """A record that contradicts the image: the log was not written by a sound controller."""


class ImageDelta:
    """Records replayed onto a base image, and what they changed.

    After build(): `changed_topics` (created or changed, as they are now), `deleted_topics` (as they were),
    `changed_configs`, `changed_brokers` (ids, in order of first change).
    """

    def __init__(self, base: MetadataImage) -> None:
        self.base = base
        self.changed_topics: list[TopicImage] = []
        self.deleted_topics: list[TopicImage] = []
        self.changed_configs: dict[ConfigKey, None] = {}
        self.changed_brokers: dict[int, None] = {}
        self.features_changed = False
        self.unclean_elections = 0
        """Records among these that let somebody lead who may lack committed records."""
        self._cluster_id = base.cluster_id
        self._controller_id = base.controller_id
        self._next_producer_id = base.next_producer_id
        self._deleted: dict[bytes, None] = {}
        self._names: dict[bytes, str] = {}  # topics created or changed, in order
        self._partitions: dict[bytes, dict[int, PartitionImage]] = {}
        self._ids_by_name: dict[str, bytes | None] = {}  # None: removed
        self._brokers: dict[int, BrokerImage] | None = None
        self._controllers: dict[int, ControllerImage] | None = None
        self._configs: dict[ConfigKey, dict[str, str]] = {}
        self._features: dict[str, int] | None = None

    def set_controller(self, controller_id: int) -> None:
        """A leader change in the quorum."""
        self._controller_id = controller_id

    def replay(self, record: StateRecord) -> None:
        """Apply one record."""
        match record:
            case PartitionRecord():
                self._partition(record)
            case TopicRecord():
                self._topic(record)
            case ConfigRecord():
                self._config(record)
            case PartitionChangeRecord():
                self._partition_change(record)
            case RemoveTopicRecord():
                self._remove_topic(record)
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id
            case FeatureLevelRecord():
                self._feature(record)
            case RegisterBrokerRecord():
                self._register_broker(record)
            case BrokerRegistrationChangeRecord():
                self._broker_change(record)
            case FenceBrokerRecord():
                self._fence(record.id, record.epoch, True)
            case UnfenceBrokerRecord():
                self._fence(record.id, record.epoch, False)
            case UnregisterBrokerRecord():
                self._unregister_broker(record)
            case RegisterControllerRecord():
                self._register_controller(record)
            case ClearElrRecord():
                self._clear_elr(record)
            case NoOpRecord():
                pass
            case _:
                assert_never(record)

    def build(self, offset: int, epoch: int, timestamp_ms: int = 0) -> MetadataImage:
        """The next image, as of that log position."""
        base = self.base
        topics, topics_by_id = base.topics, base.topics_by_id
        if self._ids_by_name or self._partitions:
            names, ids = dict(topics), dict(topics_by_id)
            for deleted in self.deleted_topics:
                names.pop(deleted.name, None)
                del ids[deleted.id]
            for id, name in self._names.items():
                partitions = self._partitions[id]
                if sorted(partitions) != list(range(len(partitions))):
                    raise MetadataReplayError(f"topic {name} has gaps in its partitions: {sorted(partitions)}")
                topic = TopicImage(name, id, tuple(partitions[index] for index in range(len(partitions))))
                names[name] = ids[id] = topic
                self.changed_topics.append(topic)
            topics, topics_by_id = names, ids
        configs = base.configs
        if self._configs:
            merged = dict(configs)
            for key, values in self._configs.items():
                if values:
                    merged[key] = values
                else:
                    merged.pop(key, None)
            configs = merged
        return MetadataImage(
            cluster_id=self._cluster_id,
            controller_id=self._controller_id,
            brokers=base.brokers if self._brokers is None else self._brokers,
            controllers=base.controllers if self._controllers is None else self._controllers,
            topics=topics,
            topics_by_id=topics_by_id,
            configs=configs,
            features=base.features if self._features is None else self._features,
            next_producer_id=self._next_producer_id,
            offset=offset,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
        )

    # -- topics

    def _topic(self, record: TopicRecord) -> None:
        if self._topic_id(record.name) is not None:
            raise MetadataReplayError(f"topic {record.name} is created twice")
        self._ids_by_name[record.name] = record.topic_id
        self._names[record.topic_id] = record.name
        self._partitions[record.topic_id] = {}

    def _topic_id(self, name: str) -> bytes | None:
        if name in self._ids_by_name:
            return self._ids_by_name[name]
        topic = self.base.topics.get(name)
        return topic.id if topic is not None else None

    def _touched(self, id: bytes) -> dict[int, PartitionImage]:
        """The partitions of a topic, copied for change."""
        partitions = self._partitions.get(id)
        if partitions is None:
            topic = self.base.topics_by_id.get(id)
            if topic is None or id in self._deleted:
                raise MetadataReplayError(f"no topic has the id {id.hex()}")
            partitions = self._partitions[id] = dict(enumerate(topic.partitions))
            self._names[id] = topic.name
        return partitions

    def _partition(self, record: PartitionRecord) -> None:
        self._touched(record.topic_id)[record.partition_id] = PartitionImage(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            directories=tuple(record.directories),
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            leader_recovery_state=record.leader_recovery_state,
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        partitions = self._touched(record.topic_id)
        old = partitions.get(record.partition_id)
        if old is None:
            raise MetadataReplayError(f"no partition {record.partition_id} in topic {record.topic_id.hex()}")
        partitions[record.partition_id] = changed_partition(old, record)
        if is_unclean(record):
            self.unclean_elections += 1

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        id = record.topic_id
        partitions = self._partitions.pop(id, None)
        name = self._names.pop(id, None)
        topic = self.base.topics_by_id.get(id)
        if topic is not None and id not in self._deleted:
            self._deleted[id] = None
            self.deleted_topics.append(topic)
            name = topic.name
        elif partitions is None or name is None:
            raise MetadataReplayError(f"no topic has the id {id.hex()}")
        self._ids_by_name[name] = None
        key = (RESOURCE_TOPIC, name)
        if self._overrides(key):
            self._configs[key] = {}
            self.changed_configs[key] = None

    def _clear_elr(self, record: ClearElrRecord) -> None:
        names = [record.topic_name] if record.topic_name else list(self.base.topics)
        for name in names:
            id = self._topic_id(name)
            if id is None:
                raise MetadataReplayError(f"no topic is named {name}")
            for index, old in self._touched(id).items():
                if old.elr or old.last_known_elr:
                    self._partitions[id][index] = PartitionImage(
                        old.replicas,
                        old.isr,
                        old.leader,
                        old.leader_epoch,
                        old.partition_epoch,
                        old.directories,
                        old.removing_replicas,
                        old.adding_replicas,
                        old.leader_recovery_state,
                    )

    # -- configs, features

    def _overrides(self, key: ConfigKey) -> dict[str, str]:
        changed = self._configs.get(key)
        return changed if changed is not None else dict(self.base.configs.get(key, {}))

    def _config(self, record: ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        values = self._configs[key] = self._overrides(key)
        self.changed_configs[key] = None
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value

    def _feature(self, record: FeatureLevelRecord) -> None:
        if self._features is None:
            self._features = dict(self.base.features)
        self.features_changed = True
        if record.feature_level == 0:
            self._features.pop(record.name, None)
        else:
            self._features[record.name] = record.feature_level

    # -- brokers and controllers

    def _broker_map(self, id: int) -> dict[int, BrokerImage]:
        if self._brokers is None:
            self._brokers = dict(self.base.brokers)
        self.changed_brokers[id] = None
        return self._brokers

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._broker_map(record.broker_id)[record.broker_id] = BrokerImage(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=tuple(Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
            features=tuple((f.name, f.min_supported_version, f.max_supported_version) for f in record.features),
            cordoned_log_dirs=tuple(record.cordoned_log_dirs or ()),
        )

    def _known_broker(self, id: int, epoch: int) -> BrokerImage:
        broker = self._broker_map(id).get(id)
        if broker is None or broker.epoch != epoch:
            raise MetadataReplayError(f"broker {id} is not registered with epoch {epoch}")
        return broker

    def _fence(self, id: int, epoch: int, fenced: bool) -> None:
        old = self._known_broker(id, epoch)
        self._broker_map(id)[id] = _with(old, fenced, old.in_controlled_shutdown, old.log_dirs, old.cordoned_log_dirs)

    def _broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        old = self._known_broker(record.broker_id, record.broker_epoch)
        fenced = old.fenced if record.fenced == _UNCHANGED else record.fenced == 1
        # 1 begins a controlled shutdown; nothing but a new registration ends one.
        leaving = old.in_controlled_shutdown or record.in_controlled_shutdown == 1
        log_dirs = tuple(record.log_dirs) if record.log_dirs else old.log_dirs
        given = record.cordoned_log_dirs
        cordoned = old.cordoned_log_dirs if given is None else tuple(given)
        self._broker_map(old.id)[old.id] = _with(old, fenced, leaving, log_dirs, cordoned)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._known_broker(record.broker_id, record.broker_epoch)
        del self._broker_map(record.broker_id)[record.broker_id]

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        if self._controllers is None:
            self._controllers = dict(self.base.controllers)
        self._controllers[record.controller_id] = ControllerImage(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            endpoints=tuple(Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points),
            features=tuple((f.name, f.min_supported_version, f.max_supported_version) for f in record.features),
        )


def changed_partition(old: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """A partition after that change: a leader that is named, even the same one, leads in a new epoch."""
    leads = record.leader != _NO_LEADER_CHANGE
    state = record.leader_recovery_state
    return PartitionImage(
        replicas=_changed(record.replicas, old.replicas),
        isr=_changed(record.isr, old.isr),
        leader=record.leader if leads else old.leader,
        leader_epoch=old.leader_epoch + 1 if leads else old.leader_epoch,
        partition_epoch=old.partition_epoch + 1,
        directories=_directories(record, old),
        removing_replicas=_changed(record.removing_replicas, old.removing_replicas),
        adding_replicas=_changed(record.adding_replicas, old.adding_replicas),
        leader_recovery_state=old.leader_recovery_state if state == -1 else state,
        elr=_changed(record.eligible_leader_replicas, old.elr),
        last_known_elr=_changed(record.last_known_elr, old.last_known_elr),
    )


def _changed(new: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else tuple(new)


def _directories(record: PartitionChangeRecord, old: PartitionImage) -> tuple[bytes, ...]:
    """One per replica: as told, else replicas keep theirs and new ones have none yet."""
    if record.directories is not None:
        return tuple(record.directories)
    if record.replicas is None or not old.directories:
        return old.directories
    known = dict(zip(old.replicas, old.directories, strict=True))
    return tuple(known.get(id, DIR_UNASSIGNED) for id in record.replicas)


def _with(
    old: BrokerImage, fenced: bool, leaving: bool, log_dirs: tuple[bytes, ...], cordoned: tuple[bytes, ...]
) -> BrokerImage:
    return BrokerImage(
        old.id,
        old.epoch,
        old.incarnation_id,
        old.endpoints,
        old.rack,
        fenced,
        leaving,
        log_dirs,
        old.features,
        cordoned,
    )


def replay(image: MetadataImage, record: StateRecord) -> MetadataImage:
    """The image after one more record."""
    delta = ImageDelta(image)
    delta.replay(record)
    return delta.build(image.offset + 1, image.epoch, image.timestamp_ms)
