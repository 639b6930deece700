"""The controller's APIs through the dispatcher: a second broker that exists only in requests joins a node."""

from __future__ import annotations

from tapelog.server.routes import ON_CONTROLLER
from tapelog.sim.client import SimClient
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from tapelog.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
)
from tapelog.wire.messages.assign_replicas_to_dirs_request import PartitionData as AssignedPartition
from tapelog.wire.messages.assign_replicas_to_dirs_request import TopicData as AssignedTopic
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from tapelog.wire.messages.controller_registration_request import ControllerRegistrationRequest
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tapelog.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tapelog.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.rig import TOPIC, Rig

STRANGER = 7
DIRECTORY = b"d" * 16


class Joined:
    """A node with a topic, and broker 7, registered and unfenced."""

    def __init__(self) -> None:
        self.rig = Rig()
        self.rig.create()
        self.side: SimClient = self.rig.connect()
        self.side.connection.side = ON_CONTROLLER
        core = self.rig.node.core
        assert core is not None
        self.core = core
        alone = self.side.call(self.registration(), 4)
        assert alone.error_code == ErrorCode.INVALID_REGISTRATION, "a node that knows no voters would never fence it"
        core.settings.static["controller.quorum.voters"] = f"{core.node_id}@h:1"
        answer = self.side.call(self.registration(), 4)
        assert answer.error_code == 0
        self.epoch = answer.broker_epoch

    def registration(self) -> BrokerRegistrationRequest:
        assert self.core.image.brokers
        own = self.core.image.brokers[self.core.node_id]
        return BrokerRegistrationRequest(
            broker_id=STRANGER,
            cluster_id=self.core.image.cluster_id,
            incarnation_id=b"i" * 16,
            listeners=[Listener(name="PLAINTEXT", host="h", port=1)],
            features=[Feature(name, least, most) for name, least, most in own.features],
            log_dirs=[DIRECTORY],
        )

    def beat(self) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=STRANGER, broker_epoch=self.epoch, current_metadata_offset=self.core.image.offset
        )


def test_a_broker_registers_is_unfenced_and_forgotten() -> None:
    joined = Joined()
    assert joined.core.image.brokers[STRANGER].fenced
    answer = joined.side.call(joined.beat(), 1)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (0, True, False)
    assert joined.rig.client.call(UnregisterBrokerRequest(broker_id=STRANGER), 0).error_code == 0
    assert STRANGER not in joined.core.image.brokers
    assert joined.side.call(joined.beat(), 1).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    gone = joined.rig.client.call(UnregisterBrokerRequest(broker_id=STRANGER), 0)
    assert gone.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_of_another_cluster_is_told_so() -> None:
    joined = Joined()
    request = joined.registration()
    request.cluster_id = "AAAAAAAAAAAAAAAAAAAAAA"
    assert joined.side.call(request, 4).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_a_controller_says_where_it_listens() -> None:
    joined = Joined()
    request = ControllerRegistrationRequest(controller_id=STRANGER, incarnation_id=b"c" * 16)
    assert joined.side.call(request, 0).error_code == 0
    assert STRANGER in joined.core.image.controllers


def test_blocks_of_producer_ids_do_not_overlap() -> None:
    joined = Joined()
    request = AllocateProducerIdsRequest(broker_id=STRANGER, broker_epoch=joined.epoch)
    one, two = joined.side.call(request, 0), joined.side.call(request, 0)
    assert one.producer_id_start + one.producer_id_len == two.producer_id_start
    request.broker_epoch = 0
    assert joined.side.call(request, 0).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_partition_moves_to_the_new_broker_and_back() -> None:
    joined = Joined()
    joined.side.call(joined.beat(), 1)
    client, own = joined.rig.client, joined.core.node_id
    part = ReassignablePartition(partition_index=0, replicas=[own, STRANGER])
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=TOPIC, partitions=[part])])
    assert client.call(request, 1).responses[0].partitions[0].error_code == 0
    listed = client.call(ListPartitionReassignmentsRequest(topics=None), 0)
    assert listed.topics[0].partitions[0].adding_replicas == [STRANGER]
    image = joined.core.image
    found = image.partition(TOPIC, 0)
    assert found is not None
    altered = AlterPartitionRequest(
        broker_id=own,
        broker_epoch=image.brokers[own].epoch,
        topics=[
            TopicData(
                topic_id=image.topics[TOPIC].id,
                partitions=[
                    PartitionData(
                        leader_epoch=found.leader_epoch,
                        partition_epoch=found.partition_epoch,
                        new_isr_with_epochs=[BrokerState(own, -1), BrokerState(STRANGER, joined.epoch)],
                    )
                ],
            )
        ],
    )
    answer = joined.side.call(altered, 3)
    assert (answer.error_code, answer.topics[0].partitions[0].isr) == (0, [own, STRANGER])
    assert client.call(ListPartitionReassignmentsRequest(topics=None), 0).topics == []


def test_elections_are_answered_by_partition_in_every_version() -> None:
    joined = Joined()
    for version in (0, 1, 2):
        request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=TOPIC, partitions=[0, 9])])
        answer = joined.rig.client.call(request, version)
        codes = [result.error_code for result in answer.replica_election_results[0].partition_result]
        assert codes == [ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    bad = joined.rig.client.call(ElectLeadersRequest(election_type=9, topic_partitions=[]), 2)
    assert bad.error_code == ErrorCode.INVALID_REQUEST


def test_replicas_are_assigned_to_directories() -> None:
    joined = Joined()
    topic = AssignedTopic(topic_id=b"x" * 16, partitions=[AssignedPartition(partition_index=0)])
    request = AssignReplicasToDirsRequest(
        broker_id=STRANGER, broker_epoch=joined.epoch, directories=[DirectoryData(id=DIRECTORY, topics=[topic])]
    )
    answer = joined.side.call(request, 0)
    assert answer.directories[0].topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    topic.topic_id = joined.rig.topic_id()
    answer = joined.side.call(request, 0)
    assert answer.directories[0].topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_features_are_changed_through_the_api() -> None:
    joined = Joined()
    update = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=2)
    answer = joined.rig.client.call(UpdateFeaturesRequest(feature_updates=[update]), 2)
    assert answer.error_code == 0
    assert joined.core.image.features["transaction.version"] == 1
