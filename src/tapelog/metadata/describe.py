"""Read-only answers about the cluster, built from an image: Metadata, DescribeCluster, DescribeTopicPartitions and
what user interfaces also ask. Server handlers call these; deciding whether to create a missing topic is theirs.
"""

from __future__ import annotations

from typing import Final

from tapelog.metadata import topic_names
from tapelog.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_cluster_request import DescribeClusterRequest
from tapelog.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tapelog.wire.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from tapelog.wire.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tapelog.wire.primitives import ZERO_UUID

OPERATIONS_OMITTED: Final = -(1 << 31)
"""What stands for authorised operations when nobody asked for them."""

# Bit n stands for ACL operation n: 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action,
# 10 describe configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens.
TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))

ENDPOINT_BROKERS: Final = 1
ENDPOINT_CONTROLLERS: Final = 2
PARTITIONS_PER_RESPONSE_MAX: Final = 2000


def controller_for_clients(image: MetadataImage, answering: int = -1) -> int:
    """The broker that clients should send changes to; any one will do, since brokers pass them on. That is the
    `answering` one, if clients may use it: who answers is alive, while the controller may have died a moment ago, and
    librdkafka asks for another one only minutes later."""
    if (broker := image.brokers.get(answering)) is not None and not broker.fenced:
        return answering
    controller = image.brokers.get(image.controller_id)
    if controller is not None and not controller.fenced:
        return controller.id
    alive = image.alive_brokers()
    return alive[0].id if alive else -1


def missing_topics(image: MetadataImage, request: MetadataRequest) -> list[str]:
    """Topics a Metadata request asks for by name that do not exist, each once: what auto-creation may create."""
    named = dict.fromkeys(
        topic.name for topic in request.topics or [] if topic.name is not None and topic.topic_id == ZERO_UUID
    )
    return [name for name in named if name not in image.topics]


def metadata_response(
    image: MetadataImage, request: MetadataRequest, version: int, listener: str, answering: int = -1
) -> MetadataResponse:
    """Metadata, versions 0 to 13, as the broker `answering` gives it. Null topics (and in version 0 an empty list) mean
    all of them."""
    operations = TOPIC_OPERATIONS if version >= 8 and request.include_topic_authorized_operations else None
    if request.topics is None or (version == 0 and not request.topics):
        topics = [_known_topic(image, image.topics[name], version, listener) for name in sorted(image.topics)]
    else:
        unique = {(asked.name, asked.topic_id): asked for asked in request.topics}
        topics = [_asked_topic(image, asked, version, listener) for asked in unique.values()]
    for topic in topics:
        topic.topic_authorized_operations = OPERATIONS_OMITTED
        if operations is not None and topic.error_code in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
            topic.topic_authorized_operations = operations
    response = MetadataResponse(
        brokers=_brokers(image, listener),
        cluster_id=image.cluster_id,
        controller_id=controller_for_clients(image, answering),
        topics=topics,
    )
    if 8 <= version <= 10 and request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _brokers(image: MetadataImage, listener: str) -> list[MetadataResponseBroker]:
    found = []
    for broker in image.alive_brokers():
        endpoint = broker.endpoint(listener)
        if endpoint is not None:
            found.append(
                MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            )
    return found


def _asked_topic(
    image: MetadataImage, asked: MetadataRequestTopic, version: int, listener: str
) -> MetadataResponseTopic:
    if version >= 12 and asked.topic_id != ZERO_UUID:
        topic = image.topics_by_id.get(asked.topic_id)
        if topic is None:
            return _failed_topic(ErrorCode.UNKNOWN_TOPIC_ID, None, asked.topic_id)
        return _known_topic(image, topic, version, listener)
    name = asked.name
    if name is None or asked.topic_id != ZERO_UUID:  # ids in versions 10 and 11, or neither id nor name
        return _failed_topic(ErrorCode.INVALID_REQUEST, name if version >= 12 else name or "", asked.topic_id)
    topic = image.topics.get(name)
    if topic is not None:
        return _known_topic(image, topic, version, listener)
    illegal = topic_names.why_illegal(name) is not None
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _failed_topic(code, name, ZERO_UUID)


def _failed_topic(code: ErrorCode, name: str | None, topic_id: bytes) -> MetadataResponseTopic:
    internal = name is not None and topic_names.is_internal(name)
    return MetadataResponseTopic(error_code=code, name=name, topic_id=topic_id, is_internal=internal)


def _known_topic(image: MetadataImage, topic: TopicImage, version: int, listener: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic_names.is_internal(topic.name),
        partitions=[
            _partition(image, index, partition, version, listener) for index, partition in enumerate(topic.partitions)
        ],
    )


