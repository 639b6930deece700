"""Between the inbox and the handler: who may pass now. The usual gate is open; `causal` has another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tapelog.toolkit.failures import Refused
from tapelog.toolkit.records import Place, Record


class Gate(Protocol):
    """Holds records back until they may be handled."""

    def admit(self, records: Sequence[Record], now: float) -> list[Record]:
        """Of these and of those held, which may be handled now, in order. The others are held."""

    def held(self) -> list[Record]:
        """Records that were offered and have not been admitted."""

    def refusal(self, record: Record) -> Refused | None:
        """Why an admitted record must not be handled, if so."""

    def passed(self, record: Record) -> None:
        """It has been handled."""

    def next_due(self) -> float | None:
        """When to ask again although nothing arrived."""

    def forget(self, places: Iterable[Place]) -> None:
        """These partitions are somebody else's now."""


class OpenGate:
    """Everybody may pass."""

    def admit(self, records: Sequence[Record], now: float) -> list[Record]:
        return list(records)

    def held(self) -> list[Record]:
        return []

    def refusal(self, record: Record) -> Refused | None:
        return None

    def passed(self, record: Record) -> None:
        """Nothing depends on it."""

    def next_due(self) -> float | None:
        return None

    def forget(self, places: Iterable[Place]) -> None:
        """Nothing is held."""
