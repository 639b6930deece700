"""The loop that all promises share: take, handle, send, settle; and put back what has to be done again.

One thread runs it. The clients come in as Source and Delivery, the handler as Runner, so tests run it without a broker.
A batch ends when it has `records` records or is `seconds` old, and always before partitions are given up.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tapelog.toolkit.delivery import Delivery, Settled
from tapelog.toolkit.durations import Backoff
from tapelog.toolkit.failures import Again, Instead, OnError, Refused, Stop
from tapelog.toolkit.gate import Gate, OpenGate
from tapelog.toolkit.progress import Progress
from tapelog.toolkit.records import Place, Record, Send
from tapelog.toolkit.runner import Outcome, Runner
from tapelog.toolkit.sink import Interrupted, SendFailed
from tapelog.toolkit.source import POLL_S_MAX, Damaged, Source
from tapelog.toolkit.transactions import Undone
from tapelog.toolkit.watch import NoBroker, NoTopic

log = logging.getLogger(__name__)

LAST_ATTEMPTS_MAX = 5
"""How often a loop that stops tries to commit the offsets of what it has finished."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a batch ends: with this many records, or when its first record is this old."""

    records: int
    seconds: float


@dataclass(slots=True)
class Stats:
    """What a loop has done so far. What was undone is not among `handled` and `sent`."""

    handled: int = 0
    sent: int = 0
    failed: int = 0
    batches: int = 0
    undone: int = 0


