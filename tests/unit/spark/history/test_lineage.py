"""Where the leader's history leaves the tier's."""

from __future__ import annotations

import pytest

from tapelog.spark.history.planning import shared_until
from tapelog.spark.history.shelves import Found
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
