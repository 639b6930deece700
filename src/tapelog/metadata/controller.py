"""The controller: every change of cluster metadata is proposed here, and nowhere else.

A facade over the handlers by concern; those that only a cluster needs are imported when first used. Each method takes
the newest image and returns an Outcome; nothing is changed until MetadataLog has committed the records and replayed
them. Server handlers call it through MetadataLog.propose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tapelog.base.config import BrokerSettings
from tapelog.base.ports import Clock, Entropy
from tapelog.metadata import brokers, configs, election, eligible, features, producer_ids, topics
from tapelog.metadata.brokers import BrokerRegistration, FeatureRange
from tapelog.metadata.electorate import UNCLEAN
from tapelog.metadata.image import Endpoint, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.producer_ids import ProducerIdBlock
from tapelog.metadata.record_types import ConfigRecord, PartitionChangeRecord
from tapelog.metadata.sessions import BrokerSessions
from tapelog.metadata.upkeep import Upkeep

if TYPE_CHECKING:
    from tapelog.wire.messages.alter_configs_request import AlterConfigsRequest
    from tapelog.wire.messages.alter_configs_response import AlterConfigsResponse
    from tapelog.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
    from tapelog.wire.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
    from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest
    from tapelog.wire.messages.alter_partition_response import AlterPartitionResponse
    from tapelog.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
    from tapelog.wire.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
    from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
    from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
    from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest
    from tapelog.wire.messages.create_partitions_response import CreatePartitionsResponse
    from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
    from tapelog.wire.messages.create_topics_response import CreateTopicsResponse
    from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
    from tapelog.wire.messages.delete_topics_response import DeleteTopicsResponse
    from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest
    from tapelog.wire.messages.elect_leaders_response import ElectLeadersResponse
    from tapelog.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
    from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
    from tapelog.wire.messages.update_features_request import UpdateFeaturesRequest
    from tapelog.wire.messages.update_features_response import UpdateFeaturesResponse

R = TypeVar("R")


class Controller:
    """Proposes metadata changes. Holds settings, chance and (while active) the brokers' sessions, but no state of the
    cluster: that is in the image.

    Its node calls `activate` when it leads the metadata log and has replayed it, `resign` when it no longer does, and
    while it is active proposes `tick` whenever `upkeep.due_ms` has come.
    """

    def __init__(self, settings: BrokerSettings, entropy: Entropy, clock: Clock | None = None) -> None:
        self.settings = settings
        self.entropy = entropy
        self.sessions = BrokerSessions(clock, settings.whole("broker.session.timeout.ms"))
        self.upkeep = Upkeep(settings, self.sessions)
        self.alert: Callable[[str], None] = _nobody
        """Told of every unclean election, in a sentence."""

    def activate(self, image: MetadataImage, before: tuple[int, int] | None = None) -> None:
        """This node is the active controller from now on; before: which one was, and when it was last heard of."""
        self.sessions.begin(image, before, self.settings.whole("broker.heartbeat.interval.ms"))
        self.upkeep.begin(image)

    def resign(self) -> None:
        """This node is not the active controller any more."""
        self.sessions.clear()

    def tick(self, image: MetadataImage) -> Outcome[None]:
        """What is due by the clock."""
        return self._watched(image, self.upkeep.tick(image))

    def _watched(self, image: MetadataImage, outcome: Outcome[R]) -> Outcome[R]:
        """Unclean elections are cried out: each may have cost acknowledged records. Replay counts them."""
        for record in outcome.records:
            if isinstance(record, PartitionChangeRecord) and election.is_unclean(record):
                topic = image.topics_by_id[record.topic_id]
                self.alert(
                    f"unclean election: broker {record.leader} leads {topic.name}-{record.partition_id} though it may "
                    f"lack acknowledged records. What only {_brokers(image, record)} had is given up: compare with "
                    f"what was sent. Topics wait for their replicas instead with unclean.leader.election.enable=false"
                )
        return outcome

    def _configured(self, outcome: Outcome[R]) -> Outcome[R]:
        """Whoever allows unclean elections wants them now."""
        if any(isinstance(record, ConfigRecord) and record.name == UNCLEAN for record in outcome.records):
            self.upkeep.unclean_soon()
        return outcome

    def create_topics(self, image: MetadataImage, request: CreateTopicsRequest) -> Outcome[CreateTopicsResponse]:
        """CreateTopics, versions 2 to 7."""
        return topics.create_topics(image, self.settings, self.entropy, request)

    def auto_create_topics(self, image: MetadataImage, names: list[str]) -> Outcome[CreateTopicsResponse]:
        """Create what a client or the broker itself named and does not exist; internal topics get their parameters.

        Names that exist by now are answered with TOPIC_ALREADY_EXISTS, which callers take for success.
        """
        request = topics.auto_create_request(image, self.settings, names)
        return topics.create_topics(image, self.settings, self.entropy, request)

    def delete_topics(
        self, image: MetadataImage, request: DeleteTopicsRequest, version: int
    ) -> Outcome[DeleteTopicsResponse]:
        """DeleteTopics, versions 1 to 6."""
        return topics.delete_topics(image, self.settings, request, version)

    def create_partitions(
        self, image: MetadataImage, request: CreatePartitionsRequest
    ) -> Outcome[CreatePartitionsResponse]:
        """CreatePartitions, versions 0 to 3."""
        return topics.create_partitions(image, self.entropy, request)

    def incremental_alter_configs(
        self, image: MetadataImage, request: IncrementalAlterConfigsRequest
    ) -> Outcome[IncrementalAlterConfigsResponse]:
        """IncrementalAlterConfigs, versions 0 and 1."""
        return self._configured(configs.incremental_alter_configs(image, self.settings, request))

    def alter_configs(self, image: MetadataImage, request: AlterConfigsRequest) -> Outcome[AlterConfigsResponse]:
        """AlterConfigs, versions 0 to 2."""
        return self._configured(configs.alter_configs(image, self.settings, request))

    def allocate_producer_ids(
        self, image: MetadataImage, broker_id: int, broker_epoch: int
    ) -> Outcome[ProducerIdBlock]:
        """The next block of producer ids for a broker."""
        return producer_ids.allocate_producer_ids(image, broker_id, broker_epoch)

    def update_features(
        self, image: MetadataImage, request: UpdateFeaturesRequest, version: int
    ) -> Outcome[UpdateFeaturesResponse]:
        """UpdateFeatures, versions 0 to 2."""
        outcome = features.update_features(image, request, version)
        return Outcome(eligible.with_minimum(image, self.settings, outcome.records), outcome.response)

    def write_minimum(self, image: MetadataImage) -> Outcome[None]:
        """For a node alone, which has no upkeep by the clock: the cluster's min.insync.replicas is written down."""
        return eligible.write_minimum(image, self.settings)

    def register_broker(self, image: MetadataImage, registration: BrokerRegistration) -> Outcome[int]:
        """A broker joins; the response is its epoch."""
        known = image.brokers.get(registration.broker_id)
        alive = known is not None and not known.fenced and self.sessions.alive(known.id, known.epoch)
        outcome = self._watched(image, brokers.register_broker(image, self.settings, registration, alive))
        if registration.fenced:
            self.sessions.heard(registration.broker_id, outcome.response)
        else:
            self.sessions.lasting(registration.broker_id, outcome.response)
        return outcome

    def register_controller(
        self,
        image: MetadataImage,
        controller_id: int,
        incarnation_id: bytes,
        endpoints: Sequence[Endpoint],
        supported: Sequence[FeatureRange] | None = None,
    ) -> Outcome[None]:
        """A controller says where it listens."""
        return brokers.register_controller(image, controller_id, incarnation_id, endpoints, supported)

    def broker_heartbeat(
        self, image: MetadataImage, request: BrokerHeartbeatRequest
    ) -> Outcome[BrokerHeartbeatResponse]:
        """BrokerHeartbeat, versions 0 to 2."""
        from tapelog.metadata import heartbeat

        return self._watched(image, heartbeat.heartbeat(image, self.settings, self.sessions, request))

    def directories_failed(self, image: MetadataImage, broker_id: int, lost: list[bytes]) -> Outcome[None]:
        """What a heartbeat tells of failed directories, for a node that sends itself none."""
        from tapelog.metadata import heartbeat

        return self._watched(image, heartbeat.directories_failed(image, self.settings, broker_id, lost))

    def unfence_broker(self, image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
        """A broker is ready to serve."""
        return self._watched(image, brokers.unfence_broker(image, self.settings, broker_id, epoch))

    def fence_broker(self, image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
        """A broker does not answer any more."""
        return self._watched(image, brokers.fence_broker(image, self.settings, broker_id, epoch))

    def unregister_broker(self, image: MetadataImage, broker_id: int) -> Outcome[None]:
        """A broker will not come back."""
        outcome = self._watched(image, brokers.unregister_broker(image, self.settings, broker_id))
        self.sessions.forget(broker_id)
        return outcome

    def alter_partition(
        self, image: MetadataImage, request: AlterPartitionRequest, version: int
    ) -> Outcome[AlterPartitionResponse]:
        """AlterPartition, versions 2 and 3."""
        from tapelog.metadata import alter_partition

        return self._watched(image, alter_partition.alter_partition(image, self.settings, request, version))

    def elect_leaders(self, image: MetadataImage, request: ElectLeadersRequest) -> Outcome[ElectLeadersResponse]:
        """ElectLeaders, versions 0 to 2."""
        from tapelog.metadata import elect_leaders

        return self._watched(image, elect_leaders.elect_leaders(image, self.settings, request))

    def alter_partition_reassignments(
        self, image: MetadataImage, request: AlterPartitionReassignmentsRequest
    ) -> Outcome[AlterPartitionReassignmentsResponse]:
        """AlterPartitionReassignments, versions 0 and 1."""
        from tapelog.metadata import reassignment

        return self._watched(image, reassignment.alter_partition_reassignments(image, self.settings, request))

    def assign_replicas_to_dirs(
        self, image: MetadataImage, request: AssignReplicasToDirsRequest
    ) -> Outcome[AssignReplicasToDirsResponse]:
        """AssignReplicasToDirs, version 0."""
        from tapelog.metadata import directories

        return self._watched(image, directories.assign_replicas_to_dirs(image, self.settings, request))


def _nobody(_: str) -> None:
    pass


def _brokers(image: MetadataImage, record: PartitionChangeRecord) -> str:
    """The replicas that did not get to lead, in words."""
    others = [
        id for id in image.topics_by_id[record.topic_id].partitions[record.partition_id].replicas if id != record.leader
    ]
    return f"broker{'' if len(others) == 1 else 's'} {', '.join(map(str, others))}" if others else "it"
