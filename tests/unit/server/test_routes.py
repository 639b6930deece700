"""Every API in every version it serves is answered; the table says what Kafka's message definitions say."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from typing import Any

import pytest

from tapelog.server.call import Call
from tapelog.server.dispatch import LOG_LINES_PER_SECOND
from tapelog.server.node_api import NodeApi
from tapelog.server.routes import ON_BOTH, served
from tapelog.wire import catalog
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages import (
    alter_configs_request,
    create_partitions_request,
    create_topics_request,
    delete_records_request,
    delete_topics_request,
    describe_client_quotas_request,
    describe_configs_request,
    describe_log_dirs_request,
    describe_quorum_request,
    describe_topic_partitions_request,
    fetch_request,
    incremental_alter_configs_request,
    join_group_request,
    leave_group_request,
    list_offsets_request,
    list_offsets_response,
    list_partition_reassignments_request,
    metadata_request,
    offset_commit_request,
    offset_delete_request,
    offset_fetch_request,
    offset_for_leader_epoch_request,
    produce_request,
    sync_group_request,
)
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.primitives import Reader, Writer
from tests.support.rig import TOPIC, Rig

EVERY_VERSION = [(route, version) for route in served() for version in range(route.min_version, route.max_version + 1)]
NAMES = [f"{route.name}-v{version}" for route, version in EVERY_VERSION]
GROUP = "billing"


def _produce(rig: Rig, version: int) -> Message:
    data = produce_request.PartitionProduceData(index=0, records=rig.batch(b"v"))
    named: dict[str, Any] = {"topic_id": rig.topic_id()} if version >= 13 else {"name": TOPIC}
    topic = produce_request.TopicProduceData(partition_data=[data], **named)
    return produce_request.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


def _fetch(rig: Rig, version: int) -> Message:
    named: dict[str, Any] = {"topic_id": rig.topic_id()} if version >= 13 else {"topic": TOPIC}
    part = fetch_request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = fetch_request.FetchTopic(partitions=[part], **named)
    return fetch_request.FetchRequest(max_wait_ms=10, min_bytes=1, max_bytes=1000, topics=[topic])


def _list_offsets(rig: Rig, version: int) -> Message:
    part = list_offsets_request.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = list_offsets_request.ListOffsetsTopic(name=TOPIC, partitions=[part])
    return list_offsets_request.ListOffsetsRequest(replica_id=-1, topics=[topic])


def _metadata(rig: Rig, version: int) -> Message:
    topic = metadata_request.MetadataRequestTopic(name=TOPIC)
    return metadata_request.MetadataRequest(topics=[topic])


def _offset_commit(rig: Rig, version: int) -> Message:
    named: dict[str, Any] = {"topic_id": rig.topic_id()} if version >= 10 else {"name": TOPIC}
    part = offset_commit_request.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = offset_commit_request.OffsetCommitRequestTopic(partitions=[part], **named)
    return offset_commit_request.OffsetCommitRequest(group_id=GROUP, topics=[topic])


def _offset_fetch(rig: Rig, version: int) -> Message:
    if version < 8:
        old = offset_fetch_request.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
        return offset_fetch_request.OffsetFetchRequest(group_id=GROUP, topics=[old])
    named: dict[str, Any] = {"topic_id": rig.topic_id()} if version >= 10 else {"name": TOPIC}
    topic = offset_fetch_request.OffsetFetchRequestTopics(partition_indexes=[0], **named)
    group = offset_fetch_request.OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
    return offset_fetch_request.OffsetFetchRequest(groups=[group])


def _find_coordinator(rig: Rig, version: int) -> Message:
    request: Any = catalog.request_class(10)()
    if version >= 4:
        request.coordinator_keys = [GROUP]
    else:
        request.key = GROUP
    return request  # type: ignore[no-any-return]


def _join_group(rig: Rig, version: int) -> Message:
    protocol = join_group_request.JoinGroupRequestProtocol(name="range", metadata=b"")
    request = join_group_request.JoinGroupRequest(group_id=f"{GROUP}-{version}", session_timeout_ms=10_000)
    request.protocol_type, request.protocols = "consumer", [protocol]
    if version >= 1:
        request.rebalance_timeout_ms = 10_000
    return request


def _leave_group(rig: Rig, version: int) -> Message:
    if version < 3:
        return leave_group_request.LeaveGroupRequest(group_id=GROUP, member_id="nobody")
    member = leave_group_request.MemberIdentity(member_id="nobody")
    return leave_group_request.LeaveGroupRequest(group_id=GROUP, members=[member])


def _sync_group(rig: Rig, version: int) -> Message:
    request = sync_group_request.SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="nobody")
    if version >= 5:
        request.protocol_type, request.protocol_name = "consumer", "range"
    return request


def _api_versions(rig: Rig, version: int) -> Message:
    if version < 3:
        return ApiVersionsRequest()
    return ApiVersionsRequest(client_software_name="test", client_software_version="1.0")


def _create_topics(rig: Rig, version: int) -> Message:
    topic = create_topics_request.CreatableTopic(name=f"new-{version}", num_partitions=1, replication_factor=1)
    return create_topics_request.CreateTopicsRequest(topics=[topic], timeout_ms=1000)


def _delete_topics(rig: Rig, version: int) -> Message:
    if version < 6:
        return delete_topics_request.DeleteTopicsRequest(topic_names=["nothing"], timeout_ms=1000)
    topic = delete_topics_request.DeleteTopicState(name=None, topic_id=rig.topic_id())
    return delete_topics_request.DeleteTopicsRequest(topics=[topic], timeout_ms=1000)


def _delete_records(rig: Rig, version: int) -> Message:
    part = delete_records_request.DeleteRecordsPartition(partition_index=0, offset=0)
    topic = delete_records_request.DeleteRecordsTopic(name=TOPIC, partitions=[part])
    return delete_records_request.DeleteRecordsRequest(topics=[topic])


def _epochs(rig: Rig, version: int) -> Message:
    part = offset_for_leader_epoch_request.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = offset_for_leader_epoch_request.OffsetForLeaderTopic(topic=TOPIC, partitions=[part])
    return offset_for_leader_epoch_request.OffsetForLeaderEpochRequest(topics=[topic])


def _describe_configs(rig: Rig, version: int) -> Message:
    resources = [
        describe_configs_request.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        for kind, name in ((2, TOPIC), (4, "1"), (2, "nothing"), (8, "1"), (32, GROUP), (16, "m"))
    ]
    return describe_configs_request.DescribeConfigsRequest(resources=resources, include_synonyms=True)


def _alter_configs(rig: Rig, version: int) -> Message:
    config = alter_configs_request.AlterableConfig(name="retention.ms", value="1000")
    resource = alter_configs_request.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[config])
    return alter_configs_request.AlterConfigsRequest(resources=[resource])


def _incremental(rig: Rig, version: int) -> Message:
    config = incremental_alter_configs_request.AlterableConfig(name="retention.ms", config_operation=0, value="1000")
    resource = incremental_alter_configs_request.AlterConfigsResource(
        resource_type=2, resource_name=TOPIC, configs=[config]
    )
    return incremental_alter_configs_request.IncrementalAlterConfigsRequest(resources=[resource])


def _describe_log_dirs(rig: Rig, version: int) -> Message:
    topic = describe_log_dirs_request.DescribableLogDirTopic(topic=TOPIC, partitions=[0, 7])
    return describe_log_dirs_request.DescribeLogDirsRequest(topics=[topic])


def _create_partitions(rig: Rig, version: int) -> Message:
    topic = create_partitions_request.CreatePartitionsTopic(name=TOPIC, count=3, assignments=None)
    return create_partitions_request.CreatePartitionsRequest(topics=[topic], timeout_ms=1000)


def _reassignments(rig: Rig, version: int) -> Message:
    topic = list_partition_reassignments_request.ListPartitionReassignmentsTopics(name=TOPIC, partition_indexes=[0])
    return list_partition_reassignments_request.ListPartitionReassignmentsRequest(topics=[topic])


def _offset_delete(rig: Rig, version: int) -> Message:
    part = offset_delete_request.OffsetDeleteRequestPartition(partition_index=0)
    topic = offset_delete_request.OffsetDeleteRequestTopic(name=TOPIC, partitions=[part])
    return offset_delete_request.OffsetDeleteRequest(group_id=GROUP, topics=[topic])


def _quotas(rig: Rig, version: int) -> Message:
    component = describe_client_quotas_request.ComponentData(entity_type="user", match_type=2)
    return describe_client_quotas_request.DescribeClientQuotasRequest(components=[component])


def _quorum(rig: Rig, version: int) -> Message:
    part = describe_quorum_request.PartitionData(partition_index=0)
    topic = describe_quorum_request.TopicData(topic_name="__cluster_metadata", partitions=[part])
    return describe_quorum_request.DescribeQuorumRequest(topics=[topic])


def _topic_partitions(rig: Rig, version: int) -> Message:
    topic = describe_topic_partitions_request.TopicRequest(name=TOPIC)
    return describe_topic_partitions_request.DescribeTopicPartitionsRequest(topics=[topic])


PLAUSIBLE: dict[str, Callable[[Rig, int], Message]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "Metadata": _metadata,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": _join_group,
    "LeaveGroup": _leave_group,
    "SyncGroup": _sync_group,
    "ApiVersions": _api_versions,
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "DeleteRecords": _delete_records,
    "OffsetForLeaderEpoch": _epochs,
    "DescribeConfigs": _describe_configs,
    "AlterConfigs": _alter_configs,
    "IncrementalAlterConfigs": _incremental,
    "DescribeLogDirs": _describe_log_dirs,
    "CreatePartitions": _create_partitions,
    "ListPartitionReassignments": _reassignments,
    "OffsetDelete": _offset_delete,
    "DescribeClientQuotas": _quotas,
    "DescribeQuorum": _quorum,
    "DescribeTopicPartitions": _topic_partitions,
}


def error_codes(message: Any) -> list[int]:
    """Every error code anywhere in a message."""
    found = []
    for name in message.FIELDS:
        value = getattr(message, name)
        if name == "error_code":
            found.append(value)
        elif isinstance(value, Message):
            found += error_codes(value)
        elif isinstance(value, list):
            found += [code for item in value if isinstance(item, Message) for code in error_codes(item)]
    return found


@pytest.mark.parametrize(("route", "version"), EVERY_VERSION, ids=NAMES)
def test_an_api_is_answered_in_every_version_it_serves(route: Any, version: int) -> None:
    rig = Rig()
    rig.create()
    empty: Any = catalog.request_class(route.api_key)()
    if route.name == "Produce":
        empty.acks = 1  # with 0, the default, there is no answer
    plausible = PLAUSIBLE.get(route.name, lambda rig, version: empty)
    request = plausible(rig, version)
    before = rig.client.call(request, version)
    assert isinstance(before, catalog.response_class(route.api_key))
    rig.client.call(_find_coordinator(rig, 4), 4)
    rig.client.call(request, version)
    again = rig.client.call(empty, version)
    assert isinstance(again, catalog.response_class(route.api_key))
    for response in (before, again):
        assert ErrorCode.UNKNOWN_SERVER_ERROR not in error_codes(response)
    assert rig.client.call(_metadata(rig, 5), 5).brokers, "the connection is still good"


@pytest.mark.parametrize(("route", "version"), EVERY_VERSION, ids=NAMES)
def test_an_error_nobody_expected_is_answered_or_closes_the_connection(
    route: Any, version: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    rig.create()

    def broken(node: object, call: object, request: object) -> None:
        raise RuntimeError("a defect")

    request = PLAUSIBLE.get(route.name, lambda rig, version: catalog.request_class(route.api_key)())(rig, version)
    monkeypatch.setattr(route, "_handle", broken)
    answers = rig.later(request, version)
    if answers:
        assert ErrorCode.UNKNOWN_SERVER_ERROR in error_codes(answers[0])
    else:
        assert rig.client.connection.closed
    assert "a defect" in caplog.text


def test_an_answer_that_its_version_cannot_carry_costs_one_connection_not_the_node(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    rig.create()
    route = next(route for route in served() if route.name == "ListOffsets")

    def answers_later(node: NodeApi, call: Call, request: object) -> None:
        part = list_offsets_response.ListOffsetsPartitionResponse(leader_epoch=7)  # unknown before version 4
        topic = list_offsets_response.ListOffsetsTopicResponse(name=TOPIC, partitions=[part])
        node.timers.after(5, lambda: call.reply(list_offsets_response.ListOffsetsResponse(topics=[topic])))

    monkeypatch.setattr(route, "_handle", answers_later)
    answers = rig.later(_list_offsets(rig, 1), 1)
    rig.node.pass_time(10)
    assert rig.client.connection.closed
    assert not answers
    assert "ListOffsets v1" in caplog.text
    assert rig.connect().call(_metadata(rig, 5), 5).brokers


UNSTABLE = {"InitProducerId": 6}
"""Served beyond what Apache Kafka calls stable: two-phase commit (KIP-939)."""


def test_the_table_serves_what_the_message_definitions_call_stable() -> None:
    for route in served(ON_BOTH):
        request, response = catalog.request_class(route.api_key), catalog.response_class(route.api_key)
        assert request.__name__ == f"{route.name}Request"
        newest = UNSTABLE.get(route.name, request.STABLE_MAX)
        assert (route.min_version, route.max_version) == (request.MIN_VERSION, newest), route.name
        assert route.flexible_from == request.FLEXIBLE_FROM, route.name
        assert (response.MIN_VERSION, response.FLEXIBLE_FROM) == (request.MIN_VERSION, request.FLEXIBLE_FROM)


def test_api_versions_says_what_the_table_says_and_produce_from_zero() -> None:
    rig = Rig()
    for version in range(5):
        response = rig.client.call(_api_versions(rig, version), version)
        told = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        expected = {route.api_key: (route.min_version, route.max_version) for route in served()}
        expected[0] = (0, 13)
        assert told == expected


def test_api_versions_names_the_finalized_features() -> None:
    rig = Rig()
    response = rig.client.call(_api_versions(rig, 4), 4)
    finalized = {feature.name: feature.max_version_level for feature in response.finalized_features}
    supported = {feature.name: feature.max_version for feature in response.supported_features}
    assert finalized["metadata.version"] <= supported["metadata.version"]
    assert response.finalized_features_epoch >= 0
    before = rig.client.call(_api_versions(rig, 3), 3)
    assert all(feature.min_version > 0 for feature in before.supported_features)


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b!", "ä"])
def test_api_versions_refuses_senseless_names_of_software(name: str) -> None:
    rig = Rig()
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert rig.client.call(request, 3).error_code == ErrorCode.INVALID_REQUEST


def frame(api_key: int, version: int, correlation: int = 77, body: bytes = b"\x00\x01x") -> bytes:
    """A request frame with that header."""
    payload = struct.pack(">hhi", api_key, version, correlation) + body
    return struct.pack(">i", len(payload)) + payload


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_api_versions_of_an_unknown_version_is_answered_in_version_zero(version: int) -> None:
    rig = Rig()
    received: list[bytes] = []
    connection = rig.node.connect(received.append)
    connection.feed(frame(18, version))
    rig.node.settle()
    data = received[0]
    reader = Reader(data, 4, len(data))
    assert reader.i32() == 77
    response: Any = catalog.response_class(18).decode(reader, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(entry.api_key, entry.min_version, entry.max_version) for entry in response.api_keys] == [(18, 0, 4)]
    assert reader.pos == len(data)
    assert not connection.closed


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (4, 0, "unknown API key 4"),
        (-1, 0, "unknown API key -1"),
        (9999, 0, "unknown API key 9999"),
        (0, 2, "Produce v2 (v3 to v13 are served)"),
        (1, 19, "Fetch v19 (v4 to v18 are served)"),
        (3, -5, "Metadata v-5 (v0 to v13 are served)"),
    ],
)
def test_what_is_not_served_closes_the_connection_with_one_log_line(
    key: int, version: int, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    rig.create()
    with caplog.at_level(logging.WARNING, "tapelog"):
        rig.client.feed(frame(key, version))
    assert rig.client.connection.closed
    assert [record.getMessage() for record in caplog.records] == [f"closed the connection from 127.0.0.1: {why}"]
    rig.client = rig.connect()
    assert rig.produce().error_code == 0, "others are not disturbed"


def test_a_request_cut_short_closes_the_connection_with_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    writer = Writer()
    writer.nullable_string("x")
    with caplog.at_level(logging.WARNING, "tapelog"):
        rig.client.feed(frame(2, 1, body=writer.tobytes() + b"\x00\x00"))
    assert rig.client.connection.closed
    assert len(caplog.records) == 1
    assert "malformed ListOffsets v1" in caplog.text


def test_log_lines_about_bad_input_are_few_however_much_of_it_there_is(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    with caplog.at_level(logging.WARNING, "tapelog"):
        for _ in range(500):
            rig.connect().feed(frame(4444, 0))
        assert len(caplog.records) == LOG_LINES_PER_SECOND
        rig.node.pass_time(2_000)
        rig.connect().feed(frame(4444, 0))
    lines = [record.getMessage() for record in caplog.records[LOG_LINES_PER_SECOND:]]
    assert lines[0] == f"{500 - LOG_LINES_PER_SECOND} more lines like these were left out"
    assert len(lines) == 2


def test_a_client_that_hangs_up_is_not_worth_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    with caplog.at_level(logging.INFO, "tapelog"):
        rig.client.hang_up()
    assert caplog.records == []
