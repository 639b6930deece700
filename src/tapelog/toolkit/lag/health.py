"""Gathers what `judgement` needs — lag now, and a window of samples — and has every partition judged.

History comes from `__consumer_offsets` where that can be read: commits tell offset and time, and the end of the log at
that time is the first record written since (ListOffsets by time). Where it cannot be read, samples are taken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.lag.clients import ask_offsets, told_offsets
from tapelog.toolkit.lag.commits import CommitLog, read_commits
from tapelog.toolkit.lag.judgement import (
    DEFAULT_LIMITS,
    Cause,
    Evidence,
    Finding,
    Limits,
    Sample,
    Verdict,
    judge,
    overall,
    thinned,
)
from tapelog.toolkit.lag.measure import TIMEOUT_S, LagReader
from tapelog.toolkit.lag.members import Membership, memberships
from tapelog.toolkit.lag.oldest import turns
from tapelog.toolkit.lag.values import GroupLag, Isolation, PartitionLag, Place

SAMPLES_MAX = 10
SAMPLE_S_DEFAULT = 30.0
SAMPLES_LIVE = 10

Samples = Mapping[tuple[str, Place], tuple[Sample, ...]]


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """The judgement of a group: its own, and each partition's. `history` is `commits` or `samples`."""

    group: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    membership: Membership
    missing: tuple[Place, ...] = ()
    history: str = "commits"
    judged_ms: int = 0


