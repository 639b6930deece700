"""The nouns of a write: what a task is asked to do, the marker it leaves in its transaction, and what it reports.

Frozen and picklable; they travel between driver and executors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tapelog.client.producer_settings import OpenTransaction
from tapelog.spark.plan.values import restore
from tapelog.wire.sink_markers import FORMAT, SLOTS, id_of


@dataclass(frozen=True, slots=True)
class Tally:
    """An account of rows that does not depend on their order: a replay must come to the same."""

    rows: int = 0
    key_bytes: int = 0
    key_sum: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.rows + other.rows, self.key_bytes + other.key_bytes, self.key_sum + other.key_sum)

    def __str__(self) -> str:
        return f"{self.rows} rows with {self.key_bytes} bytes of keys"


@dataclass(frozen=True, slots=True)
class Marker:
    """What is committed with the rows of a partition: which batch they are, and who wrote them."""

    batch: int
    run: str
    attempt: str
    tally: Tally

    @property
    def offset(self) -> int:
        """As the committed offset of a group: batches begin at 0, and 0 says that nothing is done."""
        return self.batch + 1

    def text(self) -> str:
        """For the offset's metadata."""
        tally = self.tally
        return " ".join((FORMAT, self.run, self.attempt, f"{tally.rows} {tally.key_bytes} {tally.key_sum}"))

    @staticmethod
    def read(offset: int, text: str) -> Marker | None:
        """From a committed offset; None where there is none. A text that is not ours still tells the batch."""
        if offset < 1:
            return None
        parts = text.split(" ")
        if len(parts) != 6 or parts[0] != FORMAT or not all(part.isdecimal() for part in parts[3:]):
            return Marker(offset - 1, "", "", Tally(-1))
        return Marker(offset - 1, parts[1], parts[2], Tally(int(parts[3]), int(parts[4]), int(parts[5])))


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt at one partition of one batch."""

    prefix: str
    run: str
    """Of the query: another one after each start. A batch write is a run of its own."""
    batch: int
    partition: int
    number: int
    """Of the attempt, from 0 on."""
    attempt: str
    """A name that no other attempt has within the run."""
    repeats: bool = False
    """A version of txnVersion: one that is not newer than what is there is done. Else it would be a mistake."""
    moved: int | None = None
    """The slot that it took because that of its number was in use."""

    def __setstate__(self, state: Sequence[Any]) -> None:
        """From a pickle."""
        restore(self, state)

    @property
    def slot(self) -> int:
        """Which of the partition's ids."""
        return self.number % SLOTS if self.moved is None else self.moved

    @property
    def name(self) -> str:
        """Its transactional id, and the group of its marker."""
        return id_of(self.prefix, self.partition, self.slot)


def ids_of(prefix: str, partition: int, but: int | None = None) -> tuple[str, ...]:
    """All ids of a partition, or those of the other slots."""
    return tuple(id_of(prefix, partition, slot) for slot in range(SLOTS) if slot != but)


@dataclass(frozen=True, slots=True)
class Written:
    """What a task tells the driver."""

    work: Work
    tally: Tally
    open: OpenTransaction | None
    """What the driver ends; None: there was nothing to write, or it was there already."""
    before: Marker | None
    """The newest marker of the partition when the task began."""
    timeout_ms: int = 0
    two_phase: bool = False
