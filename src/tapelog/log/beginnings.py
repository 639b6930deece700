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
    """The lowest sequence seen of one producer in its newest epoch."""

    __slots__ = ("epoch", "noted_ms", "sequence")

    def __init__(self, epoch: int, sequence: int, noted_ms: int) -> None:
        self.epoch = epoch
        self.sequence = sequence
        self.noted_ms = noted_ms


class Beginnings:
    """At most BEGINNINGS_MAX producers; beyond that the one noted first is forgotten."""

    def __init__(self) -> None:
        self._by_producer: dict[int, Beginning] = {}

    def __len__(self) -> int:
        return len(self._by_producer)

    def note(self, producer_id: int, epoch: int, sequence: int, noted_ms: int) -> None:
        """A batch with this first sequence is here, or was."""
        known = self._by_producer.get(producer_id)
        if known is None:
            if len(self._by_producer) >= BEGINNINGS_MAX:
                del self._by_producer[next(iter(self._by_producer))]
            self._by_producer[producer_id] = Beginning(epoch, sequence, noted_ms)
        elif epoch > known.epoch:
            self._by_producer[producer_id] = Beginning(epoch, sequence, noted_ms)
        elif epoch == known.epoch and sequence < known.sequence:
            known.sequence = sequence

    def check(self, producer_id: int, epoch: int, first_sequence: int) -> None:
        """OUT_OF_ORDER_SEQUENCE_NUMBER for a batch that overtakes the one with which its producer began."""
        known = self._by_producer.get(producer_id)
        if known is not None and known.epoch == epoch and first_sequence > known.sequence:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {producer_id} sent sequence {first_sequence} before {known.sequence} was appended",
            )

    def forget(self, producer_id: int) -> None:
        """It has begun."""
        self._by_producer.pop(producer_id, None)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those noted so long ago."""
        old = [one for one, known in self._by_producer.items() if now_ms - known.noted_ms >= expiration_ms]
        for producer_id in old:
            del self._by_producer[producer_id]
