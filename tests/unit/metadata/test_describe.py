"""Metadata, DescribeCluster, DescribeTopicPartitions and the answers for what is not there yet."""

from __future__ import annotations

import pytest

from tapelog.metadata.describe import (
    CLUSTER_OPERATIONS,
    OPERATIONS_OMITTED,
    TOPIC_OPERATIONS,
    describe_cluster_response,
    describe_topic_partitions_response,
    metadata_response,
    missing_topics,
)
from tapelog.metadata.describe_state import (
    add_features,
    describe_acls_response,
    describe_client_quotas_response,
    list_partition_reassignments_response,
)
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse
from tapelog.wire.messages.describe_cluster_request import DescribeClusterRequest
from tapelog.wire.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tapelog.wire.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from tapelog.wire.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse
from tapelog.wire.primitives import Reader
from tests.unit.metadata.harness import CLUSTER_ID, Cluster
from tests.unit.metadata.test_topics import assigned, create, topic

LISTENER = "PLAINTEXT"
UNKNOWN = bytes([7]) * 16


def filled(brokers: int = 2) -> Cluster:
    cluster = Cluster(brokers=brokers)
    create(cluster, topic("b", 3), topic("a", 2), topic("c"))
    return cluster


def ask(
    image: MetadataImage, version: int, topics: list[MetadataRequestTopic] | None, **more: bool
) -> MetadataResponse:
    """The answer after a trip over the wire, so that only what the version has remains."""
    request = MetadataRequest(topics=topics, **more)
    data = metadata_response(image, request, version, LISTENER).tobytes(version)
    return MetadataResponse.decode(Reader(data, 0, len(data)), version)


def named(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def test_the_broker_that_answers_names_itself_as_the_one_to_send_changes_to() -> None:
    """librdkafka keeps to the one it was told of for minutes, be it dead or not."""
    cluster = filled(3)
    cluster.run(lambda image: cluster.controller.fence_broker(image, 3, image.brokers[3].epoch))

    def told(answering: int) -> int:
        return metadata_response(cluster.image, MetadataRequest(topics=[]), 12, LISTENER, answering).controller_id

    assert [told(1), told(2)] == [1, 2]
    assert told(3) == 1, "clients are not shown a fenced broker"


@pytest.mark.parametrize("version", range(14))
def test_every_version_tells_brokers_and_topics(version: int) -> None:
    cluster = filled()
    response = ask(cluster.image, version, named("a", "nope"))
    assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [
        (1, "127.0.0.1", 9092),
        (2, "127.0.0.1", 9093),
    ]
    known, unknown = response.topics
    assert (known.error_code, known.name, len(known.partitions)) == (0, "a", 2)
    assert (unknown.error_code, unknown.name, unknown.partitions) == (3, "nope", [])
    if version >= 1:
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == CLUSTER_ID
    if version >= 10:
        assert known.topic_id == cluster.image.topics["a"].id


def test_null_means_all_topics_and_an_empty_list_none_except_in_version_0() -> None:
    image = filled().image
    assert [t.name for t in ask(image, 12, None).topics] == ["a", "b", "c"]
    assert ask(image, 1, []).topics == []
    assert [t.name for t in ask(image, 0, []).topics] == ["a", "b", "c"]


@pytest.mark.parametrize("version", [12, 13])
def test_topics_by_id(version: int) -> None:
    image = filled().image
    wanted = [
        MetadataRequestTopic(topic_id=image.topics["a"].id, name=None),
        MetadataRequestTopic(topic_id=UNKNOWN, name=None),
    ]
    known, unknown = ask(image, version, wanted).topics
    assert (known.error_code, known.name, known.topic_id) == (0, "a", image.topics["a"].id)
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, UNKNOWN)


@pytest.mark.parametrize("version", [10, 11])
def test_versions_that_have_ids_only_in_answers_refuse_them_in_questions(version: int) -> None:
    image = filled().image
    (answer,) = ask(image, version, [MetadataRequestTopic(topic_id=image.topics["a"].id, name="a")]).topics
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_illegal_names_are_told_apart_from_absent_ones_and_repeated_ones_answered_once() -> None:
    image = filled().image
    answers = ask(image, 9, named("a b", "", "a", "a")).topics
    assert [(t.name, t.error_code) for t in answers] == [("a b", 17), ("", 17), ("a", 0)]


def test_authorised_operations_only_when_asked() -> None:
    image = filled().image
    quiet = ask(image, 8, named("a"))
    assert quiet.cluster_authorized_operations == quiet.topics[0].topic_authorized_operations == OPERATIONS_OMITTED
    loud = ask(
        image,
        8,
        named("a", "nope"),
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    assert loud.cluster_authorized_operations == CLUSTER_OPERATIONS == 8096
    assert [t.topic_authorized_operations for t in loud.topics] == [TOPIC_OPERATIONS, OPERATIONS_OMITTED]
    assert TOPIC_OPERATIONS == 3576


def test_internal_topics_are_marked() -> None:
    cluster = Cluster()
    cluster.run(lambda image: cluster.controller.auto_create_topics(image, ["__consumer_offsets", "mine"]))
    assert [t.is_internal for t in ask(cluster.image, 5, named("__consumer_offsets", "mine")).topics] == [True, False]


def test_a_partition_without_a_living_leader_says_so() -> None:
    cluster = Cluster(brokers=2)
    create(cluster, assigned("lost", (0, [2])), assigned("fine", (0, [1, 2])))
    epoch = cluster.image.brokers[2].epoch
    cluster.run(lambda image: cluster.controller.fence_broker(image, 2, epoch))
    answer = ask(cluster.image, 7, named("lost", "fine"))
    assert [broker.node_id for broker in answer.brokers] == [1]
    lost, fine = (t.partitions[0] for t in answer.topics)
    assert (lost.error_code, lost.leader_id, lost.offline_replicas) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [2])
    assert (fine.error_code, fine.leader_id, fine.isr_nodes, fine.offline_replicas) == (0, 1, [1], [2])
    old = ask(cluster.image, 0, named("fine")).topics[0].partitions[0]
    assert (old.error_code, old.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1])


