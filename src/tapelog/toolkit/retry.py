"""Policies that send a failed record elsewhere: to retry topics, one per delay, and to a dead-letter topic.

    from tapelog.toolkit import RetryTopics, at_least_once

    at_least_once(
        "localhost:9092", group="billing", topics="orders", handle=charge, on_error=RetryTopics("5s", "1m", "10m")
    ).run()

A failed record goes to `orders.retry.5s`, then `orders.retry.1m`, then `orders.retry.10m`, then `orders.dead`. The loop
reads the retry topics too, and waits with each record until it is due; `orders` itself never stands still. Records of a
key that failed are overtaken by later ones; where that matters, use RetryInPlace.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tapelog.toolkit.durations import seconds
from tapelog.toolkit.failures import Decision, Instead, OnError, check_policy
from tapelog.toolkit.letters import RETRY_LEVEL, RETRY_NOT_BEFORE, letter, number, origin
from tapelog.toolkit.records import Record, checked_topic


@dataclass(frozen=True, slots=True)
class DeadLetter(OnError):
    """Put the record aside in a topic of its own, with the reason in its headers.

    topic: a name, or a pattern in which `{topic}` is the topic of the first reading.
    stack: whether the traceback goes along (`error-stack`).

    >>> policy = DeadLetter("{topic}.dead", stack=True)
    """

    topic: str = "{topic}.dead"
    stack: bool = False

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        return Instead([letter(record, named(self.topic, origin(record)[0]), error, attempt, stack=self.stack)])

    def writes(self, topics: Sequence[str]) -> dict[str, str]:
        return {named(self.topic, topic): topic for topic in plain(topics)}


@dataclass(frozen=True, slots=True, init=False)
class RetryTopics(OnError):
    """Send the record through topics that are read later and later, then leave it to another policy.

    delays: how long each waits, written as people do; the text is part of the topic's name.
    name: the pattern of the topics' names. Several groups that read one topic need names of their own, for instance
    `"{topic}.billing.retry.{delay}"`.
    errors: which errors are worth it; others go to `then` at once.
    """

    delays: tuple[str, ...]
    name: str = "{topic}.retry.{delay}"
    then: OnError = field(default_factory=DeadLetter)
    errors: type[Exception] | tuple[type[Exception], ...] = Exception
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)

    def __init__(
        self,
        *delays: str,
        name: str = "{topic}.retry.{delay}",
        then: OnError | None = None,
        errors: type[Exception] | tuple[type[Exception], ...] = Exception,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for delay in delays:
            seconds(delay)
        if "{delay}" not in name:
            raise ValueError(f"the name of the retry topics needs {{delay}}: {name!r}")
        if then is not None:
            check_policy("then", then)
        values = {"delays": delays, "name": name, "then": then or DeadLetter(), "errors": errors, "clock": clock}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        level = number(record, RETRY_LEVEL) or 0
        if not 0 <= level < len(self.delays) or not isinstance(error, self.errors):
            return self.then.decide(record, error, attempt)
        delay = self.delays[level]
        due_ms = math.ceil((self.clock() + seconds(delay)) * 1000)
        schedule = {RETRY_LEVEL: str(level + 1), RETRY_NOT_BEFORE: str(due_ms)}
        topic = named(self.name, origin(record)[0], delay)
        return Instead([letter(record, topic, error, attempt, schedule, stack=False)])

    def wait_s(self, record: Record) -> float:
        """Until the time in its header; never longer than the longest delay, whatever the header says."""
        due_ms = number(record, RETRY_NOT_BEFORE)
        if due_ms is None or not self.delays:
            return 0.0
        most = max(seconds(delay) for delay in self.delays)
        return max(0.0, min(due_ms / 1000 - self.clock(), most))

    def reads(self, topics: Sequence[str]) -> list[str]:
        return [named(self.name, topic, delay) for topic in plain(topics) for delay in self.delays]

    def writes(self, topics: Sequence[str]) -> dict[str, str]:
        own = {named(self.name, topic, delay): topic for topic in plain(topics) for delay in self.delays}
        return {**own, **self.then.writes(topics)}


def plain(topics: Sequence[str]) -> Sequence[str]:
    """The topics, when they are names: for a regular expression nobody knows which topics go with it."""
    if any(topic.startswith("^") for topic in topics):
        raise ValueError("retry and dead-letter topics belong to topics with names, not to a regular expression")
    return topics


def named(pattern: str, topic: str, delay: str = "") -> str:
    """The pattern filled in; a name that Kafka would refuse is refused here, early."""
    return checked_topic(pattern.replace("{topic}", topic).replace("{delay}", delay))
