"""What of a log is worth cleaning: Kafka's rules, one by one."""

from __future__ import annotations

import pytest

from tapelog.log.compaction.plan import Bounds, CleaningPlan, Source, groups, plan
from tapelog.log.config import LogConfig

NOW = 1_000_000
FAR = 10**15


def segments(*sizes: int, step: int = 100, newest: int = 5) -> list[Source]:
    """Segments of those sizes, a hundred offsets each; the last one is active."""
    return [
        Source(number * step, size, f"{number}", newest_timestamp=newest, first_timestamp=newest)
        for number, size in enumerate(sizes)
    ]


def decide(
    found: list[Source],
    *,
    checkpoint: int | None = None,
    start: int = 0,
    stable: int = FAR,
    recovery_point: int = FAR,
    end: int = 10_000,
    **settings: str,
) -> CleaningPlan | None:
    config = LogConfig({name.replace("_", "."): value for name, value in settings.items()})
    return plan(found, config, Bounds(start, end, stable, recovery_point), checkpoint, NOW)


def test_a_log_never_cleaned_is_dirty_up_to_its_active_segment() -> None:
    found = decide(segments(10, 20, 30))
    assert found is not None
    assert (found.first_dirty, found.first_uncleanable, found.dirty_bytes, found.clean_bytes) == (0, 200, 30, 0)
    assert found.ratio == 1.0


def test_a_log_of_one_segment_is_left_alone() -> None:
    assert decide(segments(10)) is None


def test_the_dirty_part_begins_at_the_checkpoint() -> None:
    found = decide(segments(10, 20, 30), checkpoint=100)
    assert found is not None
    assert (found.first_dirty, found.dirty_bytes, found.clean_bytes, found.reset) == (100, 20, 10, False)


@pytest.mark.parametrize("checkpoint", [5, 10_001])
def test_a_checkpoint_out_of_range_is_reset_to_the_start(checkpoint: int) -> None:
    found = decide(segments(10, 20, 30), checkpoint=checkpoint, start=50)
    assert found is not None
    assert (found.first_dirty, found.reset) == (50, True)


def test_a_log_below_the_dirty_ratio_waits() -> None:
    assert decide(segments(20, 20, 30), checkpoint=100) is None
    assert decide(segments(20, 21, 30), checkpoint=100) is not None
    assert decide(segments(20, 20, 30), checkpoint=100, min_cleanable_dirty_ratio="0.4") is not None


@pytest.mark.parametrize("bound", ["stable", "recovery_point"])
def test_a_segment_that_is_not_wholly_below_a_bound_is_not_cleaned(bound: str) -> None:
    at_end = decide(segments(10, 20, 30, 40), **{bound: 200})  # type: ignore[arg-type]
    within = decide(segments(10, 20, 30, 40), **{bound: 199})  # type: ignore[arg-type]
    assert at_end is not None
    assert within is not None
    assert (at_end.first_uncleanable, within.first_uncleanable) == (200, 100)
    assert decide(segments(10, 20, 30, 40), **{bound: 99}) is None  # type: ignore[arg-type]


def test_records_younger_than_the_lag_are_not_cleaned() -> None:
    found = segments(10, 20, 30)
    found[1] = Source(100, 20, newest_timestamp=NOW - 50)
    young = decide(found, min_compaction_lag_ms="60")
    old = decide(found, min_compaction_lag_ms="50")
    assert young is not None
    assert old is not None
    assert (young.first_uncleanable, old.first_uncleanable) == (100, 200)


def test_a_log_waiting_longer_than_the_greatest_lag_is_cleaned_at_any_ratio() -> None:
    found = [Source(0, 1000), Source(100, 1, first_timestamp=NOW - 500), Source(200, 5)]
    assert decide(found, checkpoint=100) is None
    assert decide(found, checkpoint=100, max_compaction_lag_ms="500") is None
    overdue = decide(found, checkpoint=100, max_compaction_lag_ms="400")
    assert overdue is not None
    assert overdue.overdue_ms == 100


def test_neighbours_are_grouped_up_to_the_size_of_a_segment() -> None:
    config = LogConfig({"segment.bytes": "30"})
    found = groups(segments(10, 20, 1, 29, 40), config, 500)
    assert [[source.size for source in group] for group in found] == [[10, 20], [1, 29], [40]]


@pytest.mark.parametrize("index", ["index_bytes", "time_index_bytes"])
def test_groups_respect_the_size_of_an_index(index: str) -> None:
    config = LogConfig({"segment.index.bytes": "100"})
    found = [Source(number, 1, **{index: 60}) for number in range(3)]  # type: ignore[arg-type]
    assert [len(group) for group in groups(found, config, 3)] == [1, 1, 1]


def test_groups_keep_offsets_within_31_bits() -> None:
    wide = segments(1, 1, 1, step=2**30)
    assert [len(group) for group in groups(wide, LogConfig(), 3 * 2**30)] == [2, 1]
    assert [len(group) for group in groups(wide[:2], LogConfig(), 2**31 + 1)] == [1, 1]
