"""Random lives of a replicated partition notice what is wrong. Interpreted only: compiled code cannot be replaced."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.replication.isr import InSync
from tapelog.replication.leadership import Leadership
from tapelog.replication.partition import Partition
from tests.properties.replication_world import history


def shrink_counts_at_once(self: InSync) -> tuple[int, ...]:
    """As if the controller had agreed already."""
    return self.asked.ids if self.asked is not None else self.isr


def anybody_enters(self: Leadership, follower: Any, high_watermark: int, now_ms: int) -> bool:
    """Whether or not it has what is committed."""
    return self.in_sync.asked is None and follower.id not in self.in_sync.isr


def no_followers(self: Leadership, own_end: int, leader_end: int, now_ms: int) -> int:
    """Nobody else counts."""
    return own_end


def goes_back(self: Partition, offset: int) -> None:
    """To whatever the claims say."""
    if 0 <= offset != self.high_watermark:
        self.high_watermark = offset
        while self._parked and self._parked[0].end_offset <= offset:
            entry = self._parked.popleft()
            entry.waiter.committed(entry.index)


def believes_old_images(self: InSync, isr: tuple[int, ...], partition_epoch: int) -> bool:
    """Even if the controller has told us of a newer one."""
    self.asked, self.isr, self.partition_epoch = None, isr, partition_epoch
    return True


@pytest.mark.parametrize(
    ("owner", "name", "mistake"),
    [
        (InSync, "maximal", property(shrink_counts_at_once)),
        (Leadership, "may_enter", anybody_enters),
        (Leadership, "ceiling", no_followers),
        (Partition, "_advance", goes_back),
        (InSync, "learn", believes_old_images),
    ],
)
def test_a_planted_mistake_is_noticed(owner: type, name: str, mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, mistake)
    with pytest.raises(AssertionError):
        for seed in range(200):
            history(seed)
