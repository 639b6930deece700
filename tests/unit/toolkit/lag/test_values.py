"""Lag as arithmetic: records, ages, totals."""

from __future__ import annotations

from tapelog.toolkit.lag.measure import with_oldest
from tapelog.toolkit.lag.values import GroupLag, Oldest, PartitionLag

PLACE = ("t", 0)


def lag(committed: int | None, start: int, end: int, oldest: Oldest | None = None, **more: int) -> PartitionLag:
    return PartitionLag(*PLACE, committed, start, end, oldest=oldest, **more)  # type: ignore[arg-type]


def test_lag_counts_what_is_kept_and_not_committed() -> None:
    assert lag(40, 0, 100).records == 60
    assert lag(100, 0, 100).records == 0


def test_what_retention_removed_is_no_lag_any_more_but_lost() -> None:
    found = lag(10, 50, 100)
    assert (found.records, found.next_offset, found.lost) == (50, 50, 40)
    assert "removed" in lag(10, 50, 50).why


def test_without_a_commit_nothing_can_be_told() -> None:
    found = lag(None, 5, 9)
    assert (found.records, found.next_offset, found.age_ms) == (None, None, None)
    assert found.why == "no commit yet"


def test_age_is_that_of_the_oldest_unread_record() -> None:
    found = {(PLACE, 2): Oldest(2, 1_000)}
    assert with_oldest(lag(2, 0, 5), found, 4_500).age_ms == 3_500
    assert with_oldest(lag(2, 0, 5), found, 500).age_ms == 0, "a clock ahead of ours makes no negative lag"
    assert with_oldest(lag(5, 0, 5), found, 4_500).age_ms == 0, "nothing unread"


def test_an_age_that_cannot_be_told_says_why() -> None:
    missing = with_oldest(lag(2, 0, 5), {}, 4_500)
    assert (missing.records, missing.age_ms, missing.why) == (3, None, "not read in time")
    bare = with_oldest(lag(2, 0, 5), {(PLACE, 2): Oldest(2)}, 4_500)
    assert (bare.records, bare.age_ms, bare.why) == (3, None, "record has no timestamp")


def test_where_only_gaps_are_left_nothing_is_unread() -> None:
    """Transaction markers and aborted records have offsets, and no reader ever sees them."""
    found = with_oldest(lag(2, 0, 5), {(PLACE, 2): Oldest(5, is_end=True)}, 4_500)
    assert (found.records, found.age_ms, found.why) == (0, 0, "")


def test_a_record_written_after_the_end_was_asked_is_not_counted() -> None:
    found = with_oldest(lag(2, 0, 5), {(PLACE, 2): Oldest(7, 4_000)}, 4_500)
    assert (found.records, found.age_ms) == (0, 0)


def test_an_end_before_the_end_proves_nothing() -> None:
    found = with_oldest(lag(2, 0, 5), {(PLACE, 2): Oldest(3, is_end=True)}, 4_500)
    assert (found.records, found.age_ms) == (3, None)


def test_a_commit_after_the_end_is_told_and_open_transactions_are_not_the_end() -> None:
    assert lag(12, 0, 10).beyond == 2 and lag(12, 0, 10).records == 0
    held = lag(12, 0, 10, held=5)
    assert (held.beyond, held.records) == (0, 0) and "open transactions" in held.why


def test_a_group_is_as_late_as_its_latest_partition() -> None:
    late = lag(1, 0, 3, Oldest(1, 100), measured_ms=1_000)
    later = lag(0, 0, 3, Oldest(0, 50), measured_ms=1_000)
    done = lag(3, 0, 3)
    group = GroupLag("g", (late, later, done, lag(None, 0, 9)))
    assert (group.records, group.seconds) == (5, 0.95)
    assert GroupLag("g").seconds == 0.0
    assert GroupLag("g", (lag(0, 0, 3),)).seconds is None
