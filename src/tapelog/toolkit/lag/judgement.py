"""Is a group healthy? Decided from a window of (time, offset, lag) samples, as Burrow does; no thresholds are needed.

Pure: samples in, findings out. `health` gathers the samples. Rules, the first that fits:

| verdict | of a partition |
|---|---|
| ERR | the committed offset lies outside the log: records were removed unread, or the topic was made anew |
| OK | nothing is unread, or was so at some time in the window |
| STOP | something is unread, and for longer than the window's commits span none has come; nobody owns the partition |
| STALL | the same while a live member owns it; or commits come, yet neither offset nor lag gets better |
| REWIND | the offset went back |
| ERR, WARN | the oldest unread record is older than a limit that was given |
| WARN | the offset moves, yet the lag never shrinks from sample to sample and has grown: it only grows |
| OK | anything else |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tapelog.toolkit.lag.values import PartitionLag

SAMPLES_FOR_A_TREND_MIN = 3


class Verdict(StrEnum):
    """How it stands."""

    OK = "OK"
    WARN = "WARN"
    ERR = "ERR"
    STALL = "STALL"
    STOP = "STOP"
    REWIND = "REWIND"


class Cause(StrEnum):
    """What a verdict rests on."""

    CAUGHT_UP = "caught up"
    KEEPS_UP = "keeps up"
    TOO_LITTLE_KNOWN = "too little is known yet"
    NO_COMMIT = "no commit yet"
    MARKERS = "holds markers of Spark's sink"
    REMOVED_UNREAD = "records were removed before they were read"
    BEYOND_THE_END = "committed beyond the end"
    TOO_OLD = "older than the limit"
    GETTING_OLD = "older than the warning limit"
    NO_COMMITS = "no commits any more"
    NOT_MOVING = "the offset does not move"
    WENT_BACK = "the offset went back"
    ONLY_GROWS = "the lag only grows"


@dataclass(frozen=True, slots=True)
class Sample:
    """The committed offset at a moment, and how many offsets it was behind then."""

    at_ms: int
    offset: int
    lag: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The window, and ages that are too great whatever the trend says (None: no such limit)."""

    window_ms: int = 600_000
    warn_age_ms: int | None = None
    err_age_ms: int | None = None


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known about a partition. Samples are in order of time.

    `owned`: a live member has the partition; None where that is not known. `sampled`: samples were taken by us at
    regular times; otherwise they are commits, and their absence tells something.
    """

    lag: PartitionLag
    samples: tuple[Sample, ...]
    now_ms: int
    owned: bool | None = None
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The judgement of one partition. `since_ms` is when the trouble was first seen, where that can be told."""

    verdict: Verdict
    cause: Cause
    lag: PartitionLag
    first: Sample | None = None
    last: Sample | None = None
    since_ms: int | None = None
    owned: bool | None = None


def judge(evidence: Evidence, limits: Limits = DEFAULT_LIMITS) -> Finding:
    """The verdict on one partition."""
    verdict, cause, since_ms = _judge(evidence, limits)
    samples = evidence.samples
    first, last = (samples[0], samples[-1]) if samples else (None, None)
    return Finding(verdict, cause, evidence.lag, first, last, since_ms, evidence.owned)


def _judge(evidence: Evidence, limits: Limits) -> tuple[Verdict, Cause, int | None]:
    lag, samples = evidence.lag, evidence.samples
    if lag.committed is None:
        return Verdict.OK, Cause.NO_COMMIT, None
    if lag.beyond:
        return Verdict.ERR, Cause.BEYOND_THE_END, None
    if lag.lost:
        return Verdict.ERR, Cause.REMOVED_UNREAD, None
    if not lag.records:
        return Verdict.OK, Cause.CAUGHT_UP, None
    still_ms = standing_still_ms(evidence, limits)
    if still_ms is not None:
        cause = Cause.NOT_MOVING if evidence.sampled or evidence.owned else Cause.NO_COMMITS
        verdict = Verdict.STALL if evidence.owned else Verdict.STOP
        return verdict, cause, evidence.now_ms - still_ms
    trend = _trend(samples)
    if trend[0] in (Verdict.OK, Verdict.WARN) and _older(lag, limits.err_age_ms):
        return Verdict.ERR, Cause.TOO_OLD, None
    if trend[0] is Verdict.OK and _older(lag, limits.warn_age_ms):
        return Verdict.WARN, Cause.GETTING_OLD, None
    return trend