def _partition(
    image: MetadataImage, index: int, partition: PartitionImage, version: int, listener: str
) -> MetadataResponsePartition:
    answer = MetadataResponsePartition(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=_offline(image, partition, listener),
    )
    code = _leader_error(image, partition, listener)
    if code != ErrorCode.NONE:
        answer.error_code = code
        answer.leader_id = NO_LEADER
    elif version == 0 and answer.offline_replicas:
        # Version 0 cannot tell offline replicas apart: leave them out and say so.
        answer.error_code = ErrorCode.REPLICA_NOT_AVAILABLE
        offline = answer.offline_replicas
        answer.replica_nodes = [id for id in answer.replica_nodes if id not in offline]
        answer.isr_nodes = [id for id in answer.isr_nodes if id not in offline]
    return answer


def _leader_error(image: MetadataImage, partition: PartitionImage, listener: str) -> ErrorCode:
    leader = image.brokers.get(partition.leader)
    if leader is None or leader.fenced:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return ErrorCode.NONE if leader.endpoint(listener) is not None else ErrorCode.LISTENER_NOT_FOUND


def _offline(image: MetadataImage, partition: PartitionImage, listener: str) -> list[int]:
    offline = []
    for id in partition.replicas:
        broker = image.brokers.get(id)
        if broker is None or broker.fenced or broker.endpoint(listener) is None:
            offline.append(id)
    return offline


def describe_cluster_response(
    image: MetadataImage, request: DescribeClusterRequest, version: int, listener: str
) -> DescribeClusterResponse:
    """DescribeCluster, versions 0 to 2, as a broker answers it."""
    response = DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=controller_for_clients(image),
        endpoint_type=ENDPOINT_BROKERS,
        cluster_authorized_operations=OPERATIONS_OMITTED,
    )
    if version >= 1 and request.endpoint_type != ENDPOINT_BROKERS:
        wrong = request.endpoint_type == ENDPOINT_CONTROLLERS
        response.error_code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if wrong else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        response.error_message = "This listener knows brokers; ask a controller's listener for controllers"
        return response
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    for id in sorted(image.brokers):
        broker = image.brokers[id]
        endpoint = broker.endpoint(listener)
        if endpoint is None or (broker.fenced and not (version >= 2 and request.include_fenced_brokers)):
            continue
        response.brokers.append(
            DescribeClusterBroker(
                broker_id=id, host=endpoint.host, port=endpoint.port, rack=broker.rack, is_fenced=broker.fenced
            )
        )
    return response


def describe_controllers_response(
    image: MetadataImage, request: DescribeClusterRequest, listener: str, active_id: int
) -> DescribeClusterResponse:
    """DescribeCluster, as a controller's listener answers it: who the controllers are, and which of them is active."""
    response = DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=active_id,
        endpoint_type=ENDPOINT_CONTROLLERS,
        cluster_authorized_operations=OPERATIONS_OMITTED,
    )
    if request.endpoint_type != ENDPOINT_CONTROLLERS:
        wrong = request.endpoint_type == ENDPOINT_BROKERS
        response.error_code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if wrong else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        response.error_message = "This listener knows controllers; ask a broker's listener for brokers"
        return response
    for id in sorted(image.controllers):
        for endpoint in image.controllers[id].endpoints:
            if endpoint.name == listener:
                response.brokers.append(DescribeClusterBroker(broker_id=id, host=endpoint.host, port=endpoint.port))
    return response


def describe_topic_partitions_response(
    image: MetadataImage,
    request: DescribeTopicPartitionsRequest,
    listener: str,
    limit_max: int = PARTITIONS_PER_RESPONSE_MAX,
) -> DescribeTopicPartitionsResponse:
    """DescribeTopicPartitions, version 0: topics by name, a page at a time from the cursor on.

    An empty list of topics means all of them. limit_max is max.request.partition.size.limit.
    """
    asked = sorted({topic.name for topic in request.topics}) if request.topics else sorted(image.topics)
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        bad = [_absent_topic(name, ErrorCode.INVALID_REQUEST) for name in asked]
        return DescribeTopicPartitionsResponse(topics=bad)
    first_name, first_index = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    room = max(1, min(limit_max, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in asked:
        if name < first_name:
            continue
        topic = image.topics.get(name)
        if topic is None:
            if request.topics:
                illegal = topic_names.why_illegal(name) is not None
                code = ErrorCode.INVALID_TOPIC_EXCEPTION if illegal else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                response.topics.append(_absent_topic(name, code))
            continue
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        start = first_index if name == first_name else 0
        page = range(start, min(len(topic.partitions), start + room))
        response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.id,
                is_internal=topic_names.is_internal(name),
                partitions=[_described(image, index, topic.partitions[index], listener) for index in page],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        room -= len(page)
        if page.stop < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=page.stop)
            break
    return response


def _absent_topic(name: str, code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        topic_id=ZERO_UUID,
        is_internal=topic_names.is_internal(name),
    )


def _described(
    image: MetadataImage, index: int, partition: PartitionImage, listener: str
) -> DescribeTopicPartitionsResponsePartition:
    code = _leader_error(image, partition, listener)
    return DescribeTopicPartitionsResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=partition.leader if code == ErrorCode.NONE else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=_offline(image, partition, listener),
    )
