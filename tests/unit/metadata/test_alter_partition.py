"""AlterPartition: a leader asks for another ISR, and every way to be refused."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tapelog.wire.messages.alter_partition_response import PartitionData as Answer
from tests.unit.metadata.desk import Desk


def ask(
    desk: Desk,
    isr: list[int | tuple[int, int]],
    asker: int = 1,
    leader_epoch: int | None = None,
    partition_epoch: int | None = None,
    index: int = 0,
    recovering: int = 0,
    topic_id: bytes | None = None,
    broker_epoch: int | None = None,
) -> Answer:
    """What the leader of t-0 is told when it asks for that ISR; ids alone mean any incarnation."""
    part = desk.partition()
    states = [item if isinstance(item, tuple) else (item, -1) for item in isr]
    request = AlterPartitionRequest(
        broker_id=asker,
        broker_epoch=desk.image.brokers[asker].epoch if broker_epoch is None else broker_epoch,
        topics=[
            TopicData(
                topic_id=desk.image.topics["t"].id if topic_id is None else topic_id,
                partitions=[
                    PartitionData(
                        partition_index=index,
                        leader_epoch=part.leader_epoch if leader_epoch is None else leader_epoch,
                        partition_epoch=part.partition_epoch if partition_epoch is None else partition_epoch,
                        new_isr_with_epochs=[BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in states],
                        leader_recovery_state=recovering,
                    )
                ],
            )
        ],
    )
    response = desk.run(lambda image: desk.controller.alter_partition(image, request, 3))
    return response.topics[0].partitions[0]


def three() -> Desk:
    desk = Desk(brokers=4)
    desk.create("t", [1, 2, 3])
    return desk


def test_an_isr_shrinks_and_grows_in_the_same_leader_epoch() -> None:
    desk = three()
    answer = ask(desk, [1, 3])
    assert (answer.error_code, answer.isr, answer.leader_id, answer.leader_epoch, answer.partition_epoch) == (
        ErrorCode.NONE,
        [1, 3],
        1,
        0,
        1,
    )
    answer = ask(desk, [1, 2, 3])
    assert (answer.isr, answer.partition_epoch) == ([1, 2, 3], 2)
    assert desk.partition().leader_epoch == 0


def test_the_isr_that_is_there_costs_nothing() -> None:
    desk = three()
    end = len(desk.records)
    assert ask(desk, [1, 2, 3]).error_code == ErrorCode.NONE
    assert len(desk.records) == end


def test_version_2_names_replicas_without_epochs() -> None:
    desk = three()
    part = PartitionData(partition_index=0, new_isr=[1, 2])
    topic = TopicData(topic_id=desk.image.topics["t"].id, partitions=[part])
    epoch = desk.image.brokers[1].epoch
    request = AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=[topic])
    desk.run(lambda image: desk.controller.alter_partition(image, request, 2))
    assert desk.partition().isr == (1, 2)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"asker": 2}, ErrorCode.INVALID_REQUEST),
        ({"isr": []}, ErrorCode.INVALID_REQUEST),
        ({"isr": [2, 3]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 1]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 4]}, ErrorCode.INVALID_REQUEST),
        ({"recovering": 1}, ErrorCode.INVALID_REQUEST),
        ({"recovering": 5}, ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_changes_nothing(how: dict[str, object], code: ErrorCode) -> None:
    desk = three()
    before = desk.image
    asked = {"isr": [1, 2], **how}
    answer = ask(desk, **asked)  # type: ignore[arg-type]
    assert answer.error_code == code
    assert desk.image is before


def test_a_leader_of_an_earlier_epoch_is_fenced() -> None:
    desk = three()
    desk.silence(1)
    desk.beat(1)
    assert ask(desk, [1, 2], leader_epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_leader_with_an_older_partition_epoch_must_look_again() -> None:
    desk = three()
    ask(desk, [1, 2])
    assert ask(desk, [1], partition_epoch=0).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_a_fenced_or_leaving_replica_cannot_be_in_sync() -> None:
    desk = three()
    desk.silence(3)
    assert ask(desk, [1, 2, 3]).error_code == ErrorCode.INELIGIBLE_REPLICA
    desk = three()
    desk.create("other", [3, 1])
    desk.heartbeat(3, stop=True)
    assert ask(desk, [1, 2, 3]).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_the_incarnation_seen_in_sync_must_be_the_one_that_is_registered() -> None:
    desk = three()
    old = desk.image.brokers[3].epoch
    desk.register(3, incarnation=2)
    desk.beat(3)
    assert ask(desk, [1, 2, (3, old)]).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert ask(desk, [1, 2, (3, desk.image.brokers[3].epoch)]).error_code == ErrorCode.NONE
    assert desk.state() == (1, (1, 2, 3), ())


def test_an_outdated_incarnation_may_ask_nothing() -> None:
    desk = three()
    with pytest.raises(KafkaError) as caught:
        ask(desk, [1], broker_epoch=0)
    assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_the_isr_that_completes_a_move_may_cost_the_asker_its_lead() -> None:
    desk = three()
    target = ReassignablePartition(partition_index=0, replicas=[4, 2])
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[target])])
    desk.run(lambda image: desk.controller.alter_partition_reassignments(image, request))
    assert desk.partition().replicas == (4, 2, 1, 3)
    answer = ask(desk, [1, 2, 3, 4])
    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    part = desk.partition()
    assert (part.replicas, part.isr, part.leader, part.leader_epoch) == ((4, 2), (2, 4), 4, 1)
    assert (part.adding_replicas, part.removing_replicas) == ((), ())


def test_a_leader_that_has_recovered_says_so() -> None:
    desk = Desk(brokers=2)
    desk.create("t", [1, 2], unclean_leader_election_enable="true")
    desk.silence(2)
    desk.silence(1)
    desk.beat(2)
    assert desk.partition().leader_recovery_state == 1
    assert ask(desk, [2], asker=2, recovering=1).error_code == ErrorCode.NONE
    desk.beat(1)
    assert ask(desk, [2, 1], asker=2, recovering=1).error_code == ErrorCode.INVALID_REQUEST
    assert ask(desk, [2, 1], asker=2).error_code == ErrorCode.NONE
    assert desk.partition().leader_recovery_state == 0
