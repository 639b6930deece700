"""Create and delete topics, add partitions: requests in, records and a response out; nothing is changed here.

Called through controller.Controller. Every topic of a request stands for itself: one that is refused does not
stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from tapelog.base import ids
from tapelog.base.config import BrokerSettings
from tapelog.base.config_values import split_list
from tapelog.base.ports import Entropy
from tapelog.metadata import placement, tier_rules, topic_names
from tapelog.metadata.config_layers import Layers, topic_entries
from tapelog.metadata.config_rules import check_topic_configs
from tapelog.metadata.image import RESOURCE_TOPIC, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import ConfigRecord, MetadataRecord, RemoveTopicRecord, TopicRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from tapelog.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tapelog.wire.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tapelog.wire.primitives import ZERO_UUID

_Name = TypeVar("_Name", str, bytes)

RECORDS_PER_REQUEST_MAX: Final = 10_000
"""One request is one atomic batch of records, so it may not grow without bound."""


def create_topics(
    image: MetadataImage, settings: BrokerSettings, entropy: Entropy, request: CreateTopicsRequest
) -> Outcome[CreateTopicsResponse]:
    """Records for every acceptable topic of the request; with validate_only the response alone."""
    records: list[MetadataRecord] = []
    response = CreateTopicsResponse(topics=[])
    repeated = _repeated(topic.name for topic in request.topics)
    told = _ToldConfigs(Layers(image, settings, None))
    accepted: dict[str, None] = {}
    answered: dict[str, None] = {}
    for topic in request.topics:
        if topic.name in answered:
            continue
        answered[topic.name] = None
        result = CreatableTopicResult(name=topic.name, topic_id=ZERO_UUID, error_message=None, configs=[])
        response.topics.append(result)
        try:
            _check_new_name(image, topic.name, repeated, accepted)
            configs = _given_configs(topic, settings)
            topic_id, epoch = _identity(image, topic, configs, entropy)
            room = RECORDS_PER_REQUEST_MAX - len(records) - len(configs) - 1
            assignment = _assignment(image, settings, entropy, topic, room)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        accepted[topic.name] = None
        records += _creation(image, topic.name, topic_id, configs, assignment, epoch)
        result.topic_id = ZERO_UUID if request.validate_only else topic_id
        result.num_partitions, result.replication_factor = len(assignment), len(assignment[0])
        result.configs = told.about(configs)
    return Outcome([] if request.validate_only else records, response)


def _check_new_name(image: MetadataImage, name: str, repeated: dict[str, None], accepted: dict[str, None]) -> None:
    if name in repeated:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Topic '{name}' appears more than once in the request")
    if name == topic_names.CLUSTER_METADATA:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"'{name}' is the controllers' own log and cannot be created")
    reason = topic_names.why_illegal(name)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    if name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = topic_names.colliding(name, image.topics) or topic_names.colliding(name, accepted)
    if other is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic '{other}'")


def _given_configs(topic: CreatableTopic, settings: BrokerSettings) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Topic config {config.name} needs a value")
        configs[config.name] = config.value
    check_topic_configs(configs)
    tier_rules.check(configs, {}, settings)
    return configs


def _identity(
    image: MetadataImage, topic: CreatableTopic, configs: dict[str, str], entropy: Entropy
) -> tuple[bytes, int]:
    """Id and first leader epoch: those of its former life for a topic that is restored from the tier."""
    given = configs.get("tapelog.tier.restore")
    if not given:
        return ids.new_id(entropy), 0
    from tapelog.log.tier import restoring

    try:
        restore = restoring.parse(given)
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    if restore.topic_id in image.topics_by_id:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"'{topic.name}' was restored already, or never lost")
    if topic.num_partitions != len(restore.partitions):
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"'{topic.name}' had {len(restore.partitions)} partitions")
    return restore.topic_id, restore.leader_epoch


def _creation(
    image: MetadataImage,
    name: str,
    topic_id: bytes,
    configs: dict[str, str],
    assignment: list[list[int]],
    leader_epoch: int,
) -> list[MetadataRecord]:
    records: list[MetadataRecord] = [TopicRecord(name=name, topic_id=topic_id)]
    records += [
        ConfigRecord(resource_type=RESOURCE_TOPIC, resource_name=name, name=key, value=configs[key]) for key in configs
    ]
    records += [
        placement.partition_record(image, topic_id, index, replicas, leader_epoch)
        for index, replicas in enumerate(assignment)
    ]
    return records


class _ToldConfigs:
    """What a response tells of new topics' configurations; topics without overrides share one list."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._shared: list[CreatableTopicConfigs] | None = None

    def about(self, overrides: dict[str, str]) -> list[CreatableTopicConfigs]:
        if overrides:
            return self._entries(overrides)
        if self._shared is None:
            self._shared = self._entries({})
        return self._shared

    def _entries(self, overrides: dict[str, str]) -> list[CreatableTopicConfigs]:
        return [
            CreatableTopicConfigs(name=entry.name, value=entry.value, read_only=False, config_source=entry.source)
            for entry in topic_entries(self._layers, overrides)
        ]


