"""The demo's books: what was sent, what came out of the pipeline, whether both agree, how fresh it is. No clients."""

from __future__ import annotations

import datetime
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Window:
    """Revenue of one region in one window; `seen_ms` is when it could be read."""

    start_ms: int
    end_ms: int
    region: str
    orders: int
    revenue: float
    seen_ms: int

    @property
    def late_s(self) -> float:
        """From the end of the window until it could be read."""
        return (self.seen_ms - self.end_ms) / 1000


@dataclass(slots=True)
class Books:
    """What the shop has sent: valid orders by window, in cents, and how many bad ones. One thread writes."""

    window_ms: int
    windows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """(orders, cents) by the beginning of the window."""
    bad: int = 0
    newest_ms: int = 0

    def sold(self, at_ms: int, amount: float) -> None:
        """A valid order was sent."""
        start = at_ms // self.window_ms * self.window_ms
        orders, sum_cents = self.windows.get(start, (0, 0))
        self.windows[start] = orders + 1, sum_cents + cents(amount)
        self.newest_ms = max(self.newest_ms, at_ms)

    def closed(self, delay_ms: int) -> set[int]:
        """Windows that are over for a pipeline that waits so long for late orders."""
        return {start for start in list(self.windows) if start + self.window_ms + delay_ms <= self.newest_ms}


@dataclass(frozen=True, slots=True)
class Sums:
    """Revenue of the same windows in three places, in cents."""

    windows: int
    sent: int
    topic: int
    table: int
    agree: bool
    """In each window, not only in total."""


@dataclass(slots=True)
class Ledger:
    """All windows by their beginning and region, dead letters by reason, and samples of the table's freshness."""

    windows: dict[tuple[int, str], Window] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)
    table: list[tuple[int, float]] = field(default_factory=list)
    """(when, seconds since the youngest window in the lake table)"""
    taken: set[tuple[str, int, int]] = field(default_factory=set)
    """Topic, partition and offset of every record so far: a reader may be given one again."""
    begun_ms: int = 0
    """When the pipeline was started: windows that were over before tell nothing about its freshness."""
    table_windows: dict[tuple[int, str], float] = field(default_factory=dict)
    """Revenue in the lake table, by window and region, as it was last read."""

    def is_new(self, topic: str, partition: int, offset: int) -> bool:
        """Whether this record comes for the first time."""
        before = len(self.taken)
        self.taken.add((topic, partition, offset))
        return len(self.taken) > before

    def add_window(self, value: bytes, seen_ms: int) -> None:
        """A record of the topic of results; one that is no window is passed over, two of one window are added up."""
        try:
            told = json.loads(value)
            start, end = _ms(told["window_start"]), _ms(told["window_end"])
            window = Window(start, end, str(told["region"]), int(told["orders"]), float(told["revenue"]), seen_ms)
        except (ValueError, KeyError, TypeError):
            return
        known = self.windows.get((start, window.region))
        if known is not None:  # a window is written once: that it was not must be seen in the sums
            window = replace(window, orders=known.orders + window.orders, revenue=known.revenue + window.revenue)
        self.windows[start, window.region] = window

    def set_table(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """All rows of the lake table."""
        found: dict[tuple[int, str], float] = {}
        for row in rows:
            key = int(row["window_start"].timestamp() * 1000), str(row["region"])
            found[key] = found.get(key, 0.0) + float(row["revenue"])
        self.table_windows = found

    def add_letter(self, headers: Iterable[tuple[str, Any]]) -> None:
        """A dead letter, by what its headers say."""
        reasons = [
            bytes(value).decode(errors="replace") for name, value in headers if name == "error-message" and value
        ]
        self.letters[_short(reasons[0]) if reasons else "no reason given"] += 1

    def has(self, starts: set[int], letters: int) -> bool:
        """Whether topic and table have these windows, and as many dead letters have come."""
        topic, table = ({start for start, _ in found} for found in (self.windows, self.table_windows))
        return starts <= topic and starts <= table and sum(self.letters.values()) >= letters

    def sums(self, books: Books) -> Sums:
        """What was sent, beside what came out, in the windows that came out."""
        topic: Counter[int] = Counter()
        table: Counter[int] = Counter()
        for (start, _), window in self.windows.items():
            topic[start] += cents(window.revenue)
        for (start, _), revenue in self.table_windows.items():
            table[start] += cents(revenue)
        starts = [start for start in books.windows if start in topic or start in table]
        rows = [(books.windows[start][1], topic[start], table[start]) for start in starts]
        agree = bool(rows) and all(len(set(row)) == 1 for row in rows)
        sent, in_topic, in_table = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)
        return Sums(len(rows), sent, in_topic, in_table, agree)

    @property
    def revenue(self) -> float:
        """Of everything so far."""
        return sum(window.revenue for window in self.windows.values())

    @property
    def orders(self) -> int:
        """Counted into windows so far."""
        return sum(window.orders for window in self.windows.values())

    def per(self, span_ms: int = MINUTE_MS) -> list[tuple[int, dict[str, float]]]:
        """Revenue by region per so many milliseconds, oldest first."""
        found: dict[int, dict[str, float]] = {}
        for window in sorted(self.windows.values(), key=lambda one: (one.start_ms, one.region)):
            regions = found.setdefault(window.start_ms // span_ms * span_ms, {})
            regions[window.region] = regions.get(window.region, 0.0) + window.revenue
        return sorted(found.items())

    def topic_late_s(self) -> list[tuple[int, float]]:
        """(when, seconds from the end of a window until it could be read from the topic), oldest first."""
        fresh = (window for window in self.windows.values() if window.end_ms >= self.begun_ms)
        return sorted((window.seen_ms, window.late_s) for window in fresh)


def middle_and_worst(samples: list[tuple[int, float]]) -> tuple[float, float] | None:
    """Median and largest; None of nothing."""
    values = [value for _, value in samples]
    return (statistics.median(values), max(values)) if values else None


def cents(amount: float) -> int:
    """Money as it is counted.

    >>> cents(0.1 + 0.2)
    30
    """
    return round(amount * 100)


def _ms(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def _short(reason: str) -> str:
    return reason.splitlines()[0][:60] if reason.strip() else "no reason given"