class HealthReader:
    """Judges groups of one cluster; keeps its connections. One thread at a time.

    `notice` is told when groups have to be watched because their past commits cannot be read.
    """

    def __init__(
        self,
        cluster: Cluster,
        reader: LagReader,
        limits: Limits = DEFAULT_LIMITS,
        *,
        sample_s: float | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._limits = limits
        self._sample_s = sample_s
        self._notice = notice

    def judge(self, groups: Iterable[str], sleep: Callable[[float], None] = time.sleep) -> dict[str, GroupHealth]:
        """Judge groups: at once from their commits, or by sampling where commits cannot be read (or `sample_s`)."""
        wanted = list(dict.fromkeys(groups))
        if not wanted:
            return {}
        log = None if self._sample_s is not None else self._commits(wanted)
        members = memberships(self._reader.admin, wanted, self._reader.timeout_s)
        more = {group: tuple(found.owners) for group, found in members.items()}
        if log is not None:
            lags = self._reader.measure(wanted, more)
            samples: Samples = self._from_commits(lags, log)
        else:
            lags, samples = self._sampled(wanted, more, sleep)
        now_ms = round(time.time() * 1000)
        return {
            group: judged(lags[group], samples, members.get(group, Membership()), self._limits, now_ms, log is None)
            for group in wanted
        }

    def _commits(self, groups: list[str]) -> CommitLog | None:
        since_ms = round(time.time() * 1000) - self._limits.window_ms
        log = read_commits(self._cluster, self._reader.admin, groups, since_ms, timeout_s=self._reader.timeout_s)
        return log if log is not None and log.whole else None

    def _from_commits(self, lags: Mapping[str, GroupLag], log: CommitLog) -> Samples:
        """Commits as samples. Only partitions that lag need them: the others are judged without."""
        histories: dict[tuple[str, Place], tuple[PartitionLag, tuple[Sample, ...]]] = {}
        for group, found in lags.items():
            for lag in found.partitions:
                place = (lag.topic, lag.partition)
                commits = [Sample(commit.at_ms, commit.offset, 0) for commit in log.of(group, place)]
                if lag.records and commits:
                    histories[group, place] = (lag, thinned(commits, SAMPLES_MAX))
        questions = [(place, one.at_ms) for (_, place), (_, history) in histories.items() for one in history]
        ends = self._ends_at(questions)
        return {
            key: tuple(
                Sample(one.at_ms, one.offset, lag_then(one, lag, ends.get((key[1], one.at_ms)))) for one in history
            )
            for key, (lag, history) in histories.items()
        }

    def _ends_at(self, questions: list[tuple[Place, int]]) -> dict[tuple[Place, int], int]:
        reader, found = self._reader, dict[tuple[Place, int], int]()
        asked = [
            (turn, ask_offsets(reader.admin, _at_times(turn), reader.isolation, reader.timeout_s))
            for turn in turns(questions)
        ]
        for turn, futures in asked:
            told = told_offsets(futures, reader.timeout_s)
            found.update({(place, turn[place]): offset for place, offset in told.items()})
        return found

    def _sampled(
        self, groups: list[str], more: Mapping[str, tuple[Place, ...]], sleep: Callable[[float], None]
    ) -> tuple[dict[str, GroupLag], Samples]:
        if self._sample_s is None and self._notice is not None:
            self._notice(
                f"past commits cannot all be read from __consumer_offsets: watching for {SAMPLE_S_DEFAULT:g} s"
            )
        every_s = (self._sample_s if self._sample_s is not None else SAMPLE_S_DEFAULT) / SAMPLES_LIVE
        taken: dict[tuple[str, Place], list[Sample]] = {}
        lags: dict[str, GroupLag] = {}
        for number in range(SAMPLES_LIVE + 1):
            if number:
                sleep(every_s)
            lags = self._reader.measure(groups, more)
            for group, found in lags.items():
                for lag in found.partitions:
                    if lag.committed is not None:
                        sample = Sample(lag.measured_ms, lag.committed, lag.records or 0)
                        taken.setdefault((group, (lag.topic, lag.partition)), []).append(sample)
        return lags, {key: tuple(samples) for key, samples in taken.items()}


def _at_times(turn: Mapping[Place, int]) -> dict[Place, OffsetSpec]:
    """What was written in the same millisecond was there already."""
    return {place: OffsetSpec.for_timestamp(at_ms + 1) for place, at_ms in turn.items()}


def lag_then(commit: Sample, lag: PartitionLag, end_then: int | None) -> int:
    """How far a commit was behind when it was made: up to the first record written since, or the end if none was."""
    end = lag.end if end_then is None or end_then < 0 else end_then
    return max(0, end - commit.offset)


def judged(
    lag: GroupLag, samples: Samples, membership: Membership, limits: Limits, now_ms: int, sampled: bool
) -> GroupHealth:
    """Every partition judged, and the group by them."""
    findings = []
    for part in lag.partitions:
        place = (part.topic, part.partition)
        evidence = Evidence(part, samples.get((lag.group, place), ()), now_ms, membership.owned(place), sampled)
        findings.append(Finding(Verdict.OK, Cause.MARKERS, part) if lag.markers else judge(evidence, limits))
    verdict = overall([finding.verdict for finding in findings])
    history = "samples" if sampled else "commits"
    return GroupHealth(lag.group, verdict, tuple(findings), membership, lag.missing, history, now_ms)


def group_health(
    cluster: Cluster,
    groups: Iterable[str] | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolation: Isolation = "read_committed",
    sample_s: float | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, GroupHealth]:
    """Judge groups: unless named, all that read (not those that hold markers of Spark's sink). KafkaException if the
    cluster refuses.

    With `sample_s`, or where `__consumer_offsets` cannot be read, it watches for that long before it judges.
    """
    with LagReader(cluster, isolation=isolation, timeout_s=timeout_s) as reader:
        wanted = reader.groups() if groups is None else list(groups)
        return HealthReader(cluster, reader, limits, sample_s=sample_s).judge(wanted)


async def group_health_async(
    cluster: Cluster,
    groups: Iterable[str] | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolation: Isolation = "read_committed",
    sample_s: float | None = None,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, GroupHealth]:
    """`group_health` without holding up the event loop."""
    wanted = None if groups is None else list(groups)
    return await asyncio.to_thread(
        group_health, cluster, wanted, limits=limits, isolation=isolation, sample_s=sample_s, timeout_s=timeout_s
    )