def _assignment(
    image: MetadataImage, settings: BrokerSettings, entropy: Entropy, topic: CreatableTopic, room: int
) -> list[list[int]]:
    if topic.assignments:
        return _manual_assignment(image, topic, room)
    count, factor = topic.num_partitions, topic.replication_factor
    if factor == -1:
        factor = settings.whole("default.replication.factor")
    if factor < 1:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be at least 1, or -1 for the default"
        )
    if count == -1:
        count = settings.whole("num.partitions")
    if count < 1:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be at least 1, or -1 for the default")
    _check_room(count, room)
    return placement.place(image, count, factor, entropy)


def _manual_assignment(image: MetadataImage, topic: CreatableTopic, room: int) -> list[list[int]]:
    if topic.replication_factor != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "With a manual assignment the replication factor must be left at -1"
        )
    if topic.num_partitions != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "With a manual assignment the number of partitions must be left at -1"
        )
    _check_room(len(topic.assignments), room)
    by_index: dict[int, list[int]] = {}
    size: int | None = None
    for item in topic.assignments:
        if item.partition_index in by_index:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition {item.partition_index} is assigned more than once"
            )
        placement.check_manual(image, item.broker_ids, size)
        size = len(item.broker_ids)
        by_index[item.partition_index] = item.broker_ids
    if sorted(by_index) != list(range(len(by_index))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Assigned partitions must be numbered from 0 without gaps"
        )
    return [by_index[index] for index in range(len(by_index))]


def _check_room(count: int, room: int) -> None:
    if count > room:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"One request may not create more than {RECORDS_PER_REQUEST_MAX} partitions"
        )


def delete_topics(
    image: MetadataImage, settings: BrokerSettings, request: DeleteTopicsRequest, version: int
) -> Outcome[DeleteTopicsResponse]:
    """Records that remove every existing topic of the request, by name or (from version 6) by id."""
    if version >= 6:
        wanted = [(state.name, state.topic_id) for state in request.topics]
    else:
        wanted = [(name, ZERO_UUID) for name in request.topic_names]
    records: list[MetadataRecord] = []
    results = [DeletableTopicResult(name=name, topic_id=id) for name, id in dict.fromkeys(wanted)]
    seen: dict[bytes, None] = {}
    repeated_names = _repeated(name for name, id in wanted if name is not None)
    repeated_ids = _repeated(id for name, id in wanted if name is None)
    for result in results:
        try:
            if not settings.flag("delete.topic.enable"):
                code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
                raise KafkaError(code, "Topic deletion is disabled: delete.topic.enable is false")
            _check_wanted(result, repeated_names, repeated_ids)
            topic_id = _delete(image, result)
            tier_rules.check_deletion(image, result.name or "")
            if topic_id in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic was already named by its id or name")
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        seen[topic_id] = None
        records.append(RemoveTopicRecord(topic_id=topic_id))
    return Outcome(records, DeleteTopicsResponse(responses=results))


def _check_wanted(
    result: DeletableTopicResult, repeated_names: dict[str, None], repeated_ids: dict[bytes, None]
) -> None:
    if result.name is None:
        if result.topic_id == ZERO_UUID:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor topic id was given")
        if result.topic_id in repeated_ids:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic id appears more than once in the request")
    elif result.topic_id != ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Give either the topic name or the topic id, not both")
    elif result.name in repeated_names:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic name appears more than once in the request")


