"""Eligible leader replicas when the rules change: an ELR is only worth what min.insync.replicas was when it grew.

While fewer replicas than that are in sync, the high watermark stands still, and whoever left the ISR has every
committed record. With another minimum it may move, so what was eligible no longer is; only where nobody is in sync
nothing can have moved. Called by controller.py (configs) and features.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tapelog.base.config import BrokerSettings
from tapelog.base.config_classes import WRITTEN_MIN_ISR
from tapelog.base.config_values import parse_whole
from tapelog.metadata.electorate import ELR_FEATURE, MIN_ISR, elr_enabled
from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC, ConfigKey, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.partition_changes import all_partitions
from tapelog.metadata.record_types import ConfigRecord, FeatureLevelRecord, MetadataRecord, PartitionChangeRecord
from tapelog.wire.errors import ErrorCode, KafkaError


def after_configs(image: MetadataImage, records: Sequence[ConfigRecord]) -> list[PartitionChangeRecord]:
    """What must be said of partitions together with these configs."""
    changed = [record for record in records if record.name == MIN_ISR]
    if not changed or not elr_enabled(image):
        return []
    everywhere = any(record.resource_type == RESOURCE_BROKER for record in changed)
    topics = {record.resource_name: None for record in changed if record.resource_type == RESOURCE_TOPIC}
    return [
        PartitionChangeRecord(topic_id=topic.id, partition_id=index, eligible_leader_replicas=[])
        for topic, index, partition in all_partitions(image)
        if partition.elr
        and partition.isr
        and (topic.name in topics or (everywhere and MIN_ISR not in image.topic_config(topic.name)))
    ]


def check_configs(image: MetadataImage, key: ConfigKey, new: dict[str, str]) -> None:
    """Raise INVALID_CONFIG for overrides that would let brokers disagree about min.insync.replicas."""
    if key[0] != RESOURCE_BROKER or not elr_enabled(image):
        return
    if key[1] == "" and MIN_ISR in image.config(*key) and MIN_ISR not in new:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"With eligible leader replicas the cluster's {MIN_ISR} can be changed, not removed",
        )
    if key[1] != "" and MIN_ISR in new:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"With eligible leader replicas {MIN_ISR} cannot be set for one broker"
        )


def minimum_due(image: MetadataImage, settings: BrokerSettings) -> bool:
    """Whether write_minimum has something to write."""
    return elr_enabled(image) and bool(_agreement(image, settings))


def minimum_unwritten(image: MetadataImage) -> bool:
    """Whether the cluster's min.insync.replicas has still to be written down."""
    return elr_enabled(image) and MIN_ISR not in image.config(RESOURCE_BROKER, "")


def write_minimum(image: MetadataImage, settings: BrokerSettings) -> Outcome[None]:
    """Write down min.insync.replicas for the whole cluster, as Kafka's controller does: brokers must agree on it.

    A value that nobody changed is raised to the one in the settings: the cluster has grown since."""
    configs = _agreement(image, settings) if elr_enabled(image) else []
    return Outcome([*configs, *after_configs(image, configs)], None)


def by_operator(key: ConfigKey, named: Collection[str], overrides: dict[str, str]) -> None:
    """An operator's word on the cluster's min.insync.replicas, the same value too, ends its being raised."""
    if key == (RESOURCE_BROKER, "") and MIN_ISR in named:
        overrides.pop(WRITTEN_MIN_ISR, None)


def with_minimum(
    image: MetadataImage, settings: BrokerSettings, changed: Sequence[MetadataRecord]
) -> list[MetadataRecord]:
    """Changed levels of features, and the minimum with them if eligible leader replicas begin to be kept."""
    begin = any(
        isinstance(one, FeatureLevelRecord) and one.name == ELR_FEATURE and one.feature_level for one in changed
    )
    return [*changed, *_agreement(image, settings)] if begin else list(changed)


def _agreement(image: MetadataImage, settings: BrokerSettings) -> list[ConfigRecord]:
    """The cluster's value if there is none, and the end of every broker's own, of unregistered brokers too.

    A leader with a smaller minimum of its own would acknowledge records that eligible replicas lack."""
    records = [
        _config(name, MIN_ISR, None)
        for (kind, name), own in image.configs.items()
        if kind == RESOURCE_BROKER and name and MIN_ISR in own
    ]
    cluster, wanted = image.config(RESOURCE_BROKER, ""), settings.string(MIN_ISR)
    now = cluster.get(MIN_ISR)
    raised = now is not None and cluster.get(WRITTEN_MIN_ISR) == now and parse_whole(wanted) > parse_whole(now)
    if now is None or raised:
        records += [_config("", MIN_ISR, wanted), _config("", WRITTEN_MIN_ISR, wanted)]
    return records


def _config(broker: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=RESOURCE_BROKER, resource_name=broker, name=name, value=value)


def forget(image: MetadataImage) -> list[PartitionChangeRecord]:
    """The cluster stops to keep eligible leader replicas.

    A partition nobody is in sync with takes its eligible ones into the ISR, where the older rules look for them.
    """
    records = []
    for topic, index, partition in all_partitions(image):
        if not partition.elr and not partition.last_known_elr:
            continue
        record = PartitionChangeRecord(topic_id=topic.id, partition_id=index)
        if partition.elr:
            record.eligible_leader_replicas = []
        if partition.last_known_elr:
            record.last_known_elr = []
        if partition.elr and not partition.isr:
            record.isr = list(partition.elr)
        records.append(record)
    return records
