"""How a batch gets into a table exactly once: a machine without I/O. `run.py` performs what it asks for.

    look for the marker → announce the attempt → write files → commit files and marker together → sweep → done

The marker is the number of the newest batch of this query that the table holds; it lies inside the commit, and a
commit succeeds only if nobody has committed since the marker was read. Hence:
- a batch that is replayed after its commit finds its marker and is skipped;
- of two drivers with the same batch (one thought dead), one wins the race; the other looks again, and skips;
- a crash before the commit leaves files that nobody reads. Their attempt was announced first; it is swept once a
  batch as young as it is committed, since then it can never be committed any more. Never before: its driver may be
  alive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from tapelog.spark.lake.values import DataFile, Marker

CONFLICTS_MAX: Final = 50
"""Others may change the table so often between look and commit; then the batch fails, and is replayed."""


class Step(Enum):
    """What the machine waits for."""

    LOOK = auto()
    ANNOUNCE = auto()
    WRITE = auto()
    COMMIT = auto()
    LOOK_AGAIN = auto()
    SWEEP = auto()
    DONE = auto()


_LEGAL: Final = {
    Step.LOOK: (Step.ANNOUNCE, Step.SWEEP),
    Step.ANNOUNCE: (Step.WRITE,),
    Step.WRITE: (Step.COMMIT, Step.SWEEP),
    Step.COMMIT: (Step.SWEEP, Step.LOOK_AGAIN),
    Step.LOOK_AGAIN: (Step.COMMIT, Step.SWEEP),
    Step.SWEEP: (Step.DONE,),
    Step.DONE: (),
}


@dataclass(slots=True)
class Batch:
    """One attempt to get one batch into the table. Ask `step`, perform it, tell the outcome."""

    version: int
    attempt: str
    step: Step = Step.LOOK
    files: tuple[DataFile, ...] = ()
    marker: Marker | None = None
    """The table's, as last seen or made."""
    skipped: bool = False
    conflicts: int = field(default=0)

    def looked(self, marker: Marker | None) -> None:
        """The table's marker was read, before writing or after a lost race."""
        assert self.step in (Step.LOOK, Step.LOOK_AGAIN)
        self.marker = marker
        if marker is not None and marker.version >= self.version:
            # after a lost race the winner may be this very attempt, whose answer was lost
            self.skipped = marker.attempt != self.attempt
            self._go(Step.SWEEP)
        else:
            self._go(Step.ANNOUNCE if self.step is Step.LOOK else Step.COMMIT)

    def announced(self) -> None:
        """The attempt can be found from now on."""
        self._go(Step.WRITE)

    def written(self, files: tuple[DataFile, ...]) -> None:
        """Every task has ended; these files are complete."""
        assert self.step is Step.WRITE
        self.files = files
        self._go(Step.COMMIT if files else Step.SWEEP)

    def committed(self) -> None:
        """Files and marker are in the table."""
        self.marker = Marker(self.version, self.attempt)
        self._go(Step.SWEEP)

    def conflicted(self) -> bool:
        """Somebody else was first. False: too often, give up."""
        self.conflicts += 1
        self._go(Step.LOOK_AGAIN)
        return self.conflicts <= CONFLICTS_MAX

    def swept(self) -> None:
        """What dead attempts left is gone."""
        self._go(Step.DONE)

    def _go(self, to: Step) -> None:
        assert to in _LEGAL[self.step], f"{self.step.name} does not lead to {to.name}"
        self.step = to


def doomed(intents: list[tuple[int, str]], batch: Batch) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Of announced attempts (version, attempt): those whose files can go, and those that need not be known any more.

    An attempt at a batch that is in the table, and which did not put it there, can never be committed. Attempts at
    younger batches are left alone: whoever made them may be about to commit. Our own is done for if it had no rows, or
    lost the race; then its winner may have swept its announcement before it wrote.
    """
    files: list[tuple[int, str]] = []
    forgotten: list[tuple[int, str]] = []
    own = (batch.version, batch.attempt)
    if batch.skipped and batch.files:
        files.append(own)
    for each in intents:
        version, attempt = each
        if each == own and not batch.files:
            files.append(each)
        elif batch.marker is not None and version <= batch.marker.version and each not in files:
            (forgotten if attempt == batch.marker.attempt else files).append(each)
    return files, forgotten
