"""Lag as arithmetic: records, ages, totals."""

from __future__ import annotations

from tapelog.cli.lag import PartitionLag, totals, with_age


def test_lag_counts_what_is_kept_and_not_committed() -> None:
    assert PartitionLag("t", 0, 40, 0, 100).records == 60
    assert PartitionLag("t", 0, 100, 0, 100).records == 0


def test_what_retention_removed_is_no_lag_any_more() -> None:
    lag = PartitionLag("t", 0, 10, 50, 100)
    assert (lag.records, lag.next_offset) == (50, 50)


def test_without_a_commit_everything_is_still_to_be_read() -> None:
    lag = PartitionLag("t", 0, None, 5, 9)
    assert (lag.records, lag.next_offset) == (4, 5)


def test_age_is_that_of_the_oldest_unread_record() -> None:
    behind, done = PartitionLag("t", 0, 0, 0, 3), PartitionLag("t", 1, 3, 0, 3)
    assert with_age(behind, 1_000, 4_500).age_ms == 3_500
    assert with_age(behind, 9_000, 4_500).age_ms == 0, "a clock ahead of ours makes no negative lag"
    assert with_age(behind, None, 4_500).age_ms is None
    assert with_age(done, None, 4_500).age_ms == 0


def test_a_group_is_as_late_as_its_latest_partition() -> None:
    lags = [PartitionLag("t", 0, 1, 0, 3, 70), PartitionLag("t", 1, 0, 0, 3, 900), PartitionLag("t", 2, 3, 0, 3, 0)]
    assert totals(lags) == (5, 900)
    assert totals([]) == (0, 0)
    assert totals([PartitionLag("t", 0, 0, 0, 3, None)]) == (3, None)
