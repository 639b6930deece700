"""A batch query: its ranges, decided once on the driver."""

from __future__ import annotations

from collections.abc import Sequence

from tapelog.spark.plan.filters import Filter, keeps, narrow
from tapelog.spark.plan.limits import Earliest, Latest
from tapelog.spark.plan.loss import EndsEarly, Expired, Loss, StartsBeyond, judge
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.repeatable import plan_repeatable
from tapelog.spark.plan.resolve import assigned, check_all_there, check_order, resolve
from tapelog.spark.plan.split import split
from tapelog.spark.plan.values import NO_WEIGHTS, Offsets, Plan, Range, TopicPartition, Weights
from tapelog.spark.plan.view import View


def plan_batch(
    options: ReadOptions,
    view: View,
    *,
    filters: Sequence[Filter] = (),
    weights: Weights = NO_WEIGHTS,
) -> Plan:
    """The ranges of a batch query. Offsets are fixed here: every attempt of a task reads the same.

    MissingTopicError, OptionError and DataLossError say what to do.
    """
    found = assigned(options.subscription, view)
    check_all_there(options.subscription, found, view)
    if not found:
        return Plan((), ("subscribePattern matches no topic: there is nothing to read.",))
    if options.repeatable:
        return plan_repeatable(options, view, found, filters)
    start = resolve(options.starting, found, view, options.isolation, starting=True)
    end = resolve(options.ending, found, view, options.isolation, starting=False)
    kept = [of for of in found if keeps(filters, of)]
    if not isinstance(options.starting, Earliest) and not isinstance(options.ending, Latest):
        check_order({of: start[of] for of in kept}, end)
    start, end, warnings = _within(options, view, start, end, kept)
    whole = [Range(of.topic, of.partition, start[of], end[of]) for of in kept if start[of] < end[of]]
    narrowed = narrow(whole, filters, view, options.isolation)
    pieces = split(
        narrowed,
        min_partitions=options.min_partitions,
        max_records=options.max_records,
        weights=weights,
    )
    return Plan(pieces, warnings)


def _within(
    options: ReadOptions, view: View, start: Offsets, end: Offsets, kept: Sequence[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int], tuple[str, ...]]:
    """Start and end within what there is; offsets that were asked for and are not there are a loss."""
    first = start if isinstance(options.starting, Earliest) else view.earliest(kept)
    last = end if isinstance(options.ending, Latest) else view.latest(kept, options.isolation)
    hidden = _hidden(options, view, {of: max(start[of], end[of]) for of in kept}, last)
    losses: list[Loss] = []
    low, high = dict(start), dict(end)
    for of in kept:
        if start[of] < first.get(of, 0) and start[of] < end[of]:
            losses.append(Expired(of, start[of], first[of]))
            low[of] = first[of]
        if start[of] > last.get(of, start[of]) and start[of] != end[of]:
            losses.append(StartsBeyond(of, start[of], last[of], start[of] <= hidden.get(of, -1)))
            low[of] = high[of] = last[of]
        elif end[of] > last.get(of, end[of]) and start[of] < end[of]:
            losses.append(EndsEarly(of, end[of], last[of], end[of] <= hidden.get(of, -1)))
            high[of] = last[of]
    return low, high, judge(losses, fail=options.fail_on_data_loss, batch=True)


def _hidden(options: ReadOptions, view: View, wanted: Offsets, last: Offsets) -> Offsets:
    """Up to where partitions were written of which less may be read than was asked for: transactions are open there."""
    behind = [of for of, offset in wanted.items() if last.get(of, offset) < offset]
    if options.isolation == "read_uncommitted" or not behind:
        return {}
    return view.latest(behind, "read_uncommitted")
