"""Where the leader's history leaves the tier's, and where a gap ends it."""

from __future__ import annotations

import pytest

from tapelog.log.tier.manifest import SegmentEntry
from tapelog.spark.history.planning import shared_until
from tapelog.spark.history.shelves import Found, _without_gap
from tapelog.spark.plan.stored import History

FOUND = Found(History((), 200), 7, ((3, 0), (4, 100), (6, 150)))


@pytest.mark.parametrize(
    ("epoch", "end_offset", "shared"),
    [
        (6, 500, 200),  # it has all of it
        (6, 180, 180),  # it was cut within the newest epoch
        (4, 150, 150),  # it never had epoch 6
        (4, 170, 150),  # nor had it what the tier has from 150 on, though its epoch 4 goes further
        (3, 90, 90),
        (2, 40, 0),  # the tier begins with an epoch that it does not know
        (-1, -1, 0),
    ],
)
def test_only_what_the_leader_shares_is_read_from_the_tier(epoch: int, end_offset: int, shared: int) -> None:
    assert shared_until(FOUND, epoch, end_offset) == shared


def entry(first: int, end: int) -> SegmentEntry:
    return SegmentEntry(f"o{first}", first, first, end, 0, 0, 100, (0, 0, 0, 0, 0), 0, 0, ())


def test_behind_a_gap_brokers_are_asked_since_markers_may_have_been_in_it() -> None:
    entries = [entry(10, 20), entry(20, 35), entry(40, 50), entry(50, 60)]
    assert [one.first_offset for one in _without_gap(iter(entries))] == [10, 20]
