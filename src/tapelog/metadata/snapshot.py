"""Snapshots: a whole image as one file of record batches, named by the log position it stands for.

Format and names are Kafka's: a header control batch, the records that rebuild the image, a footer control batch, in
`<end offset>-<epoch>.checkpoint`. Used by MetadataLog; files are reached through SnapshotStore.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from tapelog.base.ports import Disk
from tapelog.metadata import records
from tapelog.metadata.delta import ImageDelta, MetadataReplayError
from tapelog.metadata.features import METADATA_VERSION_FEATURE, bootstrap_features
from tapelog.metadata.image import NO_LEADER, MetadataImage, TopicImage
from tapelog.metadata.record_types import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    TransactionRecord,
)
from tapelog.wire.control_records import SNAPSHOT_HEADER, quorum_record
from tapelog.wire.primitives import Reader, WireError
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.records.register_broker_record import BrokerEndpoint, BrokerFeature
from tapelog.wire.records.register_controller_record import ControllerEndpoint, ControllerFeature
from tapelog.wire.records.snapshot_footer_record import SnapshotFooterRecord
from tapelog.wire.records.snapshot_header_record import SnapshotHeaderRecord

RECORDS_PER_BATCH_MAX: Final = 1000
SUFFIX: Final = ".checkpoint"
DAMAGED: Final = ".damaged"

log = logging.getLogger("tapelog.metadata")

SnapshotId = tuple[int, int]
"""(end offset, epoch) of the log prefix that a snapshot stands for."""


class SnapshotStore(Protocol):
    """Where snapshots are kept."""

    def list(self) -> list[SnapshotId]:
        """Every complete snapshot, oldest first."""
        ...

    def read(self, id: SnapshotId) -> bytes:
        """Its bytes."""
        ...

    def write(self, id: SnapshotId, data: bytes, done: Callable[[Exception | None], None]) -> None:
        """Keep it durably and atomically; done is called later, or at once."""
        ...

    def remove(self, id: SnapshotId) -> None:
        """Forget it; fine if absent."""
        ...

    def set_aside(self, id: SnapshotId) -> None:
        """It is damaged: list it no more, but leave it to whoever wants to know why."""
        ...


class DiskSnapshots:
    """SnapshotStore in the metadata log's directory."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.directory = directory

    def list(self) -> list[SnapshotId]:
        """Every complete snapshot, oldest first."""
        return sorted(id for name in self.disk.listdir(self.directory) if (id := parse_name(name)) is not None)

    def read(self, id: SnapshotId) -> bytes:
        """Its bytes."""
        return self.disk.read_file(self._path(id))

    def write(self, id: SnapshotId, data: bytes, done: Callable[[Exception | None], None]) -> None:
        """Keep it, in the background."""
        path = self._path(id)
        self.disk.start_job(lambda: self.disk.replace_file(path, data), done)

    def remove(self, id: SnapshotId) -> None:
        """Forget it."""
        self.disk.remove(self._path(id))

    def set_aside(self, id: SnapshotId) -> None:
        """List it no more; the file keeps its content under another name."""
        log.error("the metadata snapshot %s is damaged: going on without it", file_name(id))
        self.disk.rename(self._path(id), self._path(id) + DAMAGED)

    def _path(self, id: SnapshotId) -> str:
        return f"{self.directory}/{file_name(id)}"


def file_name(id: SnapshotId) -> str:
    """As Kafka names it."""
    return f"{id[0]:020d}-{id[1]:010d}{SUFFIX}"


