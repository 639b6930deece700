"""With which sequence a producer that the log does not know may begin.

Owned by a ProducerState. A log accepts any sequence of a producer it has never heard of, since what came before may
have been deleted. But if its first batch was here and could not be kept — it waits for the transaction coordinator,
was refused by it, or the write failed and was taken back — then a later batch that was already under way must not
slip in before it.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.errors import ErrorCode, KafkaError

BEGINNINGS_MAX: Final = 10_000


class Beginning:
    """The lowest sequence seen of one producer in one epoch."""

    __slots__ = ("noted_ms", "sequence")

    def __init__(self, sequence: int, noted_ms: int) -> None:
        self.sequence = sequence
        self.noted_ms = noted_ms


class Beginnings:
    """At most BEGINNINGS_MAX, by producer and epoch; beyond that the one noted first is forgotten."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Beginning] = {}

    def __len__(self) -> int:
        return len(self._known)

    def note(self, producer_id: int, epoch: int, sequence: int, noted_ms: int) -> None:
        """A batch with this first sequence is here, or was."""
        known = self._known.get((producer_id, epoch))
        if known is None:
            if len(self._known) >= BEGINNINGS_MAX:
                del self._known[next(iter(self._known))]
            self._known[producer_id, epoch] = Beginning(sequence, noted_ms)
        elif sequence < known.sequence:
            known.sequence = sequence

    def check(self, producer_id: int, epoch: int, first_sequence: int) -> None:
        """OUT_OF_ORDER_SEQUENCE_NUMBER for a batch that overtakes the one with which its producer began."""
        if not self._known:
            return
        known = self._known.get((producer_id, epoch))
        if known is not None and first_sequence > known.sequence:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {producer_id} sent sequence {first_sequence} before {known.sequence} was appended",
            )

    def forget(self, producer_id: int, epoch: int) -> None:
        """It has begun."""
        self._known.pop((producer_id, epoch), None)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those noted so long ago."""
        old = [one for one, known in self._known.items() if now_ms - known.noted_ms >= expiration_ms]
        for one in old:
            del self._known[one]
