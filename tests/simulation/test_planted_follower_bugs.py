"""Random walks of three replicas notice what is wrong. Interpreted only: compiled code cannot be replaced."""

from __future__ import annotations

import pytest

from tapelog.log.log import Log
from tapelog.replication import divergence
from tapelog.replication.divergence import truncation_point
from tapelog.replication.followed import Followed
from tests.properties.replica_walks import run_seed


def counts_what_is_written(self: Followed) -> bool:
    """As if the page cache were the disk."""
    return self.partition.log.written_end == self.partition.log.end_offset


def without_epochs(self: Followed) -> tuple[int, int]:
    """Nobody can see that the logs part."""
    return self.partition.log.end_offset, -1


def cuts_too_much(log: Log, epoch: int, end_offset: int) -> int:
    """Two records more than need be."""
    return max(0, truncation_point(log, epoch, end_offset) - 2)


MISTAKES: dict[str, tuple[object, str, object]] = {
    "what is written counts as durable": (Followed, "settled", property(counts_what_is_written)),
    "a follower does not tell its epoch": (Followed, "position", without_epochs),
    "truncation goes too far": (divergence, "truncation_point", cuts_too_much),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, wrong)
    for seed in range(500):
        try:
            run_seed(seed, 150)
        except AssertionError:
            return
    raise AssertionError("nobody noticed")
