"""A streaming query: where it begins, how far a trigger goes, and which ranges that makes.

Nothing is remembered here: what must be from trigger to trigger is a value that comes in and goes out (`Pace`, what is
pinned for availableNow). Partitions that appear while a query runs begin at their first offset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapelog.spark.plan.identity import proven_anew
from tapelog.spark.plan.limits import AtOffsets, AtTimestamp, AtTimestamps, Latest
from tapelog.spark.plan.loss import BeganWithoutUs, CutShort, Expired, Gone, Loss, MadeAnew, WentBack, judge
from tapelog.spark.plan.offsets import offsets_to_json
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.rate import Pace, limit_bytes, limit_offsets, waiting
from tapelog.spark.plan.resolve import assigned, check_all_there, resolve
from tapelog.spark.plan.split import clipped, split, split_evenly
from tapelog.spark.plan.values import LATEST, NO_WEIGHTS, Offsets, Plan, Range, TopicPartition, Weights, ordered
from tapelog.spark.plan.view import View


@dataclass(frozen=True, slots=True)
class Step:
    """How far a trigger goes."""

    end: dict[TopicPartition, int]
    available: dict[TopicPartition, int]
    """Up to where it could have gone: for reportLatestOffset, for lag, and to pin for availableNow."""
    pace: Pace
    anew: frozenset[str] = frozenset()
    """Topics that were deleted and made anew."""


def initial(options: ReadOptions, view: View) -> dict[TopicPartition, int]:
    """Where a new query begins. A topic that was named must exist; a pattern may match nothing yet."""
    found = assigned(options.subscription, view)
    check_all_there(options.subscription, found, view)
    return resolve(options.starting, found, view, options.isolation, starting=True) if found else {}


def may_differ_again(options: ReadOptions) -> bool:
    """Whether asking `initial` a second time can give later offsets, so that rows between them would be skipped.

    Spark asks again when a query died before its first batch was committed, and does not tell a Python source where
    the checkpoint is. Such a query makes its first batch empty: then its beginning is in the checkpoint.
    """
    match options.starting:
        case Latest():
            return True
        case AtOffsets(offsets):
            return any(offset == LATEST for _, offset in offsets)
        case AtTimestamps(_, no_match) | AtTimestamp(_, no_match):
            return no_match == "latest"
        case _:
            return False


def advance(
    options: ReadOptions,
    view: View,
    start: Offsets,
    *,
    now_ms: int,
    pace: Pace = Pace(),  # noqa: B008 - a frozen value
    first: bool = False,
    everything: bool = False,
    pinned: Offsets | None = None,
    weights: Weights = NO_WEIGHTS,
    pause: Callable[[int], None] = lambda ms: None,
    changed: frozenset[str] = frozenset(),
    unchanged: frozenset[str] = frozenset(),
) -> Step:
    """How far the next trigger goes from `start`.

    `first`: start is what `initial` gave in this run, and no batch has been planned since: nothing is in the checkpoint
    yet. True once more, and a query from the latest would never move. `everything`: Spark asked for
    all that there is, limits do not count. `pinned`: what was there when an availableNow query began; the minimum
    does not hold such a query back, as it would end with rows unread. `pause` waits between attempts.
    `changed`: topics that have another id than the one that was read. They, and those that prove to be others, begin
    anew. That is a batch without rows, whose end is where they begin now: so the checkpoint itself tells it, to a
    replay, to the next run, and to Spark's own source. `plan_stream` judges it: a query that stops there stops there
    again, until it may lose data. `unchanged`: topics that are the ones that were read, whatever their ends say.
    """
    available = dict(pinned) if pinned is not None else _available(options, view, start, pause)
    in_doubt = {of: offset for of, offset in start.items() if of.topic not in changed | unchanged}
    anew = changed | proven_anew(view, in_doubt, available)
    if anew:
        if pinned is not None:
            fresh = _available(options, view, {}, pause)
            available = {of: offset for of, offset in available.items() if of.topic not in anew}
            available |= {of: offset for of, offset in fresh.items() if of.topic in anew}
        begins = _begin_anew(view, start, available, anew)
        if begins != start:
            return Step(ordered(begins), available, pace, anew)
    if first and may_differ_again(options):
        return Step(ordered(start), available, pace, anew)
    if everything:
        return Step(available, available, Pace(now_ms), anew)
    new = [of for of in available if of not in start]
    begins = {**start, **(view.earliest(new) if new else {})}
    if options.min_offsets is not None and pinned is None:
        there = waiting(begins, available)
        let = pace.after(now_ms, there, at_least=options.min_offsets, delay_ms_max=options.max_trigger_delay_ms)
        if let is None:
            return Step(ordered(start), available, pace, anew)
        pace = let
    end = available
    if options.max_offsets is not None:
        end = limit_offsets(options.max_offsets, begins, end)
    if options.max_bytes is not None:
        end = limit_bytes(options.max_bytes, begins, end, weights)
    return Step(end, available, pace, anew)


def _begin_anew(view: View, start: Offsets, available: Offsets, anew: frozenset[str]) -> dict[TopicPartition, int]:
    """The same offsets, but for partitions of these topics where they begin now. Where the query has read nothing yet,
    nothing would be skipped: it goes on as it is."""
    begins = view.earliest([of for of in available if of.topic in anew])
    if not any(of.topic in anew and offset > begins.get(of, 0) for of, offset in start.items()):
        return dict(start)
    return {of: offset for of, offset in start.items() if of.topic not in anew} | dict(begins)


def plan_stream(
    options: ReadOptions,
    view: View,
    start: Offsets,
    end: Offsets,
    *,
    first: bool = False,
    changed: frozenset[str] = frozenset(),
    unknown: frozenset[str] = frozenset(),
    begun_anew: frozenset[str] = frozenset(),
) -> Plan:
    """The ranges from start to end: again and again the same, and by the same tasks, unless data was lost in between.

    They are cut by start and end alone. What is gone is taken out afterwards, and a task of which nothing is left stays
    as an empty one: else those behind it would get other numbers, by which a sink tells what it has written.
    `first` as in `advance`, and true for the first batch of a run only: an end before the start is then no loss, but a
    first batch that is replayed. `changed` as in `advance`: nothing is read of such a topic, since the offsets are not
    its own. `unknown`: topics that this run has not met, so that this is a batch of an earlier run: it is looked
    whether they still have what it is to read. `begun_anew`: topics that `advance` let begin anew with this batch; a
    later run that meets the batch again does not know them.
    """
    if first and may_differ_again(options) and all(of in start and offset <= start[of] for of, offset in end.items()):
        return Plan((), _replayed(start, end))
    new = [of for of in sorted(end) if of not in start]
    known = [of for of in sorted(end) if start.get(of, end[of]) < end[of]]
    short, anew = _short(view, end, [of for of in (*new, *known) if of.topic in unknown], changed)
    found = _earliest(view, [of for of in new if of.topic not in anew])
    log_starts = _earliest(view, [of for of in known if of.topic not in anew])
    losses: list[Loss] = _went_back(view, start, end, anew | begun_anew)
    losses += [Gone(of, start[of]) for of in sorted(start) if of not in end]
    losses += [MadeAnew(of, start.get(of, 0)) for of in (*new, *known) if of.topic in anew]
    losses += [
        Gone(of, start.get(of, 0))
        for of in (*new, *known)
        if of.topic not in anew and of not in found and of not in log_starts
    ]
    losses += [BeganWithoutUs(of, found[of]) for of in new if found.get(of, 0) > 0]
    losses += [
        Expired(of, start[of], min(log_starts[of], end[of])) for of in known if log_starts.get(of, 0) > start[of]
    ]
    losses += [CutShort(of, end[of], offset) for of, offset in short.items()]
    warnings = judge(losses, fail=options.fail_on_data_loss)
    begins = {of: start[of] for of in known} | {of: found.get(of, 0) for of in new}
    whole = [Range(of.topic, of.partition, begins[of], end[of]) for of in sorted(begins) if begins[of] < end[of]]
    if options.min_partitions is None and options.max_records is None:
        pieces = split_evenly(whole)
    else:
        pieces = split(whole, min_partitions=options.min_partitions, max_records=options.max_records)
    windows = {of: (begin, short.get(of, end[of])) for of, begin in {**log_starts, **found}.items()}
    left, empty = clipped(pieces, windows)
    return Plan(left, warnings, empty, anew)


def _earliest(view: View, partitions: Sequence[TopicPartition]) -> Offsets:
    return view.earliest(partitions) if partitions else {}


def _short(
    view: View, end: Offsets, partitions: Sequence[TopicPartition], changed: frozenset[str]
) -> tuple[dict[TopicPartition, int], frozenset[str]]:
    """Partitions that end before a batch does, and where; and all topics that were made anew."""
    ends = view.latest(partitions, "read_uncommitted") if partitions else {}
    anew = changed | proven_anew(view, {of: end[of] for of in partitions}, ends)
    short = {of: ends[of] for of in partitions if of.topic not in anew and ends.get(of, end[of]) < end[of]}
    return short, anew


def _went_back(view: View, start: Offsets, end: Offsets, anew: frozenset[str]) -> list[Loss]:
    """Partitions whose batch ends before it starts: at their beginning, if `advance` let them begin anew.

    It ends there, too, where the log had lost all its records.
    """
    back = [of for of in sorted(end) if start.get(of, 0) > end[of]]
    begins = _earliest(view, back)
    return [
        MadeAnew(of, start[of], of.topic in anew)
        if of.topic in anew or end[of] <= begins.get(of, -1)
        else WentBack(of, start[of], end[of])
        for of in back
    ]


def _replayed(start: Offsets, end: Offsets) -> tuple[str, ...]:
    if all(end.get(of) == offset for of, offset in start.items()):
        return ()
    return (
        "The query died before its first batch was committed. That batch is empty, its end is in the checkpoint, and"
        f" the query goes on from there: {offsets_to_json(end)}.",
    )


def _available(
    options: ReadOptions, view: View, start: Offsets, pause: Callable[[int], None]
) -> dict[TopicPartition, int]:
    """Where partitions end now; asked again while something known is missing or went back, which may pass."""
    attempt = 1
    while True:
        found = assigned(options.subscription, view)
        latest = view.latest(found, options.isolation) if found else {}
        odd = any(of not in latest or latest[of] < offset for of, offset in start.items())
        if not odd or attempt >= options.offset_attempts:
            break
        attempt += 1
        pause(options.offset_retry_ms)
    known = [of for of in start if of not in found]
    check_all_there(options.subscription, (*found, *known), view)
    return ordered(latest)
