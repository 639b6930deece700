"""The judgement of partitions and groups, rule by rule, and what must hold whatever the samples."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.toolkit.lag.judgement import (
    Cause,
    Evidence,
    Limits,
    Sample,
    Verdict,
    judge,
    overall,
    thinned,
)
from tapelog.toolkit.lag.values import Oldest, PartitionLag

NOW = 10_000_000
MINUTE = 60_000
LIMITS = Limits(window_ms=10 * MINUTE)


def partition(
    committed: int | None = 100, end: int = 150, *, start: int = 0, age_ms: int | None = 9 * MINUTE
) -> PartitionLag:
    oldest = None if age_ms is None else Oldest(committed or 0, NOW - age_ms)
    return PartitionLag("t", 0, committed, start, end, oldest=oldest, measured_ms=NOW)


def samples(*values: tuple[float, int, int]) -> tuple[Sample, ...]:
    """(minutes ago, offset, lag)."""
    return tuple(Sample(NOW - round(ago * MINUTE), offset, lag) for ago, offset, lag in values)


def verdict(evidence: Evidence, limits: Limits = LIMITS) -> tuple[Verdict, Cause]:
    found = judge(evidence, limits)
    return found.verdict, found.cause


def steady(*values: tuple[float, int, int], owned: bool | None = True) -> Evidence:
    return Evidence(partition(), samples(*values), NOW, owned)


def test_a_group_that_has_caught_up_is_fine_whatever_happened_before() -> None:
    lag = partition(150)
    assert verdict(Evidence(lag, samples((8, 90, 5), (7, 50, 50)), NOW, False)) == (Verdict.OK, Cause.CAUGHT_UP)


def test_a_lag_that_was_nothing_in_the_window_is_fine() -> None:
    assert verdict(steady((5, 80, 10), (3, 90, 0), (1, 100, 50))) == (Verdict.OK, Cause.KEEPS_UP)


def test_a_lag_that_shrinks_at_times_is_fine() -> None:
    assert verdict(steady((5, 80, 40), (3, 90, 60), (1, 100, 50))) == (Verdict.OK, Cause.KEEPS_UP)


def test_a_lag_that_only_grows_is_a_warning() -> None:
    found = judge(steady((5, 80, 10), (3, 90, 30), (1, 100, 50)), LIMITS)
    assert (found.verdict, found.cause, found.since_ms) == (Verdict.WARN, Cause.ONLY_GROWS, NOW - 5 * MINUTE)


def test_a_lag_that_stays_the_same_while_the_offset_moves_is_fine() -> None:
    assert verdict(steady((5, 80, 50), (3, 90, 50), (1, 100, 50))) == (Verdict.OK, Cause.KEEPS_UP)


def test_commits_that_repeat_the_same_offset_are_a_stall() -> None:
    assert verdict(steady((5, 100, 10), (3, 100, 30), (1, 100, 50))) == (Verdict.STALL, Cause.NOT_MOVING)


def test_an_offset_that_went_back_is_a_rewind() -> None:
    found = judge(steady((5, 180, 10), (3, 90, 30), (1, 100, 50)), LIMITS)
    assert (found.verdict, found.since_ms) == (Verdict.REWIND, NOW - 3 * MINUTE)


def test_silence_longer_than_the_commits_span_is_a_stop() -> None:
    values = ((9, 80, 10), (8, 90, 30), (7, 100, 50))
    assert verdict(steady(*values, owned=False)) == (Verdict.STOP, Cause.NO_COMMITS)
    assert verdict(steady(*values, owned=None)) == (Verdict.STOP, Cause.NO_COMMITS)


def test_silence_of_a_partition_that_somebody_owns_is_a_stall() -> None:
    found = judge(steady((9, 80, 10), (8, 90, 30), (7, 100, 50), owned=True), LIMITS)
    assert (found.verdict, found.cause, found.since_ms) == (Verdict.STALL, Cause.NOT_MOVING, NOW - 7 * MINUTE)


def test_no_commit_in_the_whole_window_is_a_stop_if_there_was_something_to_read() -> None:
    assert verdict(Evidence(partition(), (), NOW, False))[0] is Verdict.STOP
    assert verdict(Evidence(partition(age_ms=None), (), NOW, False))[0] is Verdict.STOP


def test_a_group_that_idled_is_not_stopped_because_a_record_has_just_come() -> None:
    just_now = partition(age_ms=1000)
    assert verdict(Evidence(just_now, (), NOW, False)) == (Verdict.OK, Cause.TOO_LITTLE_KNOWN)
    assert verdict(Evidence(just_now, samples((9, 100, 1)), NOW, True)) == (Verdict.OK, Cause.TOO_LITTLE_KNOWN)


def test_rare_commits_are_no_alarm() -> None:
    assert verdict(steady((4.9, 100, 50), owned=True)) == (Verdict.OK, Cause.TOO_LITTLE_KNOWN)


def test_what_lies_outside_the_log_is_an_error() -> None:
    assert verdict(Evidence(partition(100, start=120), (), NOW)) == (Verdict.ERR, Cause.REMOVED_UNREAD)
    assert verdict(Evidence(partition(200), (), NOW)) == (Verdict.ERR, Cause.BEYOND_THE_END)


def test_without_a_commit_there_is_nothing_to_judge() -> None:
    assert verdict(Evidence(partition(None), (), NOW)) == (Verdict.OK, Cause.NO_COMMIT)


def test_samples_of_our_own_show_a_stall_or_a_stop_by_who_owns_it() -> None:
    taken = samples((0.5, 100, 20), (0.3, 100, 30), (0, 100, 50))
    assert verdict(Evidence(partition(), taken, NOW, True, sampled=True)) == (Verdict.STALL, Cause.NOT_MOVING)
    assert verdict(Evidence(partition(), taken, NOW, False, sampled=True)) == (Verdict.STOP, Cause.NOT_MOVING)
    fresh = Evidence(partition(age_ms=10_000), taken, NOW, True, sampled=True)
    assert verdict(fresh)[0] is not Verdict.STOP


def test_limits_judge_by_age_alone_and_do_not_hide_what_is_more_precise() -> None:
    calm = steady((5, 80, 40), (3, 90, 60), (1, 100, 50))
    assert verdict(calm, replace(LIMITS, warn_age_ms=MINUTE)) == (Verdict.WARN, Cause.GETTING_OLD)
    assert verdict(calm, replace(LIMITS, warn_age_ms=MINUTE, err_age_ms=2 * MINUTE)) == (Verdict.ERR, Cause.TOO_OLD)
    stalled = steady((5, 100, 10), (3, 100, 30), (1, 100, 50))
    assert verdict(stalled, replace(LIMITS, err_age_ms=1))[0] is Verdict.STALL


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Verdict.OK),
        ([Verdict.OK, Verdict.WARN], Verdict.WARN),
        ([Verdict.STALL, Verdict.WARN, Verdict.OK], Verdict.STALL),
        ([Verdict.STOP, Verdict.STOP], Verdict.STOP),
        ([Verdict.STOP, Verdict.STALL], Verdict.ERR),
    ],
)
def test_a_group_has_the_verdict_its_troubled_partitions_share(verdicts: list[Verdict], expected: Verdict) -> None:
    assert overall(verdicts) is expected


SAMPLES = st.lists(
    st.builds(Sample, st.integers(0, 20 * MINUTE).map(lambda ago: NOW - ago), st.integers(0, 200), st.integers(0, 200)),
    max_size=12,
).map(lambda found: tuple(sorted(found, key=lambda one: one.at_ms)))
EVIDENCE = st.builds(
    Evidence,
    st.builds(
        partition,
        st.none() | st.integers(0, 200),
        st.integers(0, 200),
        start=st.integers(0, 20),
        age_ms=st.none() | st.integers(0, 20 * MINUTE),
    ),
    SAMPLES,
    st.just(NOW),
    st.none() | st.booleans(),
    st.booleans(),
)


@given(EVIDENCE)
def test_every_verdict_is_borne_out_by_the_evidence(evidence: Evidence) -> None:
    found, lag, taken = judge(evidence, LIMITS), evidence.lag, evidence.samples
    if lag.lost or lag.beyond:
        assert found.verdict is Verdict.ERR
    elif not lag.records:
        assert found.verdict is Verdict.OK
    match found.verdict:
        case Verdict.REWIND:
            assert any(later.offset < sooner.offset for sooner, later in pairwise(taken))
        case Verdict.WARN:
            assert taken[-1].lag > taken[0].lag > 0 and taken[-1].offset > taken[0].offset
            assert all(later.lag >= sooner.lag for sooner, later in pairwise(taken))
        case Verdict.STOP:
            assert not evidence.owned
        case Verdict.STALL:
            assert evidence.owned or taken[0].offset == taken[-1].offset


@given(EVIDENCE, st.integers(-(10**9), 10**9))
def test_only_differences_of_time_count(evidence: Evidence, shift: int) -> None:
    oldest = evidence.lag.oldest
    moved = Evidence(
        replace(
            evidence.lag,
            measured_ms=NOW + shift,
            oldest=oldest and replace(oldest, timestamp_ms=(oldest.timestamp_ms or 0) + shift),
        ),
        tuple(replace(one, at_ms=one.at_ms + shift) for one in evidence.samples),
        NOW + shift,
        evidence.owned,
        evidence.sampled,
    )
    assert verdict(moved) == verdict(evidence)


@given(st.lists(st.sampled_from(list(Verdict))))
def test_a_group_is_fine_exactly_when_all_its_partitions_are(verdicts: list[Verdict]) -> None:
    assert (overall(verdicts) is Verdict.OK) == all(one is Verdict.OK for one in verdicts)
    grave = [one for one in verdicts if one not in (Verdict.OK, Verdict.WARN)]
    assert (overall(verdicts) not in (Verdict.OK, Verdict.WARN)) == bool(grave)


@given(st.lists(st.builds(Sample, st.integers(0, 10**6), st.integers(0, 99), st.just(1))), st.integers(3, 12))
def test_thinning_keeps_order_first_and_last(taken: list[Sample], count: int) -> None:
    kept = thinned(taken, count)
    assert len(kept) <= max(count, 1)
    assert list(kept) == sorted(kept, key=lambda one: one.at_ms)
    if taken:
        assert kept[0].at_ms == min(one.at_ms for one in taken)
        assert kept[-1].at_ms == max(one.at_ms for one in taken)
