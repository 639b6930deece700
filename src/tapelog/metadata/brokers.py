"""Brokers and controllers come and go: registration, and what it means for the partitions a broker held before.

A broker's epoch is the offset of its registration record, so a later incarnation always has the greater one, and
whoever names an older one is refused. Heartbeats are in heartbeat.py, sessions in sessions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tapelog.base import ids
from tapelog.base.config import BrokerSettings
from tapelog.metadata import features, partition_changes
from tapelog.metadata.image import BrokerImage, Endpoint, MetadataImage
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

FENCE: Final = 1
UNFENCE: Final = -1

LOG_DIRS_MAX: Final = 1000
FEATURES_MAX: Final = 1000

FeatureRange = tuple[str, int, int]
"""(name, least supported level, greatest)"""


def own_features() -> tuple[FeatureRange, ...]:
    """What a node of this version supports."""
    return tuple((name, least, most) for name, (least, most) in sorted(features.SUPPORTED.items()))


class BrokerRegistration:
    """What a broker says about itself when it joins."""

    __slots__ = (
        "broker_id",
        "cluster_id",
        "cordoned",
        "endpoints",
        "features",
        "fenced",
        "incarnation_id",
        "log_dirs",
        "previous_epoch",
        "rack",
    )

    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        incarnation_id: bytes,
        endpoints: Sequence[Endpoint],
        log_dirs: Sequence[bytes],
        rack: str | None = None,
        fenced: bool = True,
        previous_epoch: int = -1,
        features: Sequence[FeatureRange] | None = None,
        cordoned: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.endpoints = endpoints
        self.log_dirs = log_dirs
        self.rack = rack
        self.fenced = fenced
        self.previous_epoch = previous_epoch
        """Its epoch when it stopped in good order; -1 if it did not."""
        self.features = own_features() if features is None else features
        self.cordoned = cordoned


def register_broker(
    image: MetadataImage, settings: BrokerSettings, registration: BrokerRegistration, alive: bool = False
) -> Outcome[int]:
    """A new incarnation of a broker takes its id over; the response is its epoch: the offset of the record.

    `alive`: the incarnation that is registered now was heard of lately. It is only replaced by one that holds one of
    its directories, which no two processes can. One that registers unfenced (a node alone, on its own behalf) keeps
    what it leads, and leads at once what has no leader.
    """
    _check_registration(image, registration)
    known = image.brokers.get(registration.broker_id)
    if known is not None and known.incarnation_id == registration.incarnation_id:
        return _again(known, registration)
    if known is not None and alive and not any(id in known.log_dirs for id in registration.log_dirs):
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"Another broker with id {registration.broker_id} is alive"
        )
    epoch = image.offset
    records: list[MetadataRecord] = [_record(registration, epoch, registration.fenced, leaving=False)]
    if registration.fenced:
        clean = known is not None and known.epoch == registration.previous_epoch
        records += partition_changes.restart(image, settings, registration.broker_id, registration.log_dirs, clean)
    else:
        id, log_dirs = registration.broker_id, registration.log_dirs
        gone = partition_changes.assigned_elsewhere(image, id, log_dirs)
        records += partition_changes.directories_lost(image, settings, id, gone)
        records += partition_changes.join(image, settings, id, log_dirs)
    return Outcome(records, epoch)


def _again(known: BrokerImage, registration: BrokerRegistration) -> Outcome[int]:
    """The same incarnation registers once more: its epoch stays; what it says about itself may be new."""
    record = _record(registration, known.epoch, known.fenced, known.in_controlled_shutdown)
    same = (
        tuple(registration.endpoints) == known.endpoints
        and registration.rack == known.rack
        and tuple(registration.log_dirs) == known.log_dirs
        and tuple(registration.features) == known.features
    )
    return Outcome([] if same else [record], known.epoch)


def _record(registration: BrokerRegistration, epoch: int, fenced: bool, leaving: bool) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=registration.broker_id,
        incarnation_id=registration.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in registration.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=least, max_supported_version=most)
            for name, least, most in registration.features
        ],
        rack=registration.rack,
        fenced=fenced,
        in_controlled_shutdown=leaving,
        log_dirs=list(registration.log_dirs),
        cordoned_log_dirs=None if registration.cordoned is None else list(registration.cordoned),
    )


def _check_registration(image: MetadataImage, registration: BrokerRegistration) -> None:
    if registration.cluster_id != image.cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"This is cluster {image.cluster_id}, the broker is of {registration.cluster_id}",
        )
    if registration.broker_id < 0:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"{registration.broker_id} is no broker id")
    if not 0 < len(registration.log_dirs) <= LOG_DIRS_MAX or len(registration.features) > FEATURES_MAX:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, "No log directories, or too many, or too many features")
    if len({*registration.log_dirs}) != len(registration.log_dirs):
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, "A log directory is named twice")
    for directory in registration.log_dirs:
        if int.from_bytes(directory, "big") < ids.RESERVED_MAX:
            raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"{ids.to_text(directory)} is a reserved directory id")
        for id in sorted(image.brokers):
            if id != registration.broker_id and directory in image.brokers[id].log_dirs:
                raise KafkaError(
                    ErrorCode.INVALID_REGISTRATION, f"Broker {id} is registered with {ids.to_text(directory)}"
                )
    supported = {name: (least, most) for name, least, most in registration.features}
    for name in sorted(image.features):
        level = image.features[name]
        least, most = supported.get(name, (0, 0))
        if not least <= level <= most:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"The broker supports {name} from {least} to {most}; the cluster has settled on {level}",
            )


def register_controller(
    image: MetadataImage,
    controller_id: int,
    incarnation_id: bytes,
    endpoints: Sequence[Endpoint],
    supported: Sequence[FeatureRange] | None = None,
) -> Outcome[None]:
    """Tell the others where this controller listens."""
    known = image.controllers.get(controller_id)
    if known is not None and known.incarnation_id == incarnation_id and known.endpoints == tuple(endpoints):
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
            for name, least, most in (own_features() if supported is None else supported)
        ],
    )
    return Outcome([record], None)


def registered(image: MetadataImage, broker_id: int, epoch: int) -> BrokerImage:
    """The broker, if that is its epoch; BROKER_ID_NOT_REGISTERED or STALE_BROKER_EPOCH otherwise."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} has epoch {broker.epoch}, not {epoch}")
    return broker


