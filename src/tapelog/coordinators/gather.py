"""Answers of several shards put together into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Gather(Generic[T]):
    """Collects a known number of parts, in their places, and hands them over when the last one is there."""

    def __init__(self, count: int, done: Callable[[list[T]], None]) -> None:
        self._parts: list[T | None] = [None] * count
        self._missing = count
        self._done = done
        if count == 0:
            done([])

    def put(self, place: int, part: T) -> None:
        """One part has come."""
        assert self._parts[place] is None, "each part comes once"
        self._parts[place] = part
        self._missing -= 1
        if self._missing == 0:
            self._done([part for part in self._parts if part is not None])
