"""What a heartbeat may say, whatever its group looks like."""

from __future__ import annotations

import pytest

from tapelog.coordinators.consumer.assignors.table import ASSIGNORS
from tapelog.coordinators.consumer.checks import NAMES_CHARS_MAX, NAMES_MAX, check_epoch, check_request
from tapelog.coordinators.consumer.member import STABLE, CurrentAssignment
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions


def heartbeat(**said: object) -> ConsumerGroupHeartbeatRequest:
    """A member that joins, as it should; but for what is said."""
    usual: dict[str, object] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**(usual | said))  # type: ignore[arg-type]


def refused(request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ErrorCode | None:
    try:
        check_request(request, version, ASSIGNORS)
    except KafkaError as error:
        return error.code
    return None


LONG_NAMES = ["n" * 200] * (NAMES_CHARS_MAX // 200)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"subscribed_topic_names": ["t"] * NAMES_MAX},
        {"subscribed_topic_names": LONG_NAMES},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "o.*"},
        {"instance_id": "i", "rack_id": "r"},
        {"member_epoch": 7, "topic_partitions": None, "rebalance_timeout_ms": -1, "subscribed_topic_names": None},
        {"member_epoch": -1, "topic_partitions": None},
        {"member_epoch": -2, "instance_id": "i"},
        {"server_assignor": "range"},
        {"server_assignor": "uniform"},
    ],
)
def test_what_is_in_order_is_accepted(said: dict[str, object]) -> None:
    assert refused(heartbeat(**said)) is None


@pytest.mark.parametrize(
    "said",
    [
        {"group_id": " "},
        {"member_id": " "},
        {"instance_id": ""},
        {"rack_id": " "},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": [TopicPartitions(topic_id=b"t" * 16, partitions=[0])]},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": ["t"] * (NAMES_MAX + 1)},
        {"subscribed_topic_names": [*LONG_NAMES, "n"]},
        {"member_epoch": -2},
        {"member_epoch": -3},
    ],
)
def test_what_is_not_is_refused(said: dict[str, object]) -> None:
    assert refused(heartbeat(**said)) == ErrorCode.INVALID_REQUEST


def test_an_assignor_that_is_not_here_is_named_as_such() -> None:
    assert refused(heartbeat(server_assignor="sticky")) == ErrorCode.UNSUPPORTED_ASSIGNOR


def test_only_who_joins_by_version_0_may_come_without_an_id() -> None:
    assert refused(heartbeat(member_id=""), version=0) is None
    assert refused(heartbeat(member_id="", member_epoch=1), version=0) == ErrorCode.INVALID_REQUEST
    assert refused(heartbeat(member_id="", member_epoch=-1), version=0) == ErrorCode.INVALID_REQUEST
    assert refused(heartbeat(member_id=""), version=1) == ErrorCode.INVALID_REQUEST


A, B = b"a" * 16, b"b" * 16
MOVED_ON = CurrentAssignment(5, 4, STABLE, {A: {0: 5, 1: 5}}, {})


@pytest.mark.parametrize(
    ("epoch", "reported", "elsewhere", "accepted"),
    [
        (5, None, False, True),
        (0, None, False, True),
        (6, None, False, False),
        (3, {A: {0}}, True, False),
        (4, {A: {0, 1}}, False, True),
        (4, {A: {1}}, False, True),
        (4, {}, False, True),
        (4, {A: {0, 2}}, False, False),
        (4, {A: {0}, B: {0}}, False, False),
        (4, None, False, False),
        (4, None, True, True),
        (3, None, True, False),
    ],
)
def test_a_member_is_in_its_epoch_or_missed_the_answer_that_moved_it_on(
    epoch: int, reported: dict[bytes, set[int]] | None, elsewhere: bool, accepted: bool
) -> None:
    try:
        check_epoch(MOVED_ON, epoch, reported, elsewhere)
    except KafkaError as error:
        assert error.code == ErrorCode.FENCED_MEMBER_EPOCH and not accepted
    else:
        assert accepted