@dataclass(slots=True)
class Engine:
    """Works through what the source gives."""

    delivery: Delivery
    runner: Runner
    on_error: OnError
    bounds: Bounds
    gate: Gate = field(default_factory=OpenGate)
    clock: Callable[[], float] = time.monotonic
    backoff: Backoff = field(default_factory=lambda: Backoff(0.1, 5.0))
    pause: Callable[[float], object] = time.sleep
    stats: Stats = field(default_factory=Stats)
    _progress: Progress = field(default_factory=Progress)
    _attempts: dict[tuple[Place, int], int] = field(default_factory=dict)
    _instead: dict[tuple[Place, int], tuple[Send, ...]] = field(default_factory=dict)
    _suspects: set[tuple[Place, int]] = field(default_factory=set)
    _began: float | None = None
    _undone_in_a_row: int = 0
    _open_handled: int = 0
    _open_sent: int = 0

    def run(self, source: Source, stopping: Callable[[], bool], *, to_end: bool = False) -> None:
        """Work until told to stop, or until everything has been read (`to_end`). Ends with all that is finished
        committed, also when an error ends it."""
        try:
            if not self._prepare(source, stopping):
                return
            source.open()
            while not stopping():
                self.round(source)
                if to_end and source.at_end() and not len(self._progress) and not self.gate.held():
                    break
            self._settle_finally(source)
        except (Interrupted, NoBroker):  # nobody would answer an abort, or a commit when partitions are given up
            source.abandon()
            raise
        except BaseException:
            if self.delivery.in_order:
                with suppress(Exception):  # the error that ends the loop matters more
                    self._undo(source)
            raise
        finally:
            try:
                source.close()
            finally:
                self.delivery.close()

    def _settle_finally(self, source: Source) -> None:
        for attempt in range(1, LAST_ATTEMPTS_MAX + 1):
            if self.settle(source) is not Settled.LATER:
                break
            self.pause(self.backoff.wait_s(attempt))

    def _prepare(self, source: Source, stopping: Callable[[], bool]) -> bool:
        """Whether it is ready; not when it was told to stop before that."""
        attempt = 0
        while not stopping():
            try:
                self.delivery.prepare(source)
                return True
            except Undone as error:
                attempt += 1
                log.warning("not ready yet: %s", error)
                self.pause(self.backoff.wait_s(attempt))
            except Interrupted:  # nothing has begun
                break
        return False

    def round(self, source: Source) -> None:
        """One turn: take what is there, work on it, settle when the batch is full or old enough."""
        try:
            records = source.take(self._records_max() - len(self._progress), self._patience())
        except (Damaged, NoTopic):  # at every start they would be met again: what came before must count at last
            self._settle_finally(source)
            raise
        if records or self._gate_is_due():
            self._work(source, records)
        if self._batch_is_over():
            self.settle(source)

    def _records_max(self) -> int:
        return 1 if self._suspects else self.bounds.records

    def _patience(self) -> float:
        now = self.clock()
        times = [now + POLL_S_MAX, self.gate.next_due()]
        if self._began is not None:
            times.append(self._began + self.bounds.seconds)
        return max(0.0, min(time for time in times if time is not None) - now)

    def _gate_is_due(self) -> bool:
        due = self.gate.next_due()
        return due is not None and self.clock() >= due

    def _batch_is_over(self) -> bool:
        if self._began is None:
            return False
        return len(self._progress) >= self._records_max() or self.clock() - self._began >= self.bounds.seconds

    def _work(self, source: Source, records: list[Record]) -> None:
        for record in records:
            self._progress.take(record)
        if self._began is None:
            self._began = self.clock()
        if self.delivery.commits_first:
            for record in records:
                self._progress.finish(record)
            if self.settle(source) is not Settled.DONE:
                return
            self._began = self.clock()
        ready = self.gate.admit(records, self.clock())
        while ready:
            if not self.delivery.commits_first:
                for record in ready:
                    self._progress.take(record)
                self._progress.give_back(self.gate.held())
            try:
                if not self._handle(source, ready):
                    return
            except Undone:
                self._undone(source)
                return
            ready = self.gate.admit((), self.clock())
        if not self.delivery.commits_first:
            self._progress.give_back(self.gate.held())

    def _handle(self, source: Source, records: list[Record]) -> bool:
        """Handle these and send what they lead to; what was not attempted goes back. False when the batch is undone."""
        first = self.delivery.commits_first
        outcomes = self._outcomes(records, go_on=first)
        later: list[Record] = []
        broken: set[Place] = set()
        for record in records:
            outcome = outcomes.get(record.coordinates)
            if outcome is None or (record.place in broken and self.delivery.in_order):
                later.append(record)
                continue
            error = outcome.error
            if error is None:
                try:
                    self._send(record, outcome.sends)
                except SendFailed as failure:
                    if self.delivery.in_order:  # some of its messages may be in the transaction already
                        self._undo(source)
                        self._decide(source, record, failure, remember=True)
                        return False
                    error = failure
            if error is None or self._decide(source, record, error):
                self._finished(record, handled=error is None)
            else:
                broken.add(record.place)
                later.append(record)
        if later and not first:
            self._progress.give_back(later)
            source.inbox.put_back(later)
        return True

    def _outcomes(self, records: list[Record], *, go_on: bool) -> dict[str, Outcome]:
        decided: dict[str, Outcome] = {}
        for record in records:
            refused = self.gate.refusal(record)
            if refused is not None:
                decided[record.coordinates] = Outcome(record, error=refused)
            elif (record.place, record.offset) in self._instead:
                decided[record.coordinates] = Outcome(record, self._instead[record.place, record.offset])
        others = [record for record in records if record.coordinates not in decided]
        assert self._began is not None
        deadline = float("inf") if go_on else self._began + self.bounds.seconds
        ran = self.runner.run(others, deadline, go_on=go_on) if others else []
        return decided | {outcome.record.coordinates: outcome for outcome in ran}

    def _send(self, record: Record, sends: Sequence[Send]) -> None:
        self.delivery.send(record, sends)
        self._open_sent += len(sends)

    def _finished(self, record: Record, *, handled: bool) -> None:
        self._open_handled += 1
        if handled:
            self.gate.passed(record)
        self._attempts.pop((record.place, record.offset), None)
        self._instead.pop((record.place, record.offset), None)
        if not self.delivery.commits_first:
            self._progress.finish(record)

    def _decide(self, source: Source, record: Record, error: Exception, *, remember: bool = False) -> bool:
        """Ask the policy. True when the record is dealt with, False when it comes again; Stop raises."""
        key = record.place, record.offset
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self.stats.failed += 1
        policy = error.policy if isinstance(error, Refused) else self.on_error
        decision = policy.decide(record, error, attempt)
        log.warning("%s failed at attempt %d; %s", record.coordinates, attempt, decision, exc_info=error)
        match decision:
            case Stop():
                with suppress(Interrupted, NoBroker):  # the handler's error matters more
                    self.settle(source)
                error.add_note(f"while handling {record.coordinates}, attempt {attempt}")
                raise error
            case Again(after_s) if not self.delivery.commits_first:
                source.inbox.delay(record.place, self.clock() + after_s)
                return False
            case Instead(sends):
                if remember:
                    self._instead[key] = tuple(sends)
                else:
                    self._send(record, sends)
        return True

    def settle(self, source: Source) -> Settled:
        """End the batch."""
        positions = self._progress.positions()
        settled = self.delivery.settle(positions)
        if settled is Settled.DONE:
            self._progress.committed(positions)
            self._suspects = {
                (place, offset)
                for place, offset in self._suspects
                if place not in positions or offset >= positions[place].offset
            }
            self.stats.batches += self._began is not None
            self.stats.handled += self._open_handled
            self.stats.sent += self._open_sent
            self._open_handled = self._open_sent = 0
            self._undone_in_a_row = 0
            self._began = None
        elif settled is Settled.LATER:
            self._began = self.clock()
        else:
            self._undone(source)
        return settled

    def _undone(self, source: Source) -> None:
        """The batch is to be done again, after a pause that grows as long as that goes on.

        When the broker refused a message, it refused all that travelled with it: they are done again one by one, and
        the policy is asked about a record only when it was alone.
        """
        alone = len(self._progress) == 1
        self._undo(source)
        failures = self.delivery.failures.take()
        for record, failure in failures:
            if alone:
                self._decide(source, record, failure, remember=True)
            else:
                self._suspects.add((record.place, record.offset))
        if not failures:
            self._undone_in_a_row += 1
            source.inbox.close(self.clock() + self.backoff.wait_s(self._undone_in_a_row))

    def _undo(self, source: Source) -> None:
        self.delivery.undo()
        source.inbox.put_back(self._progress.undo())
        self.stats.undone += 1
        self._open_handled = self._open_sent = 0
        self._began = None

    def leaving(self, source: Source, places: set[Place], *, lost: bool) -> None:
        """Partitions are given up: settle first, if that is still allowed, then forget them."""
        if not lost:
            self.settle(source)
        elif self.delivery.in_order and len(self._progress):
            self._undo(source)
        self._progress.forget(places)
        self.gate.forget(places)
        self._suspects = {key for key in self._suspects if key[0] not in places}
        for key in [key for key in self._attempts if key[0] in places]:
            del self._attempts[key]
        for key in [key for key in self._instead if key[0] in places]:
            del self._instead[key]