def parse_name(name: str) -> SnapshotId | None:
    """The inverse of file_name; None for any other file."""
    if not name.endswith(SUFFIX):
        return None
    offset, _, epoch = name[: -len(SUFFIX)].partition("-")
    if len(offset) != 20 or len(epoch) != 10 or not (offset.isdigit() and epoch.isdigit()):
        return None
    return int(offset), int(epoch)


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Records that, replayed onto nothing, give this image."""
    levels = image.features
    for name in sorted(levels, key=lambda name: (name != METADATA_VERSION_FEATURE, name)):
        yield FeatureLevelRecord(name=name, feature_level=levels[name])
    yield from _node_records(image)
    for topic_name in sorted(image.topics):
        yield from _topic_records(image.topics[topic_name])
    for kind, resource in sorted(image.configs):
        values = image.configs[(kind, resource)]
        for name in sorted(values):
            yield ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=values[name])
    if image.next_producer_id > 0:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)


def _node_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    for id in sorted(image.controllers):
        controller = image.controllers[id]
        yield RegisterControllerRecord(
            controller_id=id,
            incarnation_id=controller.incarnation_id,
            end_points=[
                ControllerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in controller.endpoints
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=least, max_supported_version=most)
                for name, least, most in controller.features
            ],
        )
    for id in sorted(image.brokers):
        broker = image.brokers[id]
        yield RegisterBrokerRecord(
            broker_id=id,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.epoch,
            end_points=[
                BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in broker.endpoints
            ],
            features=[
                BrokerFeature(name=name, min_supported_version=least, max_supported_version=most)
                for name, least, most in broker.features
            ],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
            log_dirs=list(broker.log_dirs),
            cordoned_log_dirs=list(broker.cordoned_log_dirs) or None,
        )


def _topic_records(topic: TopicImage) -> Iterator[MetadataRecord]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for index, partition in enumerate(topic.partitions):
        yield PartitionRecord(
            partition_id=index,
            topic_id=topic.id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            removing_replicas=list(partition.removing_replicas),
            adding_replicas=list(partition.adding_replicas),
            leader=partition.leader,
            leader_recovery_state=partition.leader_recovery_state,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=list(partition.directories),
            eligible_leader_replicas=list(partition.elr) or None,
            last_known_elr=list(partition.last_known_elr) or None,
        )


def encode(contents: Iterator[MetadataRecord], timestamp_ms: int, epoch: int, extra: Sequence[Record] = ()) -> bytes:
    """A snapshot file with these records; extra: control records of the quorum, behind the header."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp_ms)
    first = [quorum_record(SNAPSHOT_HEADER, header, 0, timestamp_ms), *extra]
    parts = [build_batch(first, leader_epoch=epoch, control=True)]
    offset = len(first)
    pending: list[MetadataRecord] = []
    for record in contents:
        pending.append(record)
        if len(pending) == RECORDS_PER_BATCH_MAX:
            parts.append(records.data_batch(pending, timestamp_ms, epoch, offset))
            offset += len(pending)
            pending = []
    if pending:
        parts.append(records.data_batch(pending, timestamp_ms, epoch, offset))
        offset += len(pending)
    footer = SnapshotFooterRecord(version=0)
    parts.append(records.control_batch(records.CONTROL_SNAPSHOT_FOOTER, footer, 0, timestamp_ms, epoch, offset))
    return b"".join(parts)


def encode_image(image: MetadataImage, extra: Sequence[Record] = ()) -> bytes:
    """The snapshot of an image."""
    return encode(image_records(image), image.timestamp_ms, image.epoch, extra)


def bootstrap_checkpoint(timestamp_ms: int) -> bytes:
    """The content of `bootstrap.checkpoint`, which Kafka keeps in a formatted log directory."""
    return encode(iter(bootstrap_features()), timestamp_ms, 0)


def decode_image(data: bytes, id: SnapshotId, cluster_id: str) -> MetadataImage:
    """The image that a snapshot holds; WireError if it is damaged or incomplete."""
    delta = ImageDelta(MetadataImage(cluster_id=cluster_id, controller_id=NO_LEADER))
    batches = list(records.decode_batches(data))
    kinds = [batch.control_type for batch in batches]
    if len(batches) < 2 or kinds[0] != records.CONTROL_SNAPSHOT_HEADER or kinds[-1] != records.CONTROL_SNAPSHOT_FOOTER:
        raise WireError(f"snapshot {file_name(id)} is incomplete")
    body = batches[0].control_body
    header = SnapshotHeaderRecord.decode(Reader(body, 0, len(body)), 0)
    for batch in batches:
        for record in batch.records:
            if isinstance(record, TransactionRecord):
                raise MetadataReplayError("a snapshot holds no transactions")
            delta.replay(record)
    return delta.build(id[0], id[1], header.last_contained_log_timestamp)
