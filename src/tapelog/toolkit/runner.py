"""Calls the handler for a few records and collects what came of each. The engine does the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tapelog.toolkit.records import Place, Record, Send, Sends, as_sends

Handler: TypeAlias = Callable[[Record], Sends]
"""Gets a record, returns what is to be sent."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one record: messages to send, or an error."""

    record: Record
    sends: tuple[Send, ...] = ()
    error: Exception | None = None


class Runner(Protocol):
    """Runs a handler over records."""

    def run(self, records: Sequence[Record], deadline: float, *, go_on: bool) -> list[Outcome]:
        """What became of each record that was attempted, in the order given. Past the deadline no further one is; after
        a failure the rest of its partition is not, unless `go_on`."""


class InOrder:
    """One record after the other, in the calling thread."""

    def __init__(self, handle: Handler, clock: Callable[[], float] = time.monotonic) -> None:
        self._handle = handle
        self._clock = clock

    def run(self, records: Sequence[Record], deadline: float, *, go_on: bool) -> list[Outcome]:
        outcomes: list[Outcome] = []
        blocked: set[Place] = set()
        for record in records:
            if outcomes and self._clock() >= deadline:
                break
            if record.place in blocked:
                continue
            try:
                outcomes.append(Outcome(record, as_sends(self._handle(record))))
            except Exception as error:
                outcomes.append(Outcome(record, error=error))
                if not go_on:
                    blocked.add(record.place)
        return outcomes