def _delete(image: MetadataImage, result: DeletableTopicResult) -> bytes:
    """Complete the result with what was not given; the id of the topic to delete."""
    if result.name is None:
        topic = image.topics_by_id.get(result.topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id")
        result.name = topic.name
    else:
        topic = image.topics.get(result.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{result.name}' does not exist")
        result.topic_id = topic.id
    return topic.id


def create_partitions(
    image: MetadataImage, entropy: Entropy, request: CreatePartitionsRequest
) -> Outcome[CreatePartitionsResponse]:
    """Records that raise the partition count of every acceptable topic; with validate_only the response alone."""
    records: list[MetadataRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    repeated = _repeated(topic.name for topic in request.topics)
    answered: dict[str, None] = {}
    for topic in request.topics:
        if topic.name in answered:
            continue
        answered[topic.name] = None
        result = CreatePartitionsTopicResult(name=topic.name)
        results.append(result)
        try:
            if topic.name in repeated:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Topic '{topic.name}' appears more than once")
            records += _grow(image, entropy, topic, RECORDS_PER_REQUEST_MAX - len(records))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
    return Outcome([] if request.validate_only else records, CreatePartitionsResponse(results=results))


def _grow(image: MetadataImage, entropy: Entropy, request: CreatePartitionsTopic, room: int) -> list[MetadataRecord]:
    topic = image.topics.get(request.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{request.name}' does not exist")
    have = len(topic.partitions)
    if request.count <= have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic '{request.name}' already has {have} partition(s); {request.count} would not be an increase",
        )
    added = request.count - have
    _check_room(added, room)
    factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        assignment = placement.place(image, added, factor, entropy)
    else:
        assignment = [item.broker_ids for item in request.assignments]
        if len(assignment) != added:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{added} partition(s) are to be added, but {len(assignment)} are assigned",
            )
        for replicas in assignment:
            placement.check_manual(image, replicas, factor)
    return [
        placement.partition_record(image, topic.id, have + index, replicas) for index, replicas in enumerate(assignment)
    ]


def internal_topic(settings: BrokerSettings, name: str, brokers: int) -> CreatableTopic:
    """How an internal topic is to be created in a cluster of that many brokers."""
    if name == topic_names.CONSUMER_OFFSETS:
        count, factor = "offsets.topic.num.partitions", "offsets.topic.replication.factor"
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": settings.string("offsets.topic.segment.bytes"),
        }
    elif name == topic_names.TRANSACTION_STATE:
        count, factor = "transaction.state.log.num.partitions", "transaction.state.log.replication.factor"
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": settings.string("transaction.state.log.min.isr"),
            "segment.bytes": settings.string("transaction.state.log.segment.bytes"),
            "unclean.leader.election.enable": "false",
        }
    else:
        assert name == topic_names.SHARE_GROUP_STATE, name
        prefix = "share.coordinator.state.topic."
        count, factor = prefix + "num.partitions", prefix + "replication.factor"
        configs = {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": settings.string(prefix + "min.isr"),
            "retention.ms": "-1",
            "segment.bytes": settings.string(prefix + "segment.bytes"),
        }
    replication_factor = max(1, min(settings.whole(factor), brokers))
    if "min.insync.replicas" in configs:
        configs["min.insync.replicas"] = str(min(int(configs["min.insync.replicas"]), replication_factor))
    return CreatableTopic(
        name=name,
        num_partitions=settings.whole(count),
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def auto_create_request(image: MetadataImage, settings: BrokerSettings, names: list[str]) -> CreateTopicsRequest:
    """The request a broker makes on behalf of a client that named topics which do not exist."""
    voters = len(split_list(settings.string("controller.quorum.voters")))
    brokers = max(len(image.brokers), voters)  # also those not here yet: what is kept on fewer replicas stays so
    topics = [
        internal_topic(settings, name, brokers)
        if topic_names.is_internal(name)
        else CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
        for name in names
    ]
    return CreateTopicsRequest(topics=topics)


def _repeated(names: Iterable[_Name]) -> dict[_Name, None]:
    seen: dict[_Name, None] = {}
    repeated: dict[_Name, None] = {}
    for name in names:
        if name in seen:
            repeated[name] = None
        seen[name] = None
    return repeated
