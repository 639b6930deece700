"""AssignReplicasToDirs: a broker with several directories says where its replicas are."""

from __future__ import annotations

import pytest

from tapelog.metadata import directories
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tests.unit.metadata.desk import Desk, directory


def assign(desk: Desk, id: bytes, *indexes: int, broker: int = 1, topic: bytes | None = None) -> list[int]:
    """The error codes of replicas that the broker says are in that directory."""
    wanted = TopicData(
        topic_id=desk.image.topics["t"].id if topic is None else topic,
        partitions=[PartitionData(partition_index=index) for index in indexes],
    )
    request = AssignReplicasToDirsRequest(
        broker_id=broker,
        broker_epoch=desk.image.brokers[broker].epoch,
        directories=[DirectoryData(id=id, topics=[wanted])],
    )
    response = desk.run(lambda image: desk.controller.assign_replicas_to_dirs(image, request))
    return [part.error_code for item in response.directories for t in item.topics for part in t.partitions]


def two_disks() -> Desk:
    desk = Desk(brokers=3)
    registration = desk.registration(1)
    registration.log_dirs = [directory(1), directory(1, disk=2)]
    desk.run(lambda image: desk.controller.register_broker(image, registration))
    desk.create("t", [1, 2], [2, 3])
    return desk


def test_a_replica_is_where_its_broker_says() -> None:
    desk = two_disks()
    assert assign(desk, directory(1, disk=2), 0) == [0]
    assert desk.partition().directories == (directory(1, disk=2), directory(2))
    assert desk.state() == (1, (1, 2), ())
    assert desk.partition().leader_epoch == 0


def test_a_replica_in_a_directory_that_is_not_there_is_out_of_sync() -> None:
    desk = two_disks()
    assert assign(desk, b"z" * 16, 0) == [0]
    assert desk.state() == (2, (2,), ())


def test_only_what_the_broker_holds_can_be_assigned() -> None:
    desk = two_disks()
    assert assign(desk, directory(1), 1, 7) == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert assign(desk, directory(1), 0, topic=b"x" * 16) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_a_request_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "REPLICAS_PER_REQUEST_MAX", 1)
    with pytest.raises(KafkaError) as caught:
        assign(two_disks(), directory(1), 0, 1)
    assert caught.value.code == ErrorCode.INVALID_REQUEST


def failed(desk: Desk, *lost: bytes) -> None:
    request = BrokerHeartbeatRequest(
        broker_id=1,
        broker_epoch=desk.image.brokers[1].epoch,
        current_metadata_offset=1 << 40,
        offline_log_dirs=list(lost),
    )
    desk.run(lambda image: desk.controller.broker_heartbeat(image, request))


def test_a_replica_that_begins_anew_elsewhere_is_nobodys_heir() -> None:
    """Its directory is missing: the last in sync waits for it, and has lost everything once it is somewhere else."""
    desk = two_disks()
    desk.create("u", [1])
    wanted = desk.image.topics["u"].id
    assert assign(desk, directory(1, disk=2), 0, topic=wanted) == [0]
    failed(desk, directory(1, disk=2))
    part = desk.image.topics["u"].partitions[0]
    assert (part.leader, part.elr) == (-1, (1,)), "it may come back with its directory"
    assert assign(desk, directory(1), 0, topic=wanted) == [0]
    part = desk.image.topics["u"].partitions[0]
    assert (part.leader, part.isr, part.elr) == (-1, (), ())
