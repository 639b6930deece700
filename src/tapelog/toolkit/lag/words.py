"""Findings in plain words: what is the matter with a partition, and what to do next. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tapelog.base.durations import format_duration
from tapelog.toolkit.lag.judgement import Cause, Finding, Verdict
from tapelog.toolkit.lag.values import PartitionLag


@dataclass(frozen=True, slots=True)
class Owner:
    """The member that has a partition."""

    member_id: str
    client_id: str = ""
    host: str = ""

    def __str__(self) -> str:
        return f"{self.client_id or self.member_id} at {self.host}" if self.host else self.client_id or self.member_id


def matter(finding: Finding, now_ms: int, owner: Owner | None = None) -> str:
    """What is the matter, in one sentence without an end."""
    lag, first, last = finding.lag, finding.first, finding.last
    behind = _behind(lag)
    since = "" if finding.since_ms is None else f" for {format_duration(max(0, now_ms - finding.since_ms))}"
    match finding.cause:
        case Cause.CAUGHT_UP:
            return "caught up"
        case Cause.KEEPS_UP:
            return f"keeps up, {behind}"
        case Cause.TOO_LITTLE_KNOWN:
            return f"{behind}; too few commits yet for a trend"
        case Cause.NO_COMMIT:
            return "the group has not committed here yet"
        case Cause.MARKERS:
            return "a marker of Spark's exactly-once sink: nobody reads through this group"
        case Cause.REMOVED_UNREAD:
            return f"{lag.lost:,} records were removed before the group read them"
        case Cause.BEYOND_THE_END:
            return f"the committed offset {lag.committed} lies {lag.beyond:,} beyond the end of the log"
        case Cause.TOO_OLD | Cause.GETTING_OLD:
            return f"the oldest unread record is {format_duration(lag.age_ms or 0)} old"
        case Cause.NO_COMMITS:
            return f"no commits{since}, {behind}"
        case Cause.NOT_MOVING:
            who = f"{owner} owns it and stands" if owner is not None else "stands"
            return f"{who} still at offset {lag.committed}{since}, {behind}"
        case Cause.WENT_BACK:
            return f"the committed offset went back{f' to {last.offset}' if last else ''}, {behind}"
        case Cause.ONLY_GROWS:
            grown = f" from {first.lag:,} to {last.lag:,} records" if first and last else ""
            return f"the lag only grows:{grown}{since.replace(' for ', ' within ')}"


def advice(finding: Finding, group: str) -> str:
    """What to do next; empty where nothing needs doing."""
    lag = finding.lag
    place = f"{lag.topic}:{lag.partition}"
    reset = f"tape group reset {group} --topic {place}"
    match finding.cause:
        case Cause.REMOVED_UNREAD:
            return (
                f"they are gone: give the group more time (`tape config set topic {lag.topic} retention.ms=…`) "
                f"or more consumers; `{reset} --to-earliest` accepts the loss"
            )
        case Cause.BEYOND_THE_END:
            return f"the topic was made anew or truncated: `{reset} --to-earliest`, or --to-latest"
        case Cause.NO_COMMITS:
            return (
                "nobody reads it: start the group's consumers"
                if finding.owned is False
                else f"see whether its consumers live and commit: `tape group members {group}`"
            )
        case Cause.NOT_MOVING:
            stuck = lag.oldest.offset if lag.oldest is not None else lag.next_offset or 0
            if finding.verdict is Verdict.STOP:
                return "nobody owns it: start the group's consumers"
            return (
                f"look at that consumer's log; see the record: "
                f"`tape consume {lag.topic} -p {lag.partition} --offset {stuck} -n 1`; "
                f"to skip it, stop the group and `{reset} --to-offset {stuck + 1}`"
            )
        case Cause.WENT_BACK:
            return "somebody reset the group, or two programs commit for the same partition"
        case Cause.ONLY_GROWS | Cause.TOO_OLD | Cause.GETTING_OLD:
            return (
                f"more arrives than is read: add consumers (up to one per partition of {lag.topic}), or speed them up"
            )
        case _:
            return ""


def _behind(lag: PartitionLag) -> str:
    records = lag.records or 0
    age = "" if lag.age_ms is None else f" ({format_duration(lag.age_ms)})"
    return f"{records:,} record{'' if records == 1 else 's'} behind{age}"
