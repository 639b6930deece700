"""Lengths of time as people write them, and how waiting grows from attempt to attempt."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TEXT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def seconds(length: str | float) -> float:
    """A length of time in seconds: `"5s"`, `"1.5m"`, `"250ms"`, `"1h"`, `"7d"`, or a number of seconds.

    >>> seconds("1.5m"), seconds(2)
    (90.0, 2.0)
    """
    if not isinstance(length, str):
        if length < 0:
            raise ValueError(f"{length} s: a length of time is not negative")
        return float(length)
    match = _TEXT.fullmatch(length.strip())
    if match is None:
        raise ValueError(f"{length!r} is no length of time; write 250ms, 5s, 1.5m, 1h or 7d")
    return float(match[1]) * _UNITS_S[match[2]]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waiting that doubles from `first` up to `most`, shortened by chance so that many do not come back at once.

    >>> Backoff("100ms", "10s", chance=lambda: 0.0).wait_s(3)
    0.4
    """

    first: str | float = 0.1
    most: str | float = 10.0
    factor: float = 2.0
    spread: float = 0.2
    chance: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def wait_s(self, attempt: int) -> float:
        """How long to wait after the attempt of that number; the first is 1."""
        exponent = min(attempt - 1, 64)
        whole = min(seconds(self.first) * self.factor**exponent, seconds(self.most))
        return whole * (1 - self.spread * self.chance())
