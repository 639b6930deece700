"""ElectLeaders: give a partition its preferred leader back, or any leader at all."""

from __future__ import annotations

from typing import Final

from tapelog.base.config import BrokerSettings
from tapelog.metadata import election
from tapelog.metadata.election import Wish, decide
from tapelog.metadata.electorate import Electorate
from tapelog.metadata.image import NO_LEADER, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.metadata.topics import RECORDS_PER_REQUEST_MAX
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest
from tapelog.wire.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult

PREFERRED: Final = 0
UNCLEAN: Final = 1


def elect_leaders(
    image: MetadataImage, settings: BrokerSettings, request: ElectLeadersRequest
) -> Outcome[ElectLeadersResponse]:
    """Every partition stands for itself; topic_partitions=None means all of them, and leaves out what is fine."""
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    everything = request.topic_partitions is None
    if request.topic_partitions is None:
        asked = [(name, list(range(len(image.topics[name].partitions)))) for name in sorted(image.topics)]
    else:
        asked = [(item.topic, item.partitions) for item in request.topic_partitions]
    electorate = Electorate(image, settings)
    records: list[PartitionChangeRecord] = []
    elected: dict[tuple[str, int], None] = {}
    response = ElectLeadersResponse(replica_election_results=[])
    for name, indexes in asked:
        results = []
        for index in indexes:
            try:
                if (name, index) in elected:
                    raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "It was just elected")
                if len(records) >= RECORDS_PER_REQUEST_MAX:
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many elections in one request")
                records.append(_elect(electorate, name, index, request.election_type))
                elected[(name, index)] = None
                results.append(PartitionResult(partition_id=index, error_message=None))
            except KafkaError as error:
                if not (everything and error.code == ErrorCode.ELECTION_NOT_NEEDED):
                    results.append(
                        PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
                    )
        response.replica_election_results.append(ReplicaElectionResult(topic=name, partition_result=results))
    return Outcome(records, response)


def _elect(electorate: Electorate, name: str, index: int, kind: int) -> PartitionChangeRecord:
    topic = electorate.image.topics.get(name)
    partition = topic.partition(index) if topic is not None else None
    if topic is None or partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no {name}-{index}")
    if partition.leader == partition.replicas[0] if kind == PREFERRED else partition.leader != NO_LEADER:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    wish = Wish(election=election.PREFERRED if kind == PREFERRED else election.UNCLEAN)
    record = decide(electorate, topic, index, wish)
    if record is not None and (record.leader >= 0 if kind == UNCLEAN else record.leader == partition.replicas[0]):
        return record
    if kind == PREFERRED:
        raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"Broker {partition.replicas[0]} cannot lead now")
    raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "None of the replicas is there")


def preferred_leaders(image: MetadataImage, settings: BrokerSettings, most: int) -> list[PartitionChangeRecord]:
    """Records that give up to that many partitions their preferred leader back."""
    electorate = Electorate(image, settings)
    records: list[PartitionChangeRecord] = []
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if len(records) >= most:
                return records
            preferred = partition.replicas[0]
            if partition.leader in (preferred, NO_LEADER) or preferred not in partition.isr:
                continue
            record = decide(electorate, topic, index, Wish(election=election.PREFERRED))
            if record is not None:
                records.append(record)
    return records


def unclean_leaders(image: MetadataImage, settings: BrokerSettings, most: int) -> list[PartitionChangeRecord]:
    """Records that give up to that many leaderless partitions a leader, where their topic allows an unclean one."""
    electorate = Electorate(image, settings)
    records: list[PartitionChangeRecord] = []
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.leader != NO_LEADER or not electorate.unclean(topic.name):
                continue
            record = decide(electorate, topic, index, Wish(election=election.UNCLEAN))
            if record is not None:
                records.append(record)
            if len(records) >= most:
                return records
    return records
