"""A model of brokers, Spark and its deaths, for the write protocol: every step of everybody in any order.

Brokers are modelled as far as the protocol asks them: epochs, open transactions, markers that become visible with their
transaction, commits that take two steps. Spark is modelled as it behaves: attempts of a task beside each other, reports
that may get lost with an executor, a commit worker that outlives its driver, restarts that run the same batch again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from tapelog.client.producer_settings import OpenTransaction
from tapelog.spark.plan import write_protocol as protocol
from tapelog.spark.plan.write_protocol import (
    Begin,
    CountRows,
    End,
    FindOpen,
    ReadMarkers,
    Take,
    WriteMarker,
    WriteRows,
)
from tapelog.spark.plan.write_values import Marker, Tally, Work, Written

Choose = Callable[[int], int]
"""A number below the one given, by chance."""


class Dead(Exception):
    """Fenced: this attempt ends."""


class NotYet(Exception):
    """Try again later: a commit is under way, or a marker is not settled."""


@dataclass
class Id:
    """A transactional id at its coordinator."""

    epoch: int = -1
    open: bool = False
    committing: bool = False
    rows: list[Any] = field(default_factory=list)
    marker: Marker | None = None


class Brokers:
    """What is in the topic, and the state of every id."""

    def __init__(self) -> None:
        self.topic: Counter[Any] = Counter()
        self.ids: dict[str, Id] = {}
        self.markers: dict[str, Marker] = {}

    def of(self, name: str) -> Id:
        return self.ids.setdefault(name, Id())

    def take(self, name: str) -> int:
        """InitProducerId: a commit under way is waited for, anything else is aborted."""
        state = self.of(name)
        if state.committing:
            raise NotYet
        state.epoch += 1
        self._clear(state)
        return state.epoch

    def write(self, name: str, epoch: int, rows: list[Any]) -> None:
        state = self._mine(name, epoch)
        state.open = True
        state.rows += rows

    def mark(self, name: str, epoch: int, marker: Marker) -> None:
        state = self._mine(name, epoch)
        state.open = True
        state.marker = marker

    def end(self, transaction: OpenTransaction, commit: bool) -> str | None:
        """EndTxn; None: done. A commit is only prepared here: `settle` completes it."""
        state = self.of(transaction.transactional_id)
        if state.epoch != transaction.epoch or not state.open:
            return "fenced"
        if state.committing:
            return None
        if commit:
            state.committing = True
        else:
            self._clear(state)
        return None

    def settle(self, name: str) -> None:
        """Complete a prepared commit: rows and marker become visible together."""
        state = self.of(name)
        if state.committing:
            self.topic.update(state.rows)
            if state.marker is not None:
                self.markers[name] = state.marker
            self._clear(state)

    def read(self, names: tuple[str, ...], settled: bool) -> dict[str, Marker]:
        if settled and any(self.of(name).marker is not None for name in names):
            raise NotYet
        return {name: self.markers[name] for name in names if name in self.markers}

    def expire(self, name: str) -> None:
        """The time limit of a transaction has passed: aborted, with a new epoch."""
        state = self.of(name)
        if state.open and not state.committing:
            state.epoch += 1
            self._clear(state)

    def _mine(self, name: str, epoch: int) -> Id:
        state = self.of(name)
        if state.epoch != epoch or state.committing:
            raise Dead
        return state

    def _clear(self, state: Id) -> None:
        state.open, state.committing, state.rows, state.marker = False, False, [], None


class Actor:
    """A task or a commit in flight: one step at a time."""

    def __init__(self, brokers: Brokers, steps: Generator[Any, Any, Any], rows: list[Any]) -> None:
        self.brokers, self.steps, self.rows = brokers, steps, rows
        self.step: Any = None
        self.result: Any = None
        self.over = self.failed = False
        self._id, self._epoch = "", -1
        self._advance(None)

    def go(self, choose: Choose) -> None:
        """Do the next thing, or find that it must wait."""
        if self.over:
            return
        try:
            self._advance(self._perform(choose))
        except NotYet:
            return
        except (Dead, protocol.WriteError):
            self.over = self.failed = True

    def _advance(self, answer: Any) -> None:
        try:
            self.step = self.steps.send(answer)
        except StopIteration as done:
            self.result, self.over = done.value, True

    def _perform(self, choose: Choose) -> Any:
        brokers = self.brokers
        match self.step:
            case Begin(name):
                self._id, self._epoch = name, brokers.take(name)
            case Take(ids):
                if any(brokers.of(name).committing for name in ids):
                    raise NotYet
                for name in ids:
                    brokers.take(name)
            case ReadMarkers(ids, settled):
                return brokers.read(ids, settled)
            case WriteRows():
                half = choose(len(self.rows) + 1)
                brokers.write(self._id, self._epoch, self.rows[:half]) if half else None
                brokers.write(self._id, self._epoch, self.rows[half:]) if self.rows[half:] else None
                return Tally(len(self.rows))
            case CountRows():
                return Tally(len(self.rows))
            case WriteMarker(marker):
                brokers.mark(self._id, self._epoch, marker)
                return OpenTransaction(self._id, 1, self._epoch, 4)
            case End(transactions, commit):
                told = {one: brokers.end(one, commit) for one in transactions}
                return {one: reason for one, reason in told.items() if reason is not None}
            case FindOpen(ids):
                return [name for name in ids if brokers.of(name).open and not brokers.of(name).committing]
        return None


Task = Callable[[Work], Generator[Any, Any, Written]]
Commit = Callable[[list[Written]], Generator[Any, Any, None]]


class Spark:
    """A query of some batches, restarted after every death until all its batches are committed."""

    def __init__(
        self,
        choose: Choose,
        *,
        partitions: int,
        batches: int,
        task: Task = protocol.task,
        commit: Commit = protocol.commit,
        deaths: int = 6,
    ) -> None:
        self.choose, self.partitions, self.batches = choose, partitions, batches
        self.task, self.commit, self.deaths = task, commit, deaths
        self.brokers = Brokers()
        self.zombies: list[Actor] = []
        """What outlived its driver or lost its race, and is still under way."""
        self.runs = 0

    def rows(self, batch: int, partition: int) -> list[Any]:
        return [(batch, partition, number) for number in range((batch + partition) % 3 + 1)]

    def wanted(self) -> Counter[Any]:
        return Counter(row for b in range(self.batches) for p in range(self.partitions) for row in self.rows(b, p))

    def run(self) -> Counter[Any]:
        """Everything, to the end; what is then visible in the topic."""
        batch = 0
        while batch < self.batches:
            self.runs += 1
            assert self.runs < 60, "no progress"
            while batch < self.batches and self._batch(f"run{self.runs}", batch):
                batch += 1
        self._nature(200)
        return self.brokers.topic

    def _batch(self, run: str, batch: int) -> bool:
        """One batch; False: somebody died, and the driver is started again with the same batch."""
        reports: list[Written] = []
        for partition in range(self.partitions):
            report = self._partition(run, batch, partition)
            if report is None:
                return False
            reports.append(report)
        ending = Actor(self.brokers, self.commit(reports), [])
        while not ending.over:
            self._nature(2)
            if self._dies():
                if self.choose(2):
                    self.zombies.append(ending)
                return False
            ending.go(self.choose)
        # Spark may die before it notes that the batch is done
        return not ending.failed and not self._dies()

    def _partition(self, run: str, batch: int, partition: int) -> Written | None:
        """Attempts of one task, some beside each other, until one is chosen."""
        attempts: list[Actor] = []
        first = 0
        for number in range(12):
            if self.choose(6) == 0:
                first = number  # the stage is tried again: its attempts are numbered from 0 on
            work = Work("q", run, batch, partition, number - first, f"{run}-{partition}-{number}")
            attempts.append(Actor(self.brokers, self.task(work), self.rows(batch, partition)))
            for _ in range(60):
                self._nature(1)
                live = [one for one in attempts if not one.over]
                if not live:
                    break
                one = live[self.choose(len(live))]
                one.go(self.choose)
                if one.over and not one.failed:
                    if self._dies():
                        break  # the executor is lost with its report: Spark starts another attempt
                    self.zombies += [other for other in attempts if not other.over]
                    return one.result  # type: ignore[no-any-return]
                if self.choose(12) == 0:
                    break  # another attempt: the last one is slow (speculation), or has died
            if self._dies():
                self.zombies += [one for one in attempts if not one.over]
                return None
            if self.choose(3) == 0:
                attempts = []  # the executor is gone
        self.zombies += [one for one in attempts if not one.over]
        return None

    def _dies(self) -> bool:
        if self.deaths and self.choose(8) == 0:
            self.deaths -= 1
            return True
        return False

    def _nature(self, most: int) -> None:
        """What happens by itself: commits complete, zombies go on, now and then a transaction times out."""
        for _ in range(self.choose(most + 1)):
            names = list(self.brokers.ids)
            if names and self.choose(2):
                self.brokers.settle(names[self.choose(len(names))])
            elif names and self.choose(40) == 0:
                self.brokers.expire(names[self.choose(len(names))])
            elif self.zombies:
                one = self.zombies[self.choose(len(self.zombies))]
                one.go(self.choose)
                if one.over:
                    self.zombies.remove(one)
        if most >= 100:
            for name in list(self.brokers.ids):
                self.brokers.settle(name)
