"""Rare events: what a thousand lives must have seen, or they prove little. Counted by whoever notices them."""

from __future__ import annotations


class Rare:
    """Counters by name."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, name: str, times: int = 1) -> None:
        """It happened, so often."""
        if times:
            self.counts[name] = self.counts.get(name, 0) + times
