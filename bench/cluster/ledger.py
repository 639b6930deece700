"""What was measured so far, on disk after each figure: a run that is started again goes on where it was.

The file is what is published in the end: settings, machine, every repetition. No paths in it.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from bench.load import Figures

Settings = dict[str, str | int | float]
ATTEMPTS_MAX = 3
"""Runs without a figure after which a side has none in a row."""
UNITS = {
    "start_s": "cold start, s",
    "idle_mb": "memory idle, all nodes, MB",
    "memory_mb": "memory after the load, all nodes, MB",
    "mb_s": "MB/s acknowledged",
    "cpu_s_gb": "CPU s per GB, all nodes",
    "mb_cpu_s": "MB per CPU second (per busy core)",
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "ack_p50_ms": "acknowledged p50, ms",
    "ack_p99_ms": "acknowledged p99, ms",
    "e2e_p50_ms": "delivered p50, ms",
    "e2e_p99_ms": "delivered p99, ms",
    "cpu_us_req": "CPU µs per request, all nodes",
    "other_pct": "machine used by others, %",
}


class OtherSettingsError(Exception):
    """The file was begun with other settings: its figures and new ones would not compare."""


class Ledger:
    """Figures by row and side."""

    def __init__(self, path: Path | None, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.rows: dict[str, dict[str, list[Figures]]] = {}
        self.failures: dict[str, int] = {}
        if path is not None and path.exists():
            known = json.loads(path.read_text())
            if known["settings"] != settings:
                raise OtherSettingsError(f"{path.name} was begun with {known['settings']}, not {settings}")
            self.rows, self.failures = known["rows"], known["failures"]

    def count(self, row: str, side: str) -> int:
        """How many repetitions there are; a side that failed too often has all it will ever have."""
        if self.failures.get(f"{row}: {side}", 0) >= ATTEMPTS_MAX:
            return 1 << 30
        return len(self.rows.get(row, {}).get(side, ()))

    def add(self, row: str, side: str, figures: Figures) -> None:
        """Write a repetition down."""
        self.rows.setdefault(row, {}).setdefault(side, []).append({k: round(v, 4) for k, v in figures.items()})
        self.save()

    def failed(self, row: str, side: str) -> None:
        """There was no figure."""
        key = f"{row}: {side}"
        self.failures[key] = self.failures.get(key, 0) + 1
        self.save()

    def save(self, machine: dict[str, object] | None = None) -> None:
        """Write all of it, if there is a file."""
        if self.path is not None:
            about = {} if machine is None else {"machine": machine}
            content = {**about, "settings": self.settings, "rows": self.rows, "failures": self.failures}
            self.path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def table(self) -> str:
        """A line per figure, a column per side: the median, and the least and the greatest behind it."""
        sides = list(dict.fromkeys(side for row in self.rows.values() for side in row))
        lines = ["| | | " + " | ".join(sides) + " |", "|---|---|" + "---|" * len(sides)]
        for row, by_side in self.rows.items():
            figures = dict.fromkeys(name for runs in by_side.values() for run in runs for name in run)
            for name in figures:
                cells = [_cell([run[name] for run in by_side.get(side, ()) if name in run]) for side in sides]
                lines.append(f"| {row} | {UNITS.get(name, name)} | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    middle = _short(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({_short(min(values))}–{_short(max(values))})"


def _short(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
