"""Where two logs part: whatever both wrote, a follower that cuts where it is told to ends up with a common prefix."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.log.config import LogConfig
from tapelog.log.log import REPLICATION, Log
from tapelog.replication.divergence import meeting_point, truncation_point
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch

EPOCHS_MAX = 200


def log_of(epochs: list[int]) -> Log:
    """A log with one record per epoch named, in order."""
    disk = SimDisk(SimEntropy(1))
    disk.mkdir("t-0")
    log = Log.open(disk, "t-0", topic="t", partition=0, config=LogConfig(None), clock=SimClock())
    for offset, epoch in enumerate(epochs):
        batch = build_batch([Record(0, 1, b"k", b"v")], base_offset=offset, leader_epoch=epoch)
        log.append(batch, 0, len(batch), EPOCHS_MAX, REPLICATION)
    log.write()
    return log


def answer(leader: Log, offset: int, epoch: int) -> tuple[int, int] | None:
    """What a leader says to a fetch from offset behind a record of that epoch; None: it has that record, too."""
    known, end = leader.epoch_end_offset(epoch)
    return (known, end) if known < epoch or end < offset else None


histories = st.lists(st.integers(0, 2), min_size=1, max_size=12).map(
    lambda steps: [sum(steps[: number + 1]) for number in range(len(steps))]
)


@settings(deadline=None)
@given(shared=histories, own=histories, leaders=histories)
def test_a_follower_meets_its_leader_and_never_cuts_what_both_have(
    shared: list[int], own: list[int], leaders: list[int]
) -> None:
    top = shared[-1]
    ours = shared + [top + 1 + 2 * epoch for epoch in own]  # odd and even: no epoch has two leaders
    theirs = shared + [top + 2 + 2 * epoch for epoch in leaders] + [top + 60]
    follower, leader = log_of(ours), log_of(theirs)
    for _ in range(len(ours) + 1):
        end = follower.end_offset
        said = answer(leader, end, follower.leader_epoch_cache.epoch_for(end - 1))
        if said is None:
            break
        at = truncation_point(follower, *said)
        assert len(shared) <= at < end, "it cuts something, and nothing of what is shared"
        follower.truncate_to(at)
    assert follower.end_offset == len(shared)


def log_ending_at(count: int, epoch: int) -> Log:
    return log_of([epoch] * count)


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ((3, 5), 5),  # the same epoch, which ended earlier over there
        ((3, 50), 10),  # there it went on: nothing of ours is too much
        ((-1, 4), 4),  # it knows no such epoch, but where its log ends
        ((2, 6), 0),  # all that we have is newer
    ],
)
def test_the_leaders_last_word_on_an_epoch_says_where_to_cut(said: tuple[int, int], at: int) -> None:
    assert truncation_point(log_ending_at(10, 3), *said) == at


def test_a_log_out_of_range_begins_anew_or_is_cut() -> None:
    behind, ahead = meeting_point(5, 100, 200), meeting_point(250, 100, 200)
    assert behind is not None
    assert (behind.offset, behind.start_anew) == (100, True)
    assert ahead is not None
    assert (ahead.offset, ahead.start_anew) == (200, False)
    for within in (100, 150, 200):
        assert meeting_point(within, 100, 200) is None


def test_a_log_without_known_epochs_is_cut_to_the_leaders_end_at_most() -> None:
    log = log_ending_at(10, 3)
    log.leader_epoch_cache.clear()
    assert truncation_point(log, 2, 6) == 6
    assert truncation_point(log, 2, 60) == 10


def test_epoch_zero_is_an_epoch_like_any_other() -> None:
    log = log_of([0, 0, 0, 1, 1])
    assert truncation_point(log, 0, 9) == 3
    assert truncation_point(log, -1, 9) == 5
