"""What no client should send to a coordinator: stale epochs, strangers, forbidden names, evil expressions.

Raw requests on our own message classes, so that a field can hold anything. Run against Apache Kafka 4.3.1 by
TAPELOG_TEST_BOOTSTRAP: the codes here are its codes.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from tapelog.wire.catalog import response_class
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.message import Message
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.primitives import Reader, Writer
from tests.support.names import Fresh, MakeTopic
from tests.support.nodes import one_node
from tests.support.raw import Raw
from tests.support.waiting import until

pytestmark = one_node

EVIL = ["(a+)+$", "(.*)*x", "(x+x+)+y" * 20, "[a-z]{1,900}" * 3, "(" * 200 + ")" * 200]


def ask(bootstrap: str, request: Message, version: int) -> Any:
    """One request on a connection of its own; the decoded answer."""
    writer = Writer()
    request.encode(writer, version)
    flexible = version >= request.FLEXIBLE_FROM
    with Raw(bootstrap, timeout=20) as raw:
        body = raw.call(request.API_KEY, version, writer.tobytes(), flexible=flexible)
    reader = Reader(body, 0, len(body))
    if flexible:
        reader.skip_tags()
    return response_class(request.API_KEY).decode(reader, version)


@pytest.fixture(scope="module", autouse=True)
def coordinators(bootstrap: str) -> None:
    """Asking for a coordinator makes its topic; wait until both serve."""
    for kind in (0, 1):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"])
        until(lambda: ask(bootstrap, request, 4).coordinators[0].error_code == 0, "a coordinator")  # noqa: B023


def beat(bootstrap: str, group: str, member: str, epoch: int, **fields: Any) -> tuple[ErrorCode, Any]:
    """A heartbeat of the newer protocol: its code and the answer."""
    if epoch == 0:
        fields = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": ["absent"], "topic_partitions": [], **fields}
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **fields)
    answer = ask(bootstrap, request, 1)
    return error_code(answer.error_code), answer


def test_heartbeats_of_strangers_and_stale_epochs(bootstrap: str, fresh: Fresh) -> None:
    group, member = fresh(), str(uuid.uuid4())
    assert beat(bootstrap, group, member, 5)[0] == ErrorCode.GROUP_ID_NOT_FOUND
    code, answer = beat(bootstrap, group, member, 0)
    assert code == ErrorCode.NONE and answer.member_epoch > 0
    assert beat(bootstrap, group, str(uuid.uuid4()), 1)[0] == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(bootstrap, group, member, answer.member_epoch + 7)[0] == ErrorCode.FENCED_MEMBER_EPOCH
    assert beat(bootstrap, group, member, answer.member_epoch)[0] == ErrorCode.NONE
    assert beat(bootstrap, group, member, -1)[0] == ErrorCode.NONE  # leaves
    assert beat(bootstrap, group, member, answer.member_epoch)[0] == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "fields",
    [
        {"rebalance_timeout_ms": -1},
        {"subscribed_topic_names": None},
        {"topic_partitions": None},
        {"instance_id": ""},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_first_heartbeat_that_lacks_something(bootstrap: str, fresh: Fresh, fields: dict[str, Any]) -> None:
    code, _ = beat(bootstrap, fresh(), str(uuid.uuid4()), 0, **fields)
    assert code == ErrorCode.INVALID_REQUEST


def test_names_that_are_not_allowed(bootstrap: str, fresh: Fresh) -> None:
    assert beat(bootstrap, "", str(uuid.uuid4()), 0)[0] == ErrorCode.INVALID_REQUEST
    for assignor in ("", "no such assignor"):
        code, _ = beat(bootstrap, fresh(), str(uuid.uuid4()), 0, server_assignor=assignor)
        assert code == ErrorCode.UNSUPPORTED_ASSIGNOR
    request = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000)
    assert ask(bootstrap, request, 4).error_code == ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, 900_001, 2**31 - 1):
        request = InitProducerIdRequest(transactional_id=fresh(), transaction_timeout_ms=timeout_ms)
        assert ask(bootstrap, request, 4).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("pattern", EVIL, ids=range(len(EVIL)))
def test_evil_expressions_cost_nobody_anything(bootstrap: str, fresh: Fresh, pattern: str) -> None:
    regex: dict[str, Any] = {"subscribed_topic_names": None, "subscribed_topic_regex": pattern}
    code, _ = beat(bootstrap, fresh(), str(uuid.uuid4()), 0, **regex)
    assert code in (ErrorCode.NONE, ErrorCode.INVALID_REGULAR_EXPRESSION)
    assert beat(bootstrap, fresh(), str(uuid.uuid4()), 0)[0] == ErrorCode.NONE  # and others are served


def test_an_unfinished_expression_is_refused(bootstrap: str, fresh: Fresh) -> None:
    regex: dict[str, Any] = {"subscribed_topic_names": None, "subscribed_topic_regex": "(unfinished"}
    assert beat(bootstrap, fresh(), str(uuid.uuid4()), 0, **regex)[0] == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_commits_with_too_much_metadata_or_a_wrong_epoch(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, group = make_topic(1), fresh()

    def commit(metadata: str, member: str = "", epoch: int = -1) -> int:
        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=metadata)
        request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=epoch, member_id=member)
        request.topics = [OffsetCommitRequestTopic(name=topic, partitions=[part])]
        return int(ask(bootstrap, request, 9).topics[0].partitions[0].error_code)

    assert commit("x" * 4096) == ErrorCode.NONE
    assert commit("x" * 4097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    member = str(uuid.uuid4())
    _, answer = beat(bootstrap, group, member, 0)
    assert commit("", "stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("", member, answer.member_epoch + 5) == ErrorCode.STALE_MEMBER_EPOCH
    assert commit("", member, answer.member_epoch) == ErrorCode.NONE


SILENT_S = 8.0
"""Longer than the session of the broker of these tests (`group.consumer.session.timeout.ms`, 6 s)."""


def test_a_member_that_never_heartbeats_is_removed(bootstrap: str, fresh: Fresh) -> None:
    group, silent, lively = fresh(), str(uuid.uuid4()), str(uuid.uuid4())
    _, first = beat(bootstrap, group, silent, 0)
    _, answer = beat(bootstrap, group, lively, 0)
    epoch, end = answer.member_epoch, time.monotonic() + SILENT_S
    while time.monotonic() < end:  # asking earlier whether it is gone would be a sign of life
        code, answer = beat(bootstrap, group, lively, epoch)
        assert code == ErrorCode.NONE
        epoch = answer.member_epoch
        time.sleep(0.5)
    code, _ = beat(bootstrap, group, silent, first.member_epoch)
    assert code == ErrorCode.UNKNOWN_MEMBER_ID


def test_transactions_of_strangers_and_stale_epochs(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> None:
    topic, id = make_topic(1), fresh()
    made = ask(bootstrap, InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=10_000), 4)
    assert made.error_code == ErrorCode.NONE

    def end(producer_id: int, epoch: int, version: int = 3) -> int:
        request = EndTxnRequest(transactional_id=id, producer_id=producer_id, producer_epoch=epoch, committed=True)
        return int(ask(bootstrap, request, version).error_code)

    def add(producer_id: int, epoch: int, name: str) -> int:
        place = AddPartitionsToTxnTopic(name=name, partitions=[0])
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[place],
        )
        answer = ask(bootstrap, request, 3)
        return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    assert end(made.producer_id, made.producer_epoch) == ErrorCode.INVALID_TXN_STATE  # there is none
    assert end(made.producer_id + 1000, made.producer_epoch) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert end(made.producer_id, made.producer_epoch + 1) == ErrorCode.PRODUCER_FENCED
    assert add(made.producer_id, made.producer_epoch, "absent") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert add(made.producer_id, made.producer_epoch + 1, topic) == ErrorCode.PRODUCER_FENCED
    assert add(made.producer_id, made.producer_epoch, topic) == ErrorCode.NONE
    assert end(made.producer_id, made.producer_epoch) == ErrorCode.NONE
