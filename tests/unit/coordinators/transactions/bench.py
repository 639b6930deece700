"""A transaction coordinator on a bench: virtual clock, a log in memory that commits when told to, markers that are
written, refused or left unanswered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.base.timers import Timers
from tapelog.coordinators.caller import Caller
from tapelog.coordinators.transactions.coordinator import TransactionCoordinator
from tapelog.coordinators.transactions.machine import TransactionMachine
from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.wire.errors import ErrorCode, KafkaError
from tests.unit.coordinators.bench import BenchClock, BenchLog

Codes = dict[tuple[str, int], ErrorCode]


class BenchMarkers:
    """Remembers what was written; answers at once, or, when held, by `release`."""

    def __init__(self) -> None:
        self.written: list[tuple[TxnMarker, tuple[str, int]]] = []
        self.codes: Codes = {}
        self.held = False
        self.waiting: list[tuple[TxnMarker, list[tuple[str, int]], Callable[[Codes], None]]] = []
        self.calls = 0

    def write(self, marker: TxnMarker, partitions: list[tuple[str, int]], done: Callable[[Codes], None]) -> None:
        self.calls += 1
        if self.held:
            self.waiting.append((marker, partitions, done))
        else:
            self._answer(marker, partitions, done)

    def release(self) -> None:
        """Write what waits; later ones are not held."""
        self.held = False
        waiting, self.waiting = self.waiting, []
        for marker, partitions, done in waiting:
            self._answer(marker, partitions, done)

    def _answer(self, marker: TxnMarker, partitions: list[tuple[str, int]], done: Callable[[Codes], None]) -> None:
        codes = {where: self.codes.get(where, ErrorCode.NONE) for where in partitions}
        self.written += [(marker, where) for where, code in codes.items() if code == ErrorCode.NONE]
        done(codes)


class TransactionBench:
    """A transaction coordinator with everything around it, and the answers it gave."""

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        *,
        log: BenchLog | None = None,
        markers: BenchMarkers | None = None,
        clock: BenchClock | None = None,
        first_id: int = 1000,
        leader_epoch: int = 7,
    ) -> None:
        self.clock = clock or BenchClock()
        self.timers = Timers(self.clock)
        self.log = log or BenchLog()
        self.markers = markers or BenchMarkers()
        self.topics = {"orders": 4, "events": 2}
        self.next_id = first_id
        self.no_ids: KafkaError | None = None
        names = {"transaction.state.log.num.partitions": "1"} | (settings or {})
        self.coordinator = TransactionCoordinator(
            self.log, self.timers, self.markers, self.new_id, lambda name: self.topics.get(name, 0), len, names
        )
        for partition in range(self.coordinator.config.partitions):
            self.coordinator.runtime.on_elected(partition, leader_epoch)
        self.settle()

    def new_id(self, done: Callable[[int | KafkaError], None]) -> None:
        """Ids from 1000 on."""
        if self.no_ids is not None:
            done(self.no_ids)
            return
        self.next_id += 1
        done(self.next_id - 1)

    def settle(self) -> None:
        """End of a wake-up, and of those that follow from it at the same instant."""
        runtime = self.coordinator.runtime
        for _ in range(1000):
            runtime.flush()
            if self.log.news:
                partition = self.log.news.pop(0)
                runtime.on_high_watermark(partition, self.log.high_watermark(partition))
            elif not runtime.busy and not self.timers.run_due():
                return
        raise AssertionError("it never settles")

    def advance(self, milliseconds: int) -> None:
        """Let time pass, timer by timer."""
        until = self.clock.now_ms + milliseconds
        while True:
            due = self.timers.next_due_ms()
            if due is None or due > until:
                break
            self.clock.now_ms = max(due, self.clock.now_ms)
            self.settle()
        self.clock.now_ms = until
        self.settle()

    def release(self) -> None:
        """The high watermark reaches the end of every partition."""
        for partition in list(self.log.batches):
            end = self.log.end_offset(partition)
            self.log.committed[partition] = end
            self.coordinator.runtime.on_high_watermark(partition, end)
        self.settle()

    def ask(self, api: str, request: Any, version: int, *, settle: bool = True) -> list[Any]:
        """Send a request; the list gets the response when there is one."""
        answers: list[Any] = []
        getattr(self.coordinator, api)(Caller("c", "/127.0.0.1", version), request, answers.append)
        if settle:
            self.settle()
        return answers

    @property
    def machine(self) -> TransactionMachine:
        """The machine of the only partition."""
        machine = self.coordinator.runtime.machine(0)
        assert machine is not None
        return machine