def unfence_broker(image: MetadataImage, settings: BrokerSettings, broker_id: int, epoch: int) -> Outcome[None]:
    """The broker has caught up: clients may be sent to it, and it leads what has no leader and counts it in."""
    if not registered(image, broker_id, epoch).fenced:
        return Outcome([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=UNFENCE)
    return Outcome([change, *partition_changes.join(image, settings, broker_id)], None)


def fence_broker(image: MetadataImage, settings: BrokerSettings, broker_id: int, epoch: int) -> Outcome[None]:
    """The broker is gone: others lead what it led, or nobody does until it returns."""
    if registered(image, broker_id, epoch).fenced:
        return Outcome([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=FENCE)
    return Outcome([change, *partition_changes.leave(image, settings, (broker_id,))], None)


def unregister_broker(image: MetadataImage, settings: BrokerSettings, broker_id: int) -> Outcome[None]:
    """Forget a broker; its replicas stay assigned to it, for one that comes back under its id."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Outcome([*partition_changes.leave(image, settings, (broker_id,)), record], None)


def new_leader_epochs(image: MetadataImage, broker_id: int) -> Outcome[None]:
    """After a stop that may have lost unflushed records: whatever the broker leads gets a new leader epoch.

    Records written from now on are then told apart from lost ones that had the same offsets.
    """
    return Outcome(
        [
            PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
            for topic, index, partition in partition_changes.all_partitions(image)
            if partition.leader == broker_id
        ],
        None,
    )
