"""The heaviest of very many keys, counted in bounded memory: the space-saving sketch (Metwally, Agrawal, El Abbadi).

With capacity c, a key that has more than 1/c of the total weight is always among the counted, and no count is more
than its `error` too high.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Heavy(Generic[K]):
    """A key with its weight; the true one is between weight - error and weight."""

    key: K
    weight: int
    error: int


class SpaceSaving(Generic[K]):
    """Counts weights of keys. Small weights of rare keys are handed down to the key that takes their place."""

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.capacity = capacity
        self.total = 0
        self._weights: dict[K, int] = {}
        self._errors: dict[K, int] = {}
        self._lightest: list[tuple[int, int, K]] = []
        self._order = 0

    def add(self, key: K, weight: int = 1) -> None:
        """Count a key."""
        self.total += weight
        known = self._weights.get(key)
        if known is not None:
            self._put(key, known + weight)
            return
        if len(self._weights) < self.capacity:
            self._errors[key] = 0
            self._put(key, weight)
            return
        least, victim = self._pop_lightest()
        del self._weights[victim], self._errors[victim]
        self._errors[key] = least
        self._put(key, least + weight)

    def _put(self, key: K, weight: int) -> None:
        self._weights[key] = weight
        self._order += 1
        heapq.heappush(self._lightest, (weight, self._order, key))
        if len(self._lightest) > 8 * self.capacity:  # mostly outdated entries: begin anew
            self._lightest = [(counted, order, one) for order, (one, counted) in enumerate(self._weights.items())]
            heapq.heapify(self._lightest)

    def _pop_lightest(self) -> tuple[int, K]:
        while True:
            weight, _, key = heapq.heappop(self._lightest)
            if self._weights.get(key) == weight:
                return weight, key

    def heaviest(self, count: int) -> list[Heavy[K]]:
        """The heaviest keys, heaviest first."""
        found = heapq.nlargest(count, self._weights.items(), key=lambda item: item[1])
        return [Heavy(key, weight, self._errors[key]) for key, weight in found]
