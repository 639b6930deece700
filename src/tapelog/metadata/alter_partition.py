"""AlterPartition: a leader asks for another ISR.

Whoever asks must be the registered incarnation (KIP-903), lead the partition in its present epoch, know its present
partition epoch, and name only replicas that are alive in the incarnation the leader knows.
"""

from __future__ import annotations

from tapelog.base.config import BrokerSettings
from tapelog.metadata.brokers import registered
from tapelog.metadata.delta import changed_partition
from tapelog.metadata.election import NO_LEADER_CHANGE, RECOVERED, RECOVERING, Wish, decide_for
from tapelog.metadata.electorate import Electorate
from tapelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.partition_changes import election_of
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.alter_partition_request import AlterPartitionRequest, BrokerState
from tapelog.wire.messages.alter_partition_request import PartitionData as AskedPartition
from tapelog.wire.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData

_ANY_EPOCH = -1


def alter_partition(
    image: MetadataImage, settings: BrokerSettings, request: AlterPartitionRequest, version: int
) -> Outcome[AlterPartitionResponse]:
    """Every partition stands for itself; a stranger or an outdated incarnation gets nothing."""
    registered(image, request.broker_id, request.broker_epoch)
    electorate = Electorate(image, settings)
    records: list[PartitionChangeRecord] = []
    changed: dict[tuple[bytes, int], PartitionImage] = {}
    response = AlterPartitionResponse(topics=[])
    for asked_topic in request.topics:
        topic = image.topics_by_id.get(asked_topic.topic_id)
        answers = []
        for asked in asked_topic.partitions:
            if version < 3:
                asked.new_isr_with_epochs = [BrokerState(broker_id=id) for id in asked.new_isr]
            if topic is None:
                answers.append(_refused(asked, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            key = (topic.id, asked.partition_index)
            partition = changed.get(key) or topic.partition(asked.partition_index)
            code = _check(image, request.broker_id, partition, asked)
            if partition is None or code != ErrorCode.NONE:
                answers.append(_refused(asked, code))
                continue
            answer, record, partition = _alter(electorate, topic, partition, asked, request.broker_id)
            answers.append(answer)
            if record is not None:
                records.append(record)
                changed[key] = partition
        response.topics.append(TopicData(topic_id=asked_topic.topic_id, partitions=answers))
    return Outcome(records, response)


def _refused(asked: AskedPartition, code: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=asked.partition_index, error_code=code)


def _alter(
    electorate: Electorate, topic: TopicImage, partition: PartitionImage, asked: AskedPartition, asker: int
) -> tuple[PartitionData, PartitionChangeRecord | None, PartitionImage]:
    wish = Wish(
        isr=[state.broker_id for state in asked.new_isr_with_epochs],
        recovery_state=asked.leader_recovery_state,
        election=election_of(electorate, topic),
    )
    record = decide_for(electorate, topic, asked.partition_index, partition, wish)
    if record is not None:
        partition = changed_partition(partition, record)
        if record.leader not in (NO_LEADER_CHANGE, asker):
            # The ISR completed a reassignment, and its leader is not among those who stay.
            return _refused(asked, ErrorCode.NEW_LEADER_ELECTED), record, partition
    answer = PartitionData(
        partition_index=asked.partition_index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
    return answer, record, partition


def _check(image: MetadataImage, asker: int, partition: PartitionImage | None, asked: AskedPartition) -> ErrorCode:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.leader_epoch > partition.leader_epoch or asked.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # the asker knows more than we do: somebody else is the controller by now
    if asked.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if asker != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if asked.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [state.broker_id for state in asked.new_isr_with_epochs]
    if not isr or len(set(isr)) != len(isr) or any(id not in partition.replicas for id in isr):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in isr or asked.leader_recovery_state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if asked.leader_recovery_state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if any(not _eligible(image, state) for state in asked.new_isr_with_epochs):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(image: MetadataImage, state: BrokerState) -> bool:
    """Alive, not on its way out, and the incarnation that the leader has seen in sync."""
    broker = image.brokers.get(state.broker_id)
    return broker is not None and broker.active and state.broker_epoch in (_ANY_EPOCH, broker.epoch)
