"""Which partitions a query reads, and which offsets its limits mean, asked of a cluster once."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import assert_never

from tapelog.spark.plan.errors import MissingTopicError, OptionError, PlanError, listed
from tapelog.spark.plan.limits import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest, Limit, NoMatch
from tapelog.spark.plan.options import Assign, Subscribe, SubscribePattern, Subscription
from tapelog.spark.plan.pattern import compile_pattern
from tapelog.spark.plan.values import EARLIEST, LATEST, Offsets, TopicPartition, ordered
from tapelog.spark.plan.view import Isolation, View


def assigned(subscription: Subscription, view: View) -> tuple[TopicPartition, ...]:
    """The partitions that exist of those asked for, in order. Nothing is said about missing ones."""
    match subscription:
        case Assign(partitions):
            there = view.partitions(sorted({of.topic for of in partitions}))
            return tuple(of for of in partitions if of.partition in there.get(of.topic, ()))
        case Subscribe(topics):
            return _all(view, topics)
        case SubscribePattern(pattern):
            search = compile_pattern(pattern).search
            return _all(view, [name for name in view.topics() if search(name)])
        case _:
            assert_never(subscription)


def check_all_there(subscription: Subscription, found: Sequence[TopicPartition], view: View) -> None:
    """MissingTopicError if a topic or partition that was named does not exist. A pattern may match nothing."""
    topics = {of.topic for of in found}
    match subscription:
        case Subscribe(names):
            missing = [name for name in names if name not in topics]
            if missing:
                raise _no_topic("subscribe", missing, view)
        case Assign(partitions):
            lost = [of for of in partitions if of not in set(found)]
            if lost and lost[0].topic not in topics:
                raise _no_topic("assign", list(dict.fromkeys(of.topic for of in lost)), view)
            if lost:
                raise MissingTopicError(
                    f"Option assign names {listed(lost)}, which does not exist.",
                    f"Topic {lost[0].topic!r} has other partitions; see tape topic describe {lost[0].topic}.",
                )
        case SubscribePattern():
            pass


def resolve(
    limit: Limit,
    partitions: Sequence[TopicPartition],
    view: View,
    isolation: Isolation,
    *,
    starting: bool,
    staying: bool = False,
) -> dict[TopicPartition, int]:
    """The offset that the limit means for each partition. PlanError where it names other ones, or finds none.

    `staying`: no record as young as a timestamp is an error at either end, since latest is another offset each time.
    """
    match limit:
        case Earliest():
            found: Offsets = view.earliest(partitions)
        case Latest():
            found = view.latest(partitions, isolation)
        case AtOffsets(offsets):
            found = _at_offsets(dict(offsets), partitions, view, isolation, starting)
        case AtTimestamps(times, no_match):
            name = "startingOffsetsByTimestamp" if starting else "endingOffsetsByTimestamp"
            _same(dict(times), partitions, name)
            found = _at_times(dict(times), no_match, view, isolation, starting, staying)
        case AtTimestamp(time_ms, no_match):
            found = _at_times(dict.fromkeys(partitions, time_ms), no_match, view, isolation, starting, staying)
        case _:
            assert_never(limit)
    gone = [of for of in partitions if of not in found]
    if gone:
        raise PlanError(
            f"The cluster told no offset for {listed(gone)}.",
            "Perhaps the topic is being deleted: look at it with tape topic describe, and run the query again.",
        )
    return ordered(found)


def check_order(start: Offsets, end: Offsets) -> None:
    """OptionError if a batch would end before it starts."""
    for of in start:
        if start[of] > end[of]:
            raise OptionError(
                f"The batch would start at offset {start[of]} of {of} and end at {end[of]}, before it.",
                "Look at the starting… and ending… options: offsets and timestamps may not fit each other.",
            )


def _at_offsets(
    offsets: dict[TopicPartition, int],
    partitions: Sequence[TopicPartition],
    view: View,
    isolation: Isolation,
    starting: bool,
) -> dict[TopicPartition, int]:
    _same(offsets, partitions, "startingOffsets" if starting else "endingOffsets")
    first = [of for of, offset in offsets.items() if offset == EARLIEST]
    last = [of for of, offset in offsets.items() if offset == LATEST]
    found = dict(offsets)
    for of in (*first, *last):
        del found[of]
    return found | dict(view.earliest(first) if first else {}) | dict(view.latest(last, isolation) if last else {})


def _at_times(
    times: dict[TopicPartition, int], no_match: NoMatch, view: View, isolation: Isolation, starting: bool, staying: bool
) -> dict[TopicPartition, int]:
    found = dict(view.for_times(times, isolation)) if times else {}
    none = [of for of in times if of not in found]
    if none and staying:
        at, names = ("start", "startingOffsets") if starting else ("end", "endingOffsets")
        raise OptionError(
            f"No record of {listed(none)} is as young as the timestamp to {at} at ({times[none[0]]} ms): what comes "
            "would move it, and option repeatable needs it to stay.",
            f"Give an earlier time, or {names} as offsets by partition.",
        )
    if none and starting and no_match == "error":
        raise OptionError(
            f"No record of {listed(none)} is as young as the timestamp to start at ({times[none[0]]} ms).",
            "Set startingOffsetsByTimestampStrategy=latest to start them at their end, or give an earlier time.",
        )
    return found | dict(view.latest(none, isolation) if none else {})


def _same(named: dict[TopicPartition, int], partitions: Sequence[TopicPartition], option: str) -> None:
    missing = [of for of in partitions if of not in named]
    unknown = [of for of in named if of not in set(partitions)]
    if missing or unknown:
        parts = ([f"leaves out {listed(missing)}"] if missing else []) + (
            [f"names {listed(unknown)}"] if unknown else []
        )
        raise OptionError(
            f"Option {option} {' and '.join(parts)}: not the partitions that the query reads.",
            "Name every partition of it and no other; -1 stands for latest, -2 for earliest."
            if option.endswith("Offsets")
            else "Name every partition of it and no other.",
        )


def _all(view: View, topics: Sequence[str]) -> tuple[TopicPartition, ...]:
    there = view.partitions(sorted(topics)) if topics else {}
    return tuple(sorted(TopicPartition(topic, partition) for topic in there for partition in there[topic]))


def _no_topic(option: str, missing: Sequence[str], view: View) -> MissingTopicError:
    near = difflib.get_close_matches(missing[0], sorted(view.topics()), n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    several = "s" if len(missing) > 1 else ""
    return MissingTopicError(
        f"There is no topic {listed(repr(name) for name in missing)} on this cluster (option {option}).{meant}",
        f"Create the topic{several}, or look at kafka.bootstrap.servers: is it the cluster that you mean?",
    )
