"""Where a query begins and where a batch ends: the options, by Spark's order of preference, as one value each.

A timestamp for all partitions wins over timestamps by partition, and these over offsets; what is outdone is not even
looked at, as in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tapelog.spark.plan.errors import OptionError, listed
from tapelog.spark.plan.given import Given
from tapelog.spark.plan.offsets import (
    OFFSETS_EXAMPLE,
    TIMESTAMPS_EXAMPLE,
    offsets_from_json,
    timestamps_from_json,
)
from tapelog.spark.plan.values import EARLIEST, LATEST, TopicPartition

STAYING_EXAMPLE: Final = '{"orders":{"0":23,"1":17}}'

NoMatch: TypeAlias = Literal["error", "latest"]
"""What to do where no record is as young as the timestamp to start at."""


@dataclass(frozen=True, slots=True)
class Earliest:
    """From the first offset that there is."""


@dataclass(frozen=True, slots=True)
class Latest:
    """From, or up to, what is there now."""


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """At an offset for each partition; -1 is latest, -2 earliest."""

    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass(frozen=True, slots=True)
class AtTimestamps:
    """At the first record as young as a timestamp, one for each partition."""

    times_ms: tuple[tuple[TopicPartition, int], ...]
    no_match: NoMatch


@dataclass(frozen=True, slots=True)
class AtTimestamp:
    """At the first record as young as this timestamp."""

    time_ms: int
    no_match: NoMatch


Limit: TypeAlias = Earliest | Latest | AtOffsets | AtTimestamps | AtTimestamp


def starting_limit(given: Given, *, streaming: bool) -> Limit:
    """Where to begin. A batch cannot begin at the latest offsets."""
    default: Limit = Latest() if streaming else Earliest()
    limit = _limit(given, "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets", default)
    if streaming:
        return limit
    if isinstance(limit, Latest):
        raise OptionError(
            "startingOffsets cannot be latest in a batch query: there would be nothing to read.",
            "Set it to earliest or to offsets, or use readStream.",
        )
    _refuse(limit, LATEST, "startingOffsets", "-1 (latest)", "where a batch begins: use -2 (earliest) or an offset")
    return limit


def ending_limit(given: Given) -> Limit:
    """Where a batch ends. It cannot end at the earliest offsets."""
    limit = _limit(given, "endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets", Latest())
    if isinstance(limit, Earliest):
        raise OptionError(
            "endingOffsets cannot be earliest: there would be nothing to read.",
            "Set it to latest or to offsets.",
        )
    _refuse(limit, EARLIEST, "endingOffsets", "-2 (earliest)", "where a batch ends: use -1 (latest) or an offset")
    return limit


def check_ends_fit(start: Limit, end: Limit) -> None:
    """OptionError where a batch names other partitions at its end than at its start, or ends before it starts."""
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _fit(dict(start.offsets), dict(end.offsets), "startingOffsets", "endingOffsets")
    elif isinstance(start, AtTimestamps) and isinstance(end, AtTimestamps):
        names = ("startingOffsetsByTimestamp", "endingOffsetsByTimestamp")
        _fit(dict(start.times_ms), dict(end.times_ms), *names)


def check_stay(start: Limit, end: Limit) -> None:
    """OptionError where a batch that is to be the same when repeated begins or ends at what moves by itself."""
    moves = [_moving(start, EARLIEST, "startingOffsets", "earliest"), _moving(end, LATEST, "endingOffsets", "latest")]
    found = [what for what in moves if what]
    if found:
        raise OptionError(
            f"Option repeatable is true, but {' and '.join(found)}, which may be another offset at each repetition.",
            f"Give startingOffsets and endingOffsets as offsets by partition, e.g. {STAYING_EXAMPLE}, or "
            "startingTimestamp and endingTimestamp.",
        )


def _moving(limit: Limit, word: int, option: str, name: str) -> str:
    """What is said of a limit that moves."""
    if isinstance(limit, Earliest | Latest):
        return f"{option} is {name}"
    if isinstance(limit, AtOffsets) and (of := [of for of, offset in limit.offsets if offset == word]):
        return f"{option} has {word} ({name}) for {listed(of)}"
    return ""


def _limit(given: Given, at_time: str, at_times: str, at_offsets: str, default: Limit) -> Limit:
    chosen = given.choice("startingOffsetsByTimestampStrategy", "error", ("error", "latest"))
    no_match: NoMatch = "latest" if chosen == "latest" else "error"
    if given.has(at_time):
        return AtTimestamp(given.number(at_time, 0), no_match)
    if given.has(at_times):
        try:
            return AtTimestamps(tuple(timestamps_from_json(given.text(at_times) or "").items()), no_match)
        except ValueError as error:
            raise _no_json(at_times, error, f"milliseconds by partition, e.g. {TIMESTAMPS_EXAMPLE}") from None
    word = given.text(at_offsets)
    if word is None:
        return default
    if word.lower() in ("earliest", "latest"):
        return Latest() if word.lower() == "latest" else Earliest()
    try:
        return AtOffsets(tuple(offsets_from_json(word).items()))
    except ValueError as error:
        raise _no_json(at_offsets, error, f"earliest, latest, or offsets, e.g. {OFFSETS_EXAMPLE}") from None


def _no_json(name: str, error: ValueError, expected: str) -> OptionError:
    return OptionError(f"Option {name} cannot be read: {error}.", f"Expected {expected}.")


def _refuse(limit: Limit, value: int, option: str, word: str, why: str) -> None:
    if isinstance(limit, AtOffsets):
        found = [partition for partition, offset in limit.offsets if offset == value]
        if found:
            raise OptionError(f"{option} has {word} for {listed(found)}.", f"It cannot be {why}.")


def _fit(start: dict[TopicPartition, int], end: dict[TopicPartition, int], start_name: str, end_name: str) -> None:
    different = sorted(start.keys() ^ end.keys())
    if different:
        raise OptionError(
            f"{start_name} and {end_name} name different partitions: {listed(different)} stand in one of them only.",
            "Name the same partitions in both.",
        )
    for partition in sorted(start):
        if 0 <= end[partition] < start[partition]:
            raise OptionError(
                f"{start_name} has {start[partition]} for {partition}, {end_name} has {end[partition]}.",
                "A batch cannot end before it starts.",
            )
