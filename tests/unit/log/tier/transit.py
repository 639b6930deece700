"""Bytes of a segment in the tier that are spoilt on their way here, for tests of who reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapelog.log.tier.pieces import KEPT_MS
from tapelog.log.tier.store import StoreError
from tests.unit.log.tier.first_segment import FirstSegment

LOW_BASE: tuple[int, int] = (7, 7)
ALL = [(0, 0x10), LOW_BASE, (8, 0x80), (10, 2), (11, 0x7F), (16, 1), (23, 1)]
"""Which byte of a header is spoilt, and which of its bits: base offset, length, magic, last offset."""


class Transit(FirstSegment):
    """A log of which most is in the tier; single bytes of its first segment can be changed on the way here."""

    def __init__(self, block_bytes: int = 0) -> None:
        super().__init__(block_bytes)
        self.batch = self.size // self.end
        self.spoilt: dict[int, int] = {}
        self.stays = False
        self.asked = 0
        self._read_into = self.store.read_into
        self.store.read_into = self.read_into  # type: ignore[method-assign]

    def read_into(
        self, name: str, position: int, into: Sequence[memoryview], done: Callable[[int, StoreError | None], None]
    ) -> None:
        starts = [position + sum(map(len, into[:number])) for number in range(len(into))]
        self.asked += name == self.name

        def spoiling(number: int, error: StoreError | None) -> None:
            for at in [*self.spoilt] if name == self.name else ():
                if 0 <= at - starts[number] < len(into[number]):
                    into[number][at - starts[number]] ^= self.spoilt[at]
                    if not self.stays:
                        del self.spoilt[at]
            done(number, error)

        self._read_into(name, position, into, spoiling)

    def spoil(self, number: int, what: tuple[int, int]) -> None:
        """This of the header of the segment's batch with that number, the next time that it comes."""
        self.node.pass_time(KEPT_MS)  # what was doubted before is forgotten
        self.reads.pieces.forget(self.name)
        self.spoilt[number * self.batch + what[0]] = what[1]
