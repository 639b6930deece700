"""What a streaming query says of itself, as a few figures: rows, rates, how far behind, what rules met. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OBSERVED: Final = "expect_"
"""Names of observations begin so; the part's name follows."""
_BEHIND: Final = "maxOffsetsBehindLatest"


@dataclass(slots=True)
class Tally:
    """The progress of one query: fed with each report of Spark once, in order."""

    batch: int = -1
    rows: int = 0
    rows_per_s: float = 0.0
    processed_per_s: float = 0.0
    batch_ms: int = 0
    position: int = 0
    """Offsets read so far, all partitions together."""
    beginning: int | None = None
    behind: int | None = None
    watermark: str | None = None
    expectations: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, report: Mapping[str, Any]) -> None:
        """Take a report; one that was taken already changes nothing."""
        batch = int(report.get("batchId", -1))
        rows = int(report.get("numInputRows") or 0)
        self.rows_per_s = float(report.get("inputRowsPerSecond") or 0.0)
        self.processed_per_s = float(report.get("processedRowsPerSecond") or 0.0)
        self._sources(report.get("sources") or ())
        self.watermark = (report.get("eventTime") or {}).get("watermark", self.watermark)
        if batch <= self.batch:
            return
        self.batch = batch
        self.rows += rows
        self.batch_ms = int(report.get("batchDuration") or 0)
        for name, row in (report.get("observedMetrics") or {}).items():
            if name.startswith(OBSERVED):
                seen = self.expectations.setdefault(name.removeprefix(OBSERVED), {})
                for title, count in dict(row).items():
                    seen[title] = seen.get(title, 0) + int(count or 0)

    def _sources(self, sources: Any) -> None:
        begin, end, behind = 0, 0, None
        known = False
        for source in sources:
            start, until = total(source.get("startOffset")), total(source.get("endOffset"))
            if until is None:
                continue
            known = True
            end += until
            begin += until if start is None else start
            latest = (source.get("metrics") or {}).get(_BEHIND)
            newest = total(source.get("latestOffset"))
            if latest is not None:
                behind = (behind or 0) + int(float(latest))
            elif newest is not None:
                behind = (behind or 0) + max(0, newest - until)
        if known:
            self.position = end
            self.beginning = begin if self.beginning is None else self.beginning
            self.behind = behind if behind is not None else self.behind

    def document(self) -> dict[str, Any]:
        """For the state file and for programs."""
        return {
            "batch": self.batch,
            "rows": self.rows,
            "rows_per_s": round(self.rows_per_s, 1),
            "processed_per_s": round(self.processed_per_s, 1),
            "batch_ms": self.batch_ms,
            "behind": self.behind,
            "watermark": self.watermark,
            "expectations": self.expectations,
        }


def total(offsets: Any) -> int | None:
    """The sum of `{"topic": {"0": 5}}`; None where these are no offsets of topics."""
    if isinstance(offsets, str):
        try:
            offsets = json.loads(offsets)
        except ValueError:
            return None
    if not isinstance(offsets, Mapping):
        return None
    found = 0
    for partitions in offsets.values():
        if not isinstance(partitions, Mapping):
            return None
        found += sum(int(one) for one in partitions.values())
    return found
