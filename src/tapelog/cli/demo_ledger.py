"""What came out of the demo's pipeline: windows of revenue, dead letters, and how fresh both are. No clients."""

from __future__ import annotations

import datetime
import json
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
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
class Ledger:
    """All windows by their beginning and region, dead letters by reason, and samples of the table's freshness."""

    windows: dict[tuple[int, str], Window] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)
    table: list[tuple[int, float]] = field(default_factory=list)
    """(when, seconds since the youngest window in the lake table)"""
    table_rows: int = 0

    def add_window(self, value: bytes, seen_ms: int) -> None:
        """A record of the topic of results; one that is no window is passed over."""
        try:
            told = json.loads(value)
            start, end = _ms(told["window_start"]), _ms(told["window_end"])
            window = Window(start, end, str(told["region"]), int(told["orders"]), float(told["revenue"]), seen_ms)
        except (ValueError, KeyError, TypeError):
            return
        self.windows[start, window.region] = window

    def add_letter(self, headers: Iterable[tuple[str, Any]]) -> None:
        """A dead letter, by what its headers say."""
        reasons = [
            bytes(value).decode(errors="replace") for name, value in headers if name == "error-message" and value
        ]
        self.letters[_short(reasons[0]) if reasons else "no reason given"] += 1

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
        return sorted((window.seen_ms, window.late_s) for window in self.windows.values())


def middle_and_worst(samples: list[tuple[int, float]]) -> tuple[float, float] | None:
    """Median and largest; None of nothing."""
    values = [value for _, value in samples]
    return (statistics.median(values), max(values)) if values else None


def _ms(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def _short(reason: str) -> str:
    return reason.splitlines()[0][:60] if reason.strip() else "no reason given"
