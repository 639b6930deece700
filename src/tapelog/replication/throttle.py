"""Replication throttles: how many bytes a second replicas that catch up may take, and which replicas that concerns.

`leader.replication.throttled.rate` and `follower.replication.throttled.rate` are the rates,
`…replication.throttled.replicas` of a topic says which replicas; those in the ISR are never held back. Decisions only:
leaders ask before they answer a fetch, followers before they send one.
"""

from __future__ import annotations

from typing import Final

UNLIMITED: Final = 9223372036854775807
WINDOWS: Final = 11
"""replication.quota.window.num: over so many seconds the rate is measured."""
WINDOW_MS: Final = 1000


class Throttle:
    """Bytes counted over the last windows, against a rate."""

    def __init__(self, rate: int = UNLIMITED) -> None:
        self.rate = rate
        self._windows: list[tuple[int, int]] = []
        self._first_ms = -1

    @property
    def active(self) -> bool:
        """Whether there is a limit at all."""
        return self.rate < UNLIMITED

    def record(self, size: int, now_ms: int) -> None:
        """So many bytes went through."""
        number = now_ms // WINDOW_MS
        if self._first_ms < 0:
            self._first_ms = now_ms
        windows = self._windows
        if windows and windows[-1][0] == number:
            windows[-1] = (number, windows[-1][1] + size)
        else:
            windows.append((number, size))
            while windows[0][0] <= number - WINDOWS:
                windows.pop(0)

    def exceeded(self, now_ms: int) -> bool:
        """More went through than the rate allows."""
        if not self.active or not self._windows:
            return False
        oldest = now_ms // WINDOW_MS - WINDOWS
        total = sum(size for number, size in self._windows if number > oldest)
        since_ms = max(self._first_ms, (oldest + 1) * WINDOW_MS)
        return total * 1000 > self.rate * max(now_ms - since_ms, WINDOW_MS)


class ThrottledReplicas:
    """A topic's `throttled.replicas`: `*`, `none`, empty, or `partition:broker` pairs."""

    def __init__(self, text: str) -> None:
        text = text.strip()
        self.everybody = text == "*"
        self._pairs: dict[tuple[int, int], None] = {}
        if text and not self.everybody and text != "none":
            for pair in text.split(","):
                index, _, broker = pair.strip().partition(":")
                if index.isdecimal() and broker.isdecimal():
                    self._pairs[int(index), int(broker)] = None

    def covers(self, index: int, broker: int) -> bool:
        """Whether that broker's replica of that partition is one of them."""
        return self.everybody or (index, broker) in self._pairs
