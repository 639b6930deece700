"""The world around a transaction coordinator, for random histories: partitions that take data and markers as a broker's
do, and producers of both transaction versions that live, retry, and come back as zombies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.wire.errors import ErrorCode

TopicPartition = tuple[str, int]
Codes = dict[TopicPartition, ErrorCode]

FATAL: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)


TWO_PHASE: Final = 3
"""The version of an actor that speaks transaction version 2 and leaves decisions to a database."""


class Entry:
    """A record or a marker in a partition. `unit` is the transaction as its producer sees it."""

    __slots__ = ("commit", "epoch", "marker", "producer_id", "unit")

    def __init__(
        self, producer_id: int, epoch: int, unit: str = "", marker: bool = False, commit: bool = False
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.unit = unit
        self.marker = marker
        self.commit = commit


class FakePartition:
    """A partition's rules for transactional data and markers."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.epochs: dict[int, int] = {}
        self.coordinators: dict[int, int] = {}
        self.open: dict[int, list[Entry]] = {}
        self.decided: dict[str, set[bool]] = {}
        self.marks: dict[int, int] = {}

    def append(self, producer_id: int, epoch: int, unit: str, marks: int) -> ErrorCode:
        """Data of a transaction; `marks` is how many markers of the producer there were when the gate was asked."""
        if epoch < self.epochs.get(producer_id, -1):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marks != self.marks.get(producer_id, 0):
            return ErrorCode.INVALID_TXN_STATE
        self.epochs[producer_id] = epoch
        entry = Entry(producer_id, epoch, unit)
        self.entries.append(entry)
        self.open.setdefault(producer_id, []).append(entry)
        return ErrorCode.NONE

    def mark(self, marker: TxnMarker) -> ErrorCode:
        """A marker: ends the producer's open transaction here."""
        known = self.epochs.get(marker.producer_id, -1)
        if marker.coordinator_epoch < self.coordinators.get(marker.producer_id, -1):
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        if marker.producer_epoch < known:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marker.transaction_version >= 2 and marker.producer_epoch == known:
            opened = bool(self.open.get(marker.producer_id))
            return ErrorCode.INVALID_PRODUCER_EPOCH if opened else ErrorCode.NONE
        self.epochs[marker.producer_id] = marker.producer_epoch
        self.coordinators[marker.producer_id] = marker.coordinator_epoch
        self.marks[marker.producer_id] = self.marks.get(marker.producer_id, 0) + 1
        self.entries.append(Entry(marker.producer_id, marker.producer_epoch, "", True, marker.commit))
        for entry in self.open.pop(marker.producer_id, []):
            self.decided.setdefault(entry.unit, set()).add(marker.commit)
        return ErrorCode.NONE


class FakeCluster:
    """The partitions, as `MarkerWriter` and as the place where producers write. Markers can be late, and refused."""

    def __init__(self, partitions: int) -> None:
        self.partitions = {("orders", index): FakePartition() for index in range(partitions)}
        self.refusals: Codes = {}
        self.held = False
        self.waiting: list[tuple[TxnMarker, list[TopicPartition], Callable[[Codes], None]]] = []

    def write(self, marker: TxnMarker, partitions: list[TopicPartition], done: Callable[[Codes], None]) -> None:
        if self.held:
            self.waiting.append((marker, partitions, done))
        else:
            self._answer(marker, partitions, done)

    def release(self) -> None:
        """Markers that were on their way arrive."""
        self.held = False
        waiting, self.waiting = self.waiting, []
        for marker, partitions, done in waiting:
            self._answer(marker, partitions, done)

    def crash(self, arrive: int) -> None:
        """The coordinator dies: some markers on their way arrive all the same, and nobody hears of it."""
        waiting, self.waiting = self.waiting, []
        for marker, partitions, _ in waiting[:arrive]:
            self._answer(marker, partitions, lambda _: None)

    def _answer(self, marker: TxnMarker, partitions: list[TopicPartition], done: Callable[[Codes], None]) -> None:
        codes: Codes = {}
        for where in partitions:
            code = self.refusals.get(where, ErrorCode.NONE)
            codes[where] = code if code != ErrorCode.NONE else self.partitions[where].mark(marker)
        done(codes)

    def outcomes(self) -> dict[str, set[bool]]:
        """How each transaction's records ended, over all partitions: committed, aborted, or (never!) both."""
        found: dict[str, set[bool]] = {}
        for partition in self.partitions.values():
            for unit, ends in partition.decided.items():
                found.setdefault(unit, set()).update(ends)
        return found

    def undecided(self) -> list[str]:
        """The transactions that have records without an end."""
        return sorted(
            {entry.unit for partition in self.partitions.values() for open in partition.open.values() for entry in open}
        )


class Actor:
    """A producer process."""

    def __init__(self, name: str, transactional_id: str, version: int) -> None:
        self.name = name
        self.transactional_id = transactional_id
        self.version = version
        self.life = 0
        self.number = 0
        self.gone = False
        self.reset()

    def reset(self) -> None:
        """The process starts again: it knows nothing, and answers to its former self are lost."""
        self.life += 1
        self.producer_id = -1
        self.epoch = -1
        self.busy = False
        self.ready = False
        self.written = 0
        self.ending: bool | None = None
        self.added: set[int] = set()
        self.next_unit()

    def give_up(self) -> None:
        """Told that it is fenced, or that its transaction is lost."""
        self.reset()
        self.gone = True

    def next_unit(self) -> None:
        """The next transaction begins."""
        self.number += 1
        self.unit = f"{self.name}.{self.number}"
        self.written = 0
        self.ending = None
        self.added = set()
