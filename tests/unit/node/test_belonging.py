"""A node of another cluster stops and says why; one wrong node among voters stops nobody else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.node.belonging import Belonging
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.vote_response import VoteResponse

REFUSED = VoteResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))


class World:
    def __init__(self, voters: int) -> None:
        self.reasons: list[str] = []
        node: Any = SimpleNamespace(
            config=SimpleNamespace(voters=["v"] * voters, cluster_id="ours"), give_up=self.reasons.append
        )
        self.belonging = Belonging(node)


@pytest.mark.parametrize(("voters", "enough"), [(1, 1), (2, 2), (3, 2), (5, 3)])
def test_most_voters_must_refuse_it(voters: int, enough: int) -> None:
    world = World(voters)
    for port in range(enough - 1):
        world.belonging.heard("h", port, REFUSED)
        world.belonging.heard("h", port, REFUSED)
    assert world.reasons == []
    world.belonging.heard("h", enough, REFUSED)
    (reason,) = world.reasons
    assert "INCONSISTENT_CLUSTER_ID" in reason
    assert "cluster_id" in reason


def test_silence_settles_nothing() -> None:
    world = World(1)
    world.belonging.heard("h", 1, None)
    world.belonging.heard("h", 1, FetchResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID)))
    assert len(world.reasons) == 1


def test_any_other_answer_settles_it() -> None:
    world = World(1)
    world.belonging.heard("h", 1, VoteResponse())
    world.belonging.heard("h", 1, REFUSED)
    assert world.reasons == []
