"""Chance from a seed: the same seed gives the same numbers on every machine and under every hash seed."""

from __future__ import annotations

import random


class SimEntropy:
    """An Entropy for simulations and tests."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = random.Random(seed)
        self._bits = self._random.getrandbits

    def below(self, bound: int) -> int:
        bits, draw = bound.bit_length(), self._bits  # what randrange does, at half its price
        assert bound > 0, "below nothing"
        while (drawn := draw(bits)) >= bound:
            pass
        return drawn

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def chance(self, percent: int) -> bool:
        """True in that many of a hundred cases."""
        return self.below(100) < percent

    def fork(self) -> SimEntropy:
        """An independent stream, so that one part drawing more does not change what another part sees."""
        return SimEntropy(self._random.getrandbits(63))
