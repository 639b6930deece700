"""A controller whose every proposal is committed at once, without a log: what tests of its decisions stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tapelog.base.config import BrokerSettings
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.controller import Controller
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.features import bootstrap_features
from tapelog.metadata.image import Endpoint, MetadataImage, PartitionImage, invariants
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    StateRecord,
)
from tapelog.metadata.records import decode_record, encode_record
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tapelog.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.support.chance import FakeClock, SeededEntropy

R = TypeVar("R")

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
SESSION_MS = 9000


class Desk:
    """Image and controller; `brokers` are registered, caught up and unfenced."""

    def __init__(
        self,
        brokers: int = 0,
        settings: dict[str, str] | None = None,
        seed: int = 1,
        elr: bool = True,
        racks: dict[int, str] | None = None,
    ) -> None:
        self.settings = BrokerSettings(settings)
        self.clock = FakeClock()
        self.entropy = SeededEntropy(seed)
        self.controller = Controller(self.settings, self.entropy, self.clock)
        self.alerts: list[str] = []
        self.controller.alert = self.alerts.append
        self.records: list[StateRecord] = []
        self.image = MetadataImage(cluster_id=CLUSTER_ID)
        self.racks = racks or {}
        features = [record for record in bootstrap_features() if elr or not record.name.startswith("eligible")]
        self.run(lambda image: Outcome(features, None))
        self.controller.activate(self.image)
        self.tick()
        for id in range(1, brokers + 1):
            self.register(id)
            self.beat(id)

    # -- proposals

    def run(self, operation: Callable[[MetadataImage], Outcome[R]]) -> R:
        """Propose, commit, and give back the response; what the operation raises is raised."""
        outcome = operation(self.image)
        new: list[StateRecord] = []
        for record in outcome.records:
            assert not isinstance(record, BeginTransactionRecord | EndTransactionRecord | AbortTransactionRecord)
            again = decode_record(encode_record(record))
            assert again == record, "a record survives its bytes"
            new.append(record)
        if new:
            self.image = replayed(self.image, new)
            self.records += new
            invariants(self.image)
        return outcome.response

    def written(self, operation: Callable[[MetadataImage], Outcome[R]]) -> int:
        """How many records a proposal brought."""
        before = len(self.records)
        self.run(operation)
        return len(self.records) - before

    def tick(self) -> None:
        """Let the controller do whatever is due."""
        while self.controller.upkeep.due_ms(self.image) <= self.clock.now_ms:
            self.run(self.controller.tick)

    def wait(self, ms: int) -> None:
        """Time passes; upkeep runs at its end."""
        self.clock.now_ms += ms
        self.tick()

    # -- brokers

    def registration(self, id: int, incarnation: int = 1, disk: int = 1, previous: int = -1) -> BrokerRegistration:
        return BrokerRegistration(
            id,
            CLUSTER_ID,
            bytes([id, incarnation]) * 8,
            [Endpoint("PLAINTEXT", "127.0.0.1", 9091 + id)],
            [directory(id, disk)],
            self.racks.get(id),
            previous_epoch=previous,
        )

    def register(self, id: int, incarnation: int = 1, disk: int = 1, previous: int = -1) -> int:
        """A broker registers; its epoch."""
        registration = self.registration(id, incarnation, disk, previous)
        return self.run(lambda image: self.controller.register_broker(image, registration))

    def heartbeat(
        self, id: int, offset: int | None = None, fence: bool = False, stop: bool = False
    ) -> BrokerHeartbeatResponse:
        """A heartbeat of the registered incarnation, by default of one that has applied everything."""
        request = BrokerHeartbeatRequest(
            broker_id=id,
            broker_epoch=self.image.brokers[id].epoch,
            current_metadata_offset=self.image.offset - 1 if offset is None else offset,
            want_fence=fence,
            want_shut_down=stop,
        )
        return self.run(lambda image: self.controller.broker_heartbeat(image, request))

    def beat(self, *ids: int) -> None:
        """These brokers live, and have applied everything."""
        for id in ids:
            self.heartbeat(id)

    def silence(self, *ids: int) -> None:
        """These brokers are not heard of until their sessions have ended; the others are."""
        others = [id for id, broker in self.image.brokers.items() if id not in ids and not broker.fenced]
        self.clock.now_ms += SESSION_MS
        self.beat(*others)
        self.wait(1)

    # -- topics

    def create(self, name: str, *replicas: list[int], **configs: str) -> None:
        """A topic with these replicas; configs with _ for ."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
            ],
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        response = self.run(lambda image: self.controller.create_topics(image, CreateTopicsRequest(topics=[topic])))
        assert response.topics[0].error_code == 0, response.topics[0].error_message

    def partition(self, name: str = "t", index: int = 0) -> PartitionImage:
        """A partition as it is now."""
        found = self.image.partition(name, index)
        assert found is not None
        return found

    def state(self, name: str = "t", index: int = 0) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """(leader, ISR, ELR)"""
        part = self.partition(name, index)
        return part.leader, part.isr, part.elr

    def replay(self) -> MetadataImage:
        """Everything once more, from nothing."""
        return replayed(MetadataImage(cluster_id=CLUSTER_ID), self.records)


def directory(id: int, disk: int = 1) -> bytes:
    """The id of a broker's only log directory."""
    return bytes([200, id, disk]) + b"d" * 13


def replayed(image: MetadataImage, records: list[StateRecord]) -> MetadataImage:
    """The image after these records."""
    delta = ImageDelta(image)
    for record in records:
        delta.replay(record)
    return delta.build(image.offset + len(records), 1, 0)
