"""AlterPartitionReassignments: move replicas between brokers while they serve, and take such a move back.

The new replicas join (adding), catch up, and when all that shall stay are in sync, the old ones leave (removing): the
last step is taken by election.py together with the ISR that completes it. Topics' throttle configs are theirs to obey.
"""

from __future__ import annotations

from tapelog.base.config import BrokerSettings
from tapelog.metadata import placement
from tapelog.metadata.delta import changed_partition
from tapelog.metadata.election import ONLINE, UNCLEAN, Wish, decide_for
from tapelog.metadata.electorate import Electorate
from tapelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.metadata.topics import RECORDS_PER_REQUEST_MAX
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tapelog.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def alter_partition_reassignments(
    image: MetadataImage, settings: BrokerSettings, request: AlterPartitionReassignmentsRequest
) -> Outcome[AlterPartitionReassignmentsResponse]:
    """Begin, change or (replicas=None) cancel moves; every partition stands for itself."""
    electorate = Electorate(image, settings)
    records: list[PartitionChangeRecord] = []
    changed: dict[tuple[str, int], PartitionImage] = {}
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, error_message=None, responses=[]
    )
    for asked_topic in request.topics:
        answers = []
        for asked in asked_topic.partitions:
            answer = ReassignablePartitionResponse(partition_index=asked.partition_index, error_message=None)
            answers.append(answer)
            key = (asked_topic.name, asked.partition_index)
            try:
                topic, partition = _find(image, *key)
                partition = changed.get(key, partition)
                wish = (
                    _cancel(electorate, topic, partition)
                    if asked.replicas is None
                    else _move(image, partition, asked.replicas, request.allow_replication_factor_change)
                )
                if len(records) >= RECORDS_PER_REQUEST_MAX:
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many moves in one request")
                record = decide_for(electorate, topic, asked.partition_index, partition, wish)
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
                continue
            if record is not None:
                records.append(record)
                changed[key] = changed_partition(partition, record)
        response.responses.append(ReassignableTopicResponse(name=asked_topic.name, partitions=answers))
    return Outcome(records, response)


def _find(image: MetadataImage, name: str, index: int) -> tuple[TopicImage, PartitionImage]:
    topic = image.topics.get(name)
    partition = topic.partition(index) if topic is not None else None
    if topic is None or partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no {name}-{index}")
    return topic, partition


def original_replicas(partition: PartitionImage) -> list[int]:
    """The replicas before the move under way, or simply the replicas."""
    return [id for id in partition.replicas if id not in partition.adding_replicas]


def _move(image: MetadataImage, partition: PartitionImage, target: list[int], resize: bool) -> Wish:
    placement.check_manual(image, target, None, alive=False)
    original = original_replicas(partition)
    if not resize and len(target) != len(original):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor would change from {len(original)} to {len(target)}",
        )
    removing = [id for id in original if id not in target]
    adding = [id for id in target if id not in original]
    replicas = [*target, *removing]
    # Whoever an earlier move was adding and this one does not want goes at once, unless nobody else is in sync.
    if not any(id in replicas for id in partition.isr):
        dropped = [id for id in partition.adding_replicas if id not in target]
        removing, replicas = [*removing, *dropped], [*replicas, *dropped]
    return Wish(replicas=replicas, removing=removing, adding=adding)


def _cancel(electorate: Electorate, topic: TopicImage, partition: PartitionImage) -> Wish:
    if not (partition.adding_replicas or partition.removing_replicas):
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    original = original_replicas(partition)
    isr = [id for id in partition.isr if id not in partition.adding_replicas]
    unclean = electorate.unclean(topic.name)
    if partition.isr and not isr and not unclean:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Only replicas that are being added are in sync: going back would need an unclean election",
        )
    return Wish(isr=isr, replicas=original, removing=(), adding=(), election=UNCLEAN if unclean else ONLINE)