def _older(lag: PartitionLag, age_ms: int | None) -> bool:
    return age_ms is not None and lag.age_ms is not None and lag.age_ms > age_ms


def _trend(samples: Sequence[Sample]) -> tuple[Verdict, Cause, int | None]:
    """What the samples alone say."""
    back = next((later for sooner, later in pairwise(samples) if later.offset < sooner.offset), None)
    if any(sample.lag <= 0 for sample in samples):
        return Verdict.OK, Cause.KEEPS_UP, None
    if back is not None:
        return Verdict.REWIND, Cause.WENT_BACK, back.at_ms
    if len(samples) < SAMPLES_FOR_A_TREND_MIN:
        return Verdict.OK, Cause.TOO_LITTLE_KNOWN, None
    shrank = any(later.lag < sooner.lag for sooner, later in pairwise(samples))
    if not shrank and samples[0].offset == samples[-1].offset:
        return Verdict.STALL, Cause.NOT_MOVING, samples[0].at_ms
    if not shrank and samples[-1].lag > samples[0].lag:
        return Verdict.WARN, Cause.ONLY_GROWS, samples[0].at_ms
    return Verdict.OK, Cause.KEEPS_UP, None


def standing_still_ms(evidence: Evidence, limits: Limits) -> int | None:
    """How long the group has stood still while there was something to read; None if it does not stand still.

    Time counts only from when the oldest unread record was written: a group that idles has nothing to commit. Silence
    must be longer than the commits span, and than half of the window, so that rare commits are no alarm.
    """
    samples, now_ms = evidence.samples, evidence.now_ms
    had_work_ms = limits.window_ms if evidence.lag.age_ms is None else evidence.lag.age_ms
    if evidence.sampled:
        if len(samples) < SAMPLES_FOR_A_TREND_MIN or any(one.offset != samples[-1].offset for one in samples):
            return None
        seen_ms = now_ms - samples[0].at_ms
        grew = all(later.lag >= sooner.lag for sooner, later in pairwise(samples))
        return seen_ms if grew and samples[0].lag > 0 and had_work_ms >= seen_ms else None
    silent_ms = now_ms - samples[-1].at_ms if samples else limits.window_ms
    span_ms = samples[-1].at_ms - samples[0].at_ms if samples else 0
    still_ms = min(silent_ms, had_work_ms)
    return still_ms if still_ms > span_ms and still_ms >= limits.window_ms // 2 else None


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """The group's verdict: what all troubled partitions have in common, else ERR; WARN only if nothing is worse."""
    troubled = {verdict for verdict in verdicts if verdict is not Verdict.OK}
    grave = troubled - {Verdict.WARN}
    if not troubled:
        return Verdict.OK
    if not grave:
        return Verdict.WARN
    return next(iter(grave)) if len(grave) == 1 else Verdict.ERR


def thinned(samples: Sequence[Sample], count_max: int) -> tuple[Sample, ...]:
    """At most so many samples, in order of time: the last of each equal stretch of time, and always the first."""
    ordered = sorted(samples, key=lambda sample: sample.at_ms)
    if len(ordered) <= count_max:
        return tuple(ordered)
    begin, span = ordered[0].at_ms, max(1, ordered[-1].at_ms - ordered[0].at_ms)
    kept = {min((one.at_ms - begin) * (count_max - 1) // span, count_max - 2): one for one in ordered}
    return (ordered[0], *(kept[number] for number in sorted(kept)))
