"""Waiting for a condition, with a bound: what these tests do instead of sleeping for luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 120.0
"""Long, because nobody waits longer than it takes, and the machine may be busy with something else."""


def until(condition: Callable[[], T], what: str, *, seconds: float = PATIENCE_S, pause: float = 0.02) -> T:
    """The first truthy value of `condition`; fails, naming `what` and the last value, once `seconds` have passed."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what} (last seen: {value!r})")
        time.sleep(pause)
