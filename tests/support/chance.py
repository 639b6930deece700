"""A clock one sets, and chance from a seed."""

from __future__ import annotations

import random


class FakeClock:
    """Time stands still until it is set."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def monotonic_ms(self) -> int:
        return self.now_ms

    def wall_ms(self) -> int:
        return self.now_ms


class SeededEntropy:
    """Chance from a seed."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self.random.randrange(bound)

    def token(self, size: int) -> bytes:
        return self.random.randbytes(size)
