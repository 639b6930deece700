"""AssignReplicasToDirs: a broker says in which of its directories it keeps a replica.

A replica that was in a directory which the broker does not have any more, and is in another now, began anew there: it
has nothing of what it had.
"""

from __future__ import annotations

from tapelog.base import ids
from tapelog.base.config import BrokerSettings
from tapelog.metadata.brokers import registered
from tapelog.metadata.delta import changed_partition
from tapelog.metadata.election import Wish, decide_for
from tapelog.metadata.electorate import Electorate, directory_of, online
from tapelog.metadata.image import MetadataImage, PartitionImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.partition_changes import election_of
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from tapelog.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)

REPLICAS_PER_REQUEST_MAX = 2250


def assign_replicas_to_dirs(
    image: MetadataImage, settings: BrokerSettings, request: AssignReplicasToDirsRequest
) -> Outcome[AssignReplicasToDirsResponse]:
    """Every replica stands for itself; one in a directory that is offline leaves the ISR as well, one that began anew
    leaves ISR and ELR, whatever remains."""
    broker = registered(image, request.broker_id, request.broker_epoch)
    asked = sum(len(topic.partitions) for item in request.directories for topic in item.topics)
    if asked > REPLICAS_PER_REQUEST_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"No more than {REPLICAS_PER_REQUEST_MAX} replicas at a time")
    records: list[PartitionChangeRecord] = []
    changed: dict[tuple[bytes, int], PartitionImage] = {}
    response = AssignReplicasToDirsResponse(directories=[])
    for directory in request.directories:
        there = online(directory.id, broker.log_dirs) and directory.id != ids.DIR_UNASSIGNED
        electorate = Electorate(image, settings, without=() if there else (broker.id,))
        without = Electorate(image, settings, without=(broker.id,))
        answers = []
        for asked_topic in directory.topics:
            topic = image.topics_by_id.get(asked_topic.topic_id)
            results = []
            for item in asked_topic.partitions:
                index = item.partition_index
                result = PartitionData(partition_index=index)
                results.append(result)
                if topic is None:
                    result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
                    continue
                key = (topic.id, index)
                partition = changed.get(key) or topic.partition(index)
                if partition is None:
                    result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
                if broker.id not in partition.replicas:
                    result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                    continue
                wish = Wish(directories={broker.id: directory.id})
                if not there:
                    wish.isr = [id for id in partition.isr if id != broker.id]
                    wish.election = election_of(electorate, topic)
                elif not online(directory_of(partition, broker.id), broker.log_dirs):
                    wish.isr = [id for id in partition.isr if id != broker.id]
                    wish.wiped = (broker.id,)
                    wish.election = election_of(without, topic)
                chosen = without if wish.wiped else electorate
                record = decide_for(chosen, topic, index, partition, wish)
                if record is not None:
                    records.append(record)
                    changed[key] = changed_partition(partition, record)
            answers.append(TopicData(topic_id=asked_topic.topic_id, partitions=results))
        response.directories.append(DirectoryData(id=directory.id, topics=answers))
    return Outcome(records, response)
