"""Answers of a coordinator: given once, and in words that its clients know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tapelog.coordinators.outcome import Reply, edge_code
from tapelog.wire.errors import ErrorCode


def test_the_first_answer_counts_and_is_given_when_its_turn_has_come() -> None:
    posted: list[Callable[[], None]] = []
    told: list[str] = []
    reply = Reply(posted.append, told.append)
    assert not reply.answered
    reply.answer("first")
    assert reply.answered and told == []
    reply.answer("second")
    for one in posted:
        one()
    assert told == ["first"]


@pytest.mark.parametrize(
    ("of_the_log", "of_the_coordinator"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS),
    ],
)
def test_what_its_log_says_is_told_as_a_coordinators_trouble(
    of_the_log: ErrorCode, of_the_coordinator: ErrorCode
) -> None:
    assert edge_code(of_the_log) == of_the_coordinator
