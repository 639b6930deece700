"""Causal order by dependency header: a record that came too early waits for what it depends on.

    def handle(record: Record) -> Send:
        reply = Send("replies", "…", headers=caused_by(record))     # depends on what it answers
        return reply

    at_least_once("localhost:9092", group="view", topics=["posts", "replies"], handle=show, causal=CausalOrder(store))

A message has a name (`message-id`, or else the coordinates of its first reading) and may say what it depends on
(`depends-on`). It is handled after those have been handled, and after any held record of its own partition and key.
Offsets of held records are not committed, so a crash loses none. The buffer and the wait have bounds; a record that
reaches one is delivered all the same, or goes by a policy.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tapelog.toolkit.durations import seconds
from tapelog.toolkit.failures import OnError, Refused, check_policy
from tapelog.toolkit.letters import identity
from tapelog.toolkit.records import ID_HEADER, Place, Record

log = logging.getLogger(__name__)

DEPENDS_ON = "depends-on"
"""What must be handled before: names of messages, with commas between them; may occur several times."""

RECHECK_S = 1.0
"""How often the store is asked again: another process may have handled what is waited for."""

NAMES_MAX = 1000
"""How many dependencies of one record are looked at."""

Known: TypeAlias = Callable[[str], bool]


class MissingDependencies(Refused):
    """What a record depends on did not come in time, or the buffer is full."""


@dataclass(frozen=True, slots=True)
class CausalOrder:
    """How to hold back, and for how long.

    max_held: how many records wait at most; max_wait: how long each.
    then: what happens to the oldest when a bound is reached: "deliver" handles it all the same, a policy deals with it
    as with a failed one (`DeadLetter()`, `StopOnError()`, `RetryTopics(…)`).
    known: whether a message of that name has been handled, also by others and before a restart. IdempotentConsumer
    answers that from its store; without one, only what this run has handled is known.
    remember: how many names are kept in memory.
    """

    max_held: int = 10_000
    max_wait: str | float = "30s"
    then: Literal["deliver"] | OnError = "deliver"
    known: Known | None = field(default=None, compare=False)
    remember: int = 100_000

    def __post_init__(self) -> None:
        seconds(self.max_wait)
        if self.then != "deliver":
            check_policy("then", self.then)
        if self.max_held < 1:
            raise ValueError("max_held: at least one record must be able to wait")


def caused_by(*records: Record) -> dict[str, str]:
    """Headers for a message that must not be handled before these."""
    return {DEPENDS_ON: ",".join(identity(record) for record in records)}


def named(name: str, *depends_on: str) -> dict[str, str]:
    """Headers for a message with a name, and with what it depends on."""
    return {ID_HEADER: name, **({DEPENDS_ON: ",".join(depends_on)} if depends_on else {})}


def dependencies(record: Record) -> list[str]:
    """What it says it depends on."""
    texts = [(value or b"").decode("utf-8", "replace") for name, value in record.headers if name == DEPENDS_ON]
    names = [name.strip() for text in texts for name in text.split(",", NAMES_MAX)[:NAMES_MAX]]
    return [name for name in dict.fromkeys(names[:NAMES_MAX]) if name]


@dataclass(slots=True)
class _Held:
    record: Record
    missing: set[str]
    since: float


class CausalGate:
    """Holds records until what they depend on has been handled."""

    def __init__(self, order: CausalOrder, known: Known | None = None) -> None:
        self._order = order
        self._known_elsewhere = known or order.known or (lambda name: False)
        self._max_wait_s = seconds(order.max_wait)
        self._handled: OrderedDict[str, None] = OrderedDict()
        self._held: dict[str, _Held] = {}
        self._waiting_for: dict[str, set[str]] = {}
        self._overdue: dict[str, MissingDependencies | None] = {}
        self._asked = 0.0

    def admit(self, records: Sequence[Record], now: float) -> list[Record]:
        if now - self._asked >= RECHECK_S:
            self._asked = now
            self._ask_again()
        for record in records:
            missing = set() if record.coordinates in self._overdue else self._missing(record)
            self._held[record.coordinates] = _Held(record, missing, now)
            for name in missing:
                self._waiting_for.setdefault(name, set()).add(record.coordinates)
        self._give_up_on_the_oldest(now)
        return self._release()

    def _missing(self, record: Record) -> set[str]:
        return {name for name in dependencies(record) if not self._known(name)}

    def _known(self, name: str) -> bool:
        if name in self._handled:
            return True
        if self._known_elsewhere(name):
            self._remember(name)
            return True
        return False

    def _ask_again(self) -> None:
        for name in [name for name in self._waiting_for if self._known(name)]:
            self._came(name)

    def _came(self, name: str) -> None:
        for coordinates in self._waiting_for.pop(name, ()):
            if coordinates in self._held:
                self._held[coordinates].missing.discard(name)

    def _release(self) -> list[Record]:
        """Those that miss nothing, in the order of their arrival, save where an earlier one of their key is held."""
        ready: list[Record] = []
        blocked: set[tuple[Place, bytes]] = set()
        for held in list(self._held.values()):
            record = held.record
            key = None if record.key is None else (record.place, record.key)
            if held.missing or key in blocked:
                if key is not None:
                    blocked.add(key)
            else:
                del self._held[record.coordinates]
                ready.append(record)
        return ready

    def _give_up_on_the_oldest(self, now: float) -> None:
        waiting = [held for held in self._held.values() if held.missing]
        too_many = len(waiting) - self._order.max_held
        for position, held in enumerate(waiting):
            late = now - held.since >= self._max_wait_s
            if position >= too_many and not late:
                continue
            names = ", ".join(sorted(held.missing)[:10])
            why = f"{held.record.coordinates} waited {now - held.since:.3g} s for {names}"
            log.warning("%s (%s)", why, "too long" if late else "too many wait")
            then = self._order.then
            self._overdue[held.record.coordinates] = None if then == "deliver" else MissingDependencies(why, then)
            self._stop_waiting(held)

    def _stop_waiting(self, held: _Held) -> None:
        for name in held.missing:
            waiting = self._waiting_for.get(name, set())
            waiting.discard(held.record.coordinates)
            if not waiting:
                self._waiting_for.pop(name, None)
        held.missing = set()

    def refusal(self, record: Record) -> Refused | None:
        return self._overdue.get(record.coordinates)

    def held(self) -> list[Record]:
        return [held.record for held in self._held.values()]

    def passed(self, record: Record) -> None:
        name = identity(record)
        self._overdue.pop(record.coordinates, None)
        self._remember(name)
        self._came(name)

    def _remember(self, name: str) -> None:
        self._handled[name] = None
        self._handled.move_to_end(name)
        while len(self._handled) > self._order.remember:
            self._handled.popitem(last=False)

    def next_due(self) -> float | None:
        if not self._held:
            return None
        oldest = min(held.since for held in self._held.values())
        return min(oldest + self._max_wait_s, self._asked + RECHECK_S)

    def forget(self, places: Iterable[Place]) -> None:
        gone = set(places)
        for held in [held for held in self._held.values() if held.record.place in gone]:
            self._stop_waiting(held)
            del self._held[held.record.coordinates]
        if not self._held:
            self._overdue.clear()
