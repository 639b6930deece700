"""A batch read that has the same tasks whenever it is repeated, for a sink that tells a repetition by them.

Beginning and end are offsets that stay where they are. The ranges between them are cut by offsets alone, as in a
stream; what is gone, and what filters rule out, is taken out afterwards, and a task of which nothing is left stays as
an empty one: else those behind it would get other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapelog.spark.plan.errors import OptionError, listed
from tapelog.spark.plan.filters import Filter, keeps, narrow
from tapelog.spark.plan.limits import AtTimestamp, AtTimestamps, Earliest, Latest, Limit
from tapelog.spark.plan.loss import Expired, Loss, judge
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.resolve import check_order, resolve
from tapelog.spark.plan.split import clipped, split, split_evenly
from tapelog.spark.plan.values import Offsets, Plan, Range, TopicPartition
from tapelog.spark.plan.view import View


def plan_repeatable(
    options: ReadOptions, view: View, found: Sequence[TopicPartition], filters: Sequence[Filter]
) -> Plan:
    """The ranges of these partitions, and the numbers of tasks that have none. Filters and retention move no cut."""
    first = resolve(Earliest(), found, view, options.isolation, starting=True)
    last = resolve(Latest(), found, view, options.isolation, starting=False)
    start = _staying(options, options.starting, view, first, starting=True)
    end = _staying(options, options.ending, view, first, starting=False)
    check_order(start, end)
    kept = [of for of in found if keeps(filters, of) and start[of] < end[of]]
    _check_written(end, last, kept)
    losses: list[Loss] = [Expired(of, start[of], min(first[of], end[of])) for of in kept if first[of] > start[of]]
    warnings = judge(losses, fail=options.fail_on_data_loss, batch=True)
    whole = [Range(of.topic, of.partition, start[of], end[of]) for of in found if start[of] < end[of]]
    if options.min_partitions is None and options.max_records is None:
        pieces = split_evenly(whole)
    else:
        pieces = split(whole, min_partitions=options.min_partitions, max_records=options.max_records)
    begins = {of: max(start[of], first[of]) for of in kept}
    there = [Range(of.topic, of.partition, begins[of], end[of]) for of in kept if begins[of] < end[of]]
    windows = {one.of: (one.start, one.until) for one in narrow(there, filters, view, options.isolation)}
    left, empty = clipped(pieces, windows)
    return Plan(left, warnings, empty)


def _staying(options: ReadOptions, limit: Limit, view: View, first: Offsets, *, starting: bool) -> Offsets:
    """The offsets that a limit means, and will mean. For a time that is the first record as young, if it is known to be
    the first: one before it may be gone."""
    found = resolve(limit, list(first), view, options.isolation, starting=starting, staying=True)
    trimmed = {of: 0 for of, offset in first.items() if offset > 0}
    if not trimmed or not isinstance(limit, AtTimestamp | AtTimestamps):
        return found
    oldest = view.for_times(trimmed, options.isolation)
    moved = [of for of, offset in oldest.items() if found[of] <= offset]
    if moved:
        at, names = ("start", "startingOffsets") if starting else ("end", "endingOffsets")
        raise OptionError(
            f"The oldest record of {listed(moved)} (offset {found[moved[0]]}) is as young as the time to {at} at: "
            "whether others were before it nobody can tell, and option repeatable needs to know.",
            f"Give {names} as offsets by partition.",
        )
    return found


def _check_written(end: Offsets, last: Offsets, kept: Sequence[TopicPartition]) -> None:
    beyond = [of for of in kept if end[of] > last[of]]
    if beyond:
        raise OptionError(
            f"{beyond[0]} is to be read up to offset {end[beyond[0]]}, but ends at {last[beyond[0]]}: what comes would "
            "make a repetition another read (option repeatable).",
            "Set endingOffsets to what is there, or wait for the rest.",
        )
