"""Brokers and controllers come, stay and go: registration, fencing, shutdown.

In a cluster of one the node registers itself; the handlers are the same ones that registration requests will use.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapelog.metadata import features
from tapelog.metadata.image import NO_LEADER, Endpoint, MetadataImage, PartitionImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.records.register_broker_record import BrokerEndpoint, BrokerFeature
from tapelog.wire.records.register_controller_record import ControllerEndpoint, ControllerFeature

_FENCE = 1
_UNFENCE = -1


class BrokerRegistration:
    """What a broker says about itself when it joins."""

    __slots__ = ("broker_id", "cluster_id", "endpoints", "fenced", "incarnation_id", "log_dirs", "rack")

    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        incarnation_id: bytes,
        endpoints: Sequence[Endpoint],
        log_dirs: Sequence[bytes],
        rack: str | None = None,
        fenced: bool = True,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.endpoints = endpoints
        self.log_dirs = log_dirs
        self.rack = rack
        self.fenced = fenced


def register_broker(image: MetadataImage, registration: BrokerRegistration) -> Outcome[int]:
    """A new incarnation of a broker takes its id over; the response is its epoch: the offset of the record.

    One that registers unfenced (a cluster of one, on its own behalf) leads at once what has no leader.
    """
    if registration.cluster_id != image.cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"This is cluster {image.cluster_id}, the broker is of {registration.cluster_id}",
        )
    known = image.brokers.get(registration.broker_id)
    if known is not None and known.incarnation_id == registration.incarnation_id:
        return Outcome([], known.epoch)
    if known is not None and not known.fenced and registration.fenced:
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"Another broker with id {registration.broker_id} is alive"
        )
    epoch = image.offset
    record = RegisterBrokerRecord(
        broker_id=registration.broker_id,
        incarnation_id=registration.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in registration.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in sorted(features.SUPPORTED.items())
        ],
        rack=registration.rack,
        fenced=registration.fenced,
        log_dirs=list(registration.log_dirs),
    )
    records: list[MetadataRecord] = [record]
    if not registration.fenced:
        records += _take_lead(image, registration.broker_id)
    return Outcome(records, epoch)


def register_controller(
    image: MetadataImage, controller_id: int, incarnation_id: bytes, endpoints: Sequence[Endpoint]
) -> Outcome[None]:
    """Tell the others where this controller listens."""
    known = image.controllers.get(controller_id)
    if known is not None and known.incarnation_id == incarnation_id:
        return Outcome([], None)
    record = RegisterControllerRecord(
        controller_id=controller_id,
        incarnation_id=incarnation_id,
        end_points=[
            ControllerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in endpoints
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in sorted(features.SUPPORTED.items())
        ],
    )
    return Outcome([record], None)


def _registered(image: MetadataImage, broker_id: int, epoch: int) -> None:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} has epoch {broker.epoch}, not {epoch}")


def unfence_broker(image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
    """The broker has caught up: clients may be sent to it, and it leads what has no leader and counts it in sync."""
    _registered(image, broker_id, epoch)
    if not image.brokers[broker_id].fenced:
        return Outcome([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=_UNFENCE)
    return Outcome([change, *_take_lead(image, broker_id)], None)


def _take_lead(image: MetadataImage, broker_id: int) -> list[PartitionChangeRecord]:
    """Leadership of everything that has no leader and counts the broker in sync."""
    return [
        PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
        for topic in image.topics.values()
        for index, partition in enumerate(topic.partitions)
        if partition.leader == NO_LEADER and broker_id in partition.isr
    ]


def new_leader_epochs(image: MetadataImage, broker_id: int) -> Outcome[None]:
    """After a stop that may have lost unflushed records: whatever the broker leads gets a new leader epoch.

    Records written from now on are then told apart from lost ones that had the same offsets.
    """
    return Outcome(
        [
            PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
            for topic in image.topics.values()
            for index, partition in enumerate(topic.partitions)
            if partition.leader == broker_id
        ],
        None,
    )


def fence_broker(image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
    """The broker is gone: others lead what it led, or nobody does until it returns."""
    _registered(image, broker_id, epoch)
    if image.brokers[broker_id].fenced:
        return Outcome([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=_FENCE)
    return Outcome([change, *_leave(image, broker_id)], None)


def unregister_broker(image: MetadataImage, broker_id: int) -> Outcome[None]:
    """Forget a broker for good."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Outcome([*_leave(image, broker_id), record], None)


def _leave(image: MetadataImage, broker_id: int) -> list[PartitionChangeRecord]:
    """Take the broker out of every ISR it is not the last member of, and out of every lead."""
    records = []
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            change = _leave_partition(image, partition, broker_id)
            if change is not None:
                change.partition_id, change.topic_id = index, topic.id
                records.append(change)
    return records


def _leave_partition(image: MetadataImage, partition: PartitionImage, broker_id: int) -> PartitionChangeRecord | None:
    change = PartitionChangeRecord()
    isr = partition.isr
    if broker_id in isr and len(isr) > 1:
        isr = tuple(id for id in isr if id != broker_id)
        change.isr = list(isr)
    if partition.leader == broker_id:
        heirs = [
            id
            for id in partition.replicas
            if id != broker_id and id in isr and id in image.brokers and image.brokers[id].active
        ]
        change.leader = heirs[0] if heirs else NO_LEADER
    elif change.isr is None:
        return None
    return change
