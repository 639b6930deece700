"""OffsetCommit, OffsetFetch and OffsetDelete over the wire's versions: names and ids, one group and several, errors."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.delete_groups_request import DeleteGroupsRequest
from tapelog.wire.messages.describe_groups_request import DescribeGroupsRequest
from tapelog.wire.messages.list_groups_request import ListGroupsRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.unit.coordinators.bench import Bench


def commit(bench: Bench, offset: int, version: int = 9, **topic: Any) -> list[Any]:
    partitions = [OffsetCommitRequestPartition(partition_index=1, committed_offset=offset, committed_leader_epoch=3)]
    made = OffsetCommitRequestTopic(partitions=partitions, **(topic or {"name": "orders"}))
    return bench.ask("offset_commit", OffsetCommitRequest(group_id="g", topics=[made]), version)


def fetch(bench: Bench, version: int = 9, stable: bool = False, **topic: Any) -> list[Any]:
    made = OffsetFetchRequestTopics(partition_indexes=[0, 1], **(topic or {"name": "orders"}))
    group = OffsetFetchRequestGroup(group_id="g", topics=[made])
    return bench.ask("offset_fetch", OffsetFetchRequest(groups=[group], require_stable=stable), version)


def offsets(answers: list[Any]) -> list[int]:
    return [part.committed_offset for part in answers[0].groups[0].topics[0].partitions]


def test_topics_can_be_named_by_id_from_version_10() -> None:
    bench = Bench()
    topic_id = bench.topics.ids["orders"]
    response = commit(bench, 7, 10, topic_id=topic_id)[0]
    assert response.topics[0].topic_id == topic_id
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert offsets(fetch(bench, 9)) == [-1, 7]
    assert offsets(fetch(bench, 10, topic_id=topic_id)) == [-1, 7]
    unknown = commit(bench, 8, 10, topic_id=b"?" * 16)[0]
    assert unknown.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    unknown = fetch(bench, 10, topic_id=b"?" * 16)[0]
    assert [p.error_code for p in unknown.groups[0].topics[0].partitions] == [ErrorCode.UNKNOWN_TOPIC_ID] * 2
    for version in (9, 10):
        response.tobytes(version)
        unknown.tobytes(version)


def test_offsets_of_an_earlier_topic_of_the_same_name_are_not_given_out() -> None:
    bench = Bench()
    commit(bench, 7)
    bench.topics.ids["orders"] = b"another topic id"
    assert offsets(fetch(bench)) == [-1, -1]
    everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    assert bench.ask("offset_fetch", everything, 9)[0].groups[0].topics == []
    commit(bench, 8)
    assert offsets(fetch(bench)) == [-1, 8]


def test_all_offsets_by_id_leave_out_topics_that_are_gone() -> None:
    bench = Bench()
    commit(bench, 7)
    del bench.topics.ids["orders"]
    everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    assert bench.ask("offset_fetch", everything, 10)[0].groups[0].topics == []
    assert bench.ask("offset_fetch", everything, 9)[0].groups[0].topics[0].name == "orders"


def test_a_plain_fetch_sees_committed_offsets_and_a_stable_one_waits_for_the_newest() -> None:
    bench = Bench()
    commit(bench, 7)
    bench.log.held = True
    assert commit(bench, 8) == []
    assert offsets(fetch(bench)) == [-1, 7]
    waiting = fetch(bench, stable=True)
    assert waiting == []
    bench.release()
    assert offsets(waiting) == [-1, 8]


@pytest.mark.parametrize("version", range(1, 8))
def test_before_version_8_there_is_one_group_and_its_topics(version: int) -> None:
    bench = Bench()
    commit(bench, 7)
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[1, 9])]
    response = bench.ask("offset_fetch", OffsetFetchRequest(group_id="g", topics=topics), version)[0]
    parts = response.topics[0].partitions
    assert [(p.partition_index, p.committed_offset, p.error_code) for p in parts] == [(1, 7, 0), (9, -1, 0)]
    assert parts[0].committed_leader_epoch == 3
    response.tobytes(version)
    if version >= 2:
        response = bench.ask("offset_fetch", OffsetFetchRequest(group_id="g", topics=None), version)[0]
        assert [t.name for t in response.topics] == ["orders"]


@pytest.mark.parametrize("version", [1, 2, 7, 8])
def test_an_error_of_the_whole_group_stands_where_the_version_has_room(version: int) -> None:
    bench = Bench(load=False)
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[1])]
    groups = [OffsetFetchRequestGroup(group_id="g", topics=None)]
    response = bench.ask("offset_fetch", OffsetFetchRequest(group_id="g", topics=topics, groups=groups), version)[0]
    if version == 1:
        assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    elif version < 8:
        assert (response.error_code, response.topics) == (ErrorCode.NOT_COORDINATOR, [])
    else:
        assert response.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def test_several_groups_are_answered_in_the_order_asked_even_if_some_wait() -> None:
    bench = Bench({"offsets.topic.num.partitions": "7"})
    names = [f"group-{i}" for i in range(20)]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    response = bench.ask("offset_fetch", OffsetFetchRequest(groups=groups, require_stable=True), 9)[0]
    assert [group.group_id for group in response.groups] == names
    assert bench.ask("offset_fetch", OffsetFetchRequest(groups=[]), 9)[0].groups == []


def test_a_commit_names_each_topic_once_even_where_partitions_are_missing() -> None:
    bench = Bench()
    parts = [OffsetCommitRequestPartition(partition_index=i, committed_offset=1) for i in (0, 9, 1, -1)]
    request = OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(name="orders", partitions=parts),
            OffsetCommitRequestTopic(name="none", partitions=parts[:1]),
        ],
    )
    response = bench.ask("offset_commit", request, 9)[0]
    told = {t.name: {p.partition_index: p.error_code for p in t.partitions} for t in response.topics}
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told == {"orders": {0: 0, 1: 0, 9: missing, -1: missing}, "none": {0: missing}}
    assert len(response.topics) == 2


def test_a_commit_to_nothing_that_exists_asks_no_group() -> None:
    bench = Bench(load=False)
    response = commit(bench, 1, name="none")[0]
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(bench, 1)[0].topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


def test_deleting_offsets_names_each_topic_once() -> None:
    bench = Bench()
    commit(bench, 7)
    parts = [OffsetDeleteRequestPartition(partition_index=i) for i in (1, 9)]
    request = OffsetDeleteRequest(group_id="g", topics=[OffsetDeleteRequestTopic(name="orders", partitions=parts)])
    response = bench.ask("offset_delete", request, 0)[0]
    assert [t.name for t in response.topics] == ["orders"]
    codes = [p.error_code for p in response.topics[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert offsets(fetch(bench)) == [-1, -1]
    assert bench.ask("offset_delete", OffsetDeleteRequest(), 0)[0].error_code == ErrorCode.INVALID_GROUP_ID


def test_metadata_that_no_record_can_hold_is_an_error_and_leaves_no_trace() -> None:
    bench = Bench({"offset.metadata.max.bytes": "100000"})
    part = OffsetCommitRequestPartition(partition_index=1, committed_offset=1, committed_metadata="x" * 40_000)
    topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
    request = OffsetCommitRequest(group_id="g", retention_time_ms=1000, topics=topics)
    response = bench.ask("offset_commit", request, 4)[0]
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.machine.state.group_ids() == []


def test_groups_of_all_shards_are_listed_described_and_deleted() -> None:
    bench = Bench({"offsets.topic.num.partitions": "7"})
    names = [f"group-{i}" for i in range(20)]
    for name in names:
        part = OffsetCommitRequestPartition(partition_index=1, committed_offset=1)
        topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
        bench.ask("offset_commit", OffsetCommitRequest(group_id=name, topics=topics), 9)
    listed = bench.ask("list_groups", ListGroupsRequest(), 5)[0].groups
    assert sorted(group.group_id for group in listed) == sorted(names)
    asked = DescribeGroupsRequest(groups=names, include_authorized_operations=True)
    described = bench.ask("describe_groups", asked, 6)[0].groups
    assert [(group.group_id, group.group_state) for group in described] == [(name, "Empty") for name in names]
    assert {group.authorized_operations for group in described} == {3400}
    deleted = bench.ask("delete_groups", DeleteGroupsRequest(groups_names=[*names, names[0], "nix"]), 2)[0].results
    assert {result.group_id: result.error_code for result in deleted} == {
        **dict.fromkeys(names, ErrorCode.NONE),
        "nix": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert bench.ask("list_groups", ListGroupsRequest(), 5)[0].groups == []
    assert bench.ask("delete_groups", DeleteGroupsRequest(groups_names=[]), 2)[0].results == []


def test_deleting_groups_elsewhere_is_refused_group_by_group() -> None:
    bench = Bench(load=False)
    results = bench.ask("delete_groups", DeleteGroupsRequest(groups_names=["a", "b"]), 2)[0].results
    assert [(r.group_id, r.error_code) for r in results] == [
        ("a", ErrorCode.NOT_COORDINATOR),
        ("b", ErrorCode.NOT_COORDINATOR),
    ]


def test_deleted_topics_take_their_offsets_along_in_every_group() -> None:
    bench = Bench({"offsets.topic.num.partitions": "3"})
    for name in ("a", "b", "c", "d"):
        part = OffsetCommitRequestPartition(partition_index=1, committed_offset=1)
        topics = [OffsetCommitRequestTopic(name=topic, partitions=[part]) for topic in ("orders", "events")]
        bench.ask("offset_commit", OffsetCommitRequest(group_id=name, topics=topics), 9)
    bench.coordinator.on_topics_deleted(["orders"])
    bench.settle()
    for name in ("a", "b", "c", "d"):
        everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)])
        found = bench.ask("offset_fetch", everything, 9)[0].groups[0].topics
        assert [topic.name for topic in found] == ["events"]