def test_a_listener_the_leader_does_not_have_is_an_error() -> None:
    image = filled().image
    response = metadata_response(image, MetadataRequest(topics=named("a")), 12, "OTHER")
    assert response.brokers == []
    assert response.topics[0].partitions[0].error_code == ErrorCode.LISTENER_NOT_FOUND


def test_missing_topics_are_those_named_but_absent() -> None:
    image = filled().image
    wanted = [*named("a", "new", "new"), MetadataRequestTopic(topic_id=UNKNOWN, name=None)]
    assert missing_topics(image, MetadataRequest(topics=wanted)) == ["new"]
    assert missing_topics(image, MetadataRequest(topics=None)) == []


def test_describe_cluster_shows_fenced_brokers_only_when_asked() -> None:
    cluster = Cluster(brokers=2)
    epoch = cluster.image.brokers[2].epoch
    cluster.run(lambda image: cluster.controller.fence_broker(image, 2, epoch))

    def shown(version: int, request: DescribeClusterRequest) -> list[tuple[int, bool]]:
        response = describe_cluster_response(cluster.image, request, version, LISTENER)
        assert (response.error_code, response.cluster_id, response.controller_id) == (0, CLUSTER_ID, 1)
        return [(broker.broker_id, broker.is_fenced) for broker in response.brokers]

    assert shown(0, DescribeClusterRequest()) == [(1, False)]
    assert shown(2, DescribeClusterRequest()) == [(1, False)]
    assert shown(2, DescribeClusterRequest(include_fenced_brokers=True)) == [(1, False), (2, True)]


def test_describe_cluster_operations_and_endpoint_types() -> None:
    image = Cluster().image
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert describe_cluster_response(image, asked, 0, LISTENER).cluster_authorized_operations == CLUSTER_OPERATIONS
    controllers = describe_cluster_response(image, DescribeClusterRequest(endpoint_type=2), 1, LISTENER)
    assert controllers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    nothing = describe_cluster_response(image, DescribeClusterRequest(endpoint_type=9), 1, LISTENER)
    assert nothing.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def page(
    image: MetadataImage, names: list[str], limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return describe_topic_partitions_response(image, request, LISTENER)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("names", [[], ["c", "a", "b"]])
def test_pages_together_tell_every_partition_once(limit: int, names: list[str]) -> None:
    image = filled().image
    seen: list[tuple[str | None, int]] = []
    cursor: tuple[str, int] | None = None
    for _ in range(10):
        response = page(image, names, limit, cursor)
        found = [(t.name, p.partition_index) for t in response.topics for p in t.partitions]
        assert len(found) <= limit
        seen += found
        if response.next_cursor is None:
            break
        cursor = (response.next_cursor.topic_name, response.next_cursor.partition_index)
    assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


def test_absent_and_illegal_topics_and_bad_cursors() -> None:
    image = filled().image
    answers = page(image, ["nope", "a b", "a"]).topics
    assert [(t.name, t.error_code) for t in answers] == [("a", 0), ("a b", 17), ("nope", 3)]
    (bad,) = page(image, ["a"], cursor=("a", -1)).topics
    assert bad.error_code == ErrorCode.INVALID_REQUEST
    assert page(image, ["a"], cursor=("a", 99)).topics[0].partitions == []


def test_only_moving_partitions_are_reassignments() -> None:
    cluster = filled()
    everything = ListPartitionReassignmentsRequest(topics=None)
    assert list_partition_reassignments_response(cluster.image, everything).topics == []
    id = cluster.image.topics["b"].id
    move = PartitionChangeRecord(partition_id=1, topic_id=id, replicas=[1, 2], adding_replicas=[2])
    cluster.run(lambda image: Outcome([move], None))
    (moving,) = list_partition_reassignments_response(cluster.image, everything).topics
    (partition,) = moving.partitions
    assert (moving.name, partition.partition_index, partition.adding_replicas) == ("b", 1, [2])
    asked = ListPartitionReassignmentsRequest(
        topics=[
            ListPartitionReassignmentsTopics(name="b", partition_indexes=[0]),
            ListPartitionReassignmentsTopics(name="x"),
        ]
    )
    assert list_partition_reassignments_response(cluster.image, asked).topics == []


def test_there_are_no_quotas_and_no_authorizer() -> None:
    assert (describe_client_quotas_response().error_code, describe_client_quotas_response().entries) == (0, [])
    assert describe_acls_response().error_code == ErrorCode.SECURITY_DISABLED


def test_api_versions_tells_features() -> None:
    image = Cluster().image
    response = ApiVersionsResponse()
    add_features(image, response)
    assert {f.name: f.max_version_level for f in response.finalized_features} == dict(image.features)
    assert response.finalized_features_epoch == image.offset - 1
    assert "metadata.version" in {f.name for f in response.supported_features}
