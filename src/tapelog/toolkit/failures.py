"""What happens when a handler raises: decisions, and the policies that make them.

A loop asks its policy with the record, the error and how often it was tried here. The answer is a value: stop, try
again later, send something instead, or go on without. Retry topics and dead letters (`retry`, `dead_letter`) are
policies too, so any loop can have them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tapelog.toolkit.durations import Backoff
from tapelog.toolkit.records import Record, Send


@dataclass(frozen=True, slots=True)
class Stop:
    """End the loop: `run` raises the handler's error. What was finished before is committed; the record is not."""

    def __str__(self) -> str:
        return "the loop ends"


@dataclass(frozen=True, slots=True)
class Again:
    """Call the handler again after some time. The record's partition waits, the others go on."""

    after_s: float

    def __str__(self) -> str:
        return f"again after {self.after_s:.3g} s"


@dataclass(frozen=True, slots=True)
class Instead:
    """Send these instead of what the handler would have returned, and count the record as done."""

    sends: Sequence[Send] = ()

    def __str__(self) -> str:
        return f"sent to {', '.join(send.topic for send in self.sends)}" if self.sends else "skipped"


Decision: TypeAlias = Stop | Again | Instead


class Refused(Exception):
    """A record that was not handled, for a reason that comes with its own policy."""

    def __init__(self, reason: str, policy: OnError) -> None:
        super().__init__(reason)
        self.policy = policy


class OnError(ABC):
    """Decides what becomes of a record whose handler raised. `decide` is all that a policy of your own has to have."""

    @abstractmethod
    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        """`attempt` counts the calls for this record in this process: 1 at the first failure."""

    def reads(self, topics: Sequence[str]) -> list[str]:
        """Further topics that a loop over these has to read, because the policy sends records there."""
        return []

    def writes(self, topics: Sequence[str]) -> dict[str, str]:
        """Topics the policy sends to, each with the one whose number of partitions it should have."""
        return {}

    def wait_s(self, record: Record) -> float:
        """How long this record must wait before it is handled."""
        return 0.0


def check_policy(where: str, policy: object) -> None:
    """Refuse what is no policy; the class of one instead of an instance is the usual slip."""
    if isinstance(policy, type) and issubclass(policy, OnError):
        raise TypeError(f"{where}={policy.__name__} is a class: write {where}={policy.__name__}()")
    if not isinstance(policy, OnError):
        raise TypeError(f"{where} takes a policy (an OnError, such as Skip() or DeadLetter()), not {policy!r}")


@dataclass(frozen=True, slots=True)
class StopOnError(OnError):
    """The default: the error ends the loop. Nothing is lost, nothing is skipped; somebody has to look."""

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        return Stop()


@dataclass(frozen=True, slots=True)
class Skip(OnError):
    """Go on without the record. The loop logs the error."""

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        return Instead()


@dataclass(frozen=True, slots=True)
class RetryInPlace(OnError):
    """Try again here, with growing pauses, and leave it to another policy after the last attempt.

    The partition stands still meanwhile, which keeps its order; other partitions go on. For failures that pass, such
    as a database that restarts.

    >>> policy = RetryInPlace(attempts=5, backoff=Backoff("200ms", "30s"), then=Skip())
    """

    attempts: int = 5
    backoff: Backoff = field(default_factory=Backoff)
    then: OnError = field(default_factory=StopOnError)
    errors: type[Exception] | tuple[type[Exception], ...] = Exception

    def __post_init__(self) -> None:
        check_policy("then", self.then)

    def decide(self, record: Record, error: Exception, attempt: int) -> Decision:
        if attempt < self.attempts and isinstance(error, self.errors):
            return Again(self.backoff.wait_s(attempt))
        return self.then.decide(record, error, attempt)

    def reads(self, topics: Sequence[str]) -> list[str]:
        return self.then.reads(topics)

    def writes(self, topics: Sequence[str]) -> dict[str, str]:
        return self.then.writes(topics)

    def wait_s(self, record: Record) -> float:
        return self.then.wait_s(record)
