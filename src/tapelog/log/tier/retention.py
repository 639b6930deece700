"""Where a tiered log should begin: retention.ms and retention.bytes over everything, in the tier and not. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapelog.log.tier.manifest import Entry, Manifest, Page, SegmentEntry
from tapelog.log.tier.operations import View
from tapelog.log.tier.walk import PageWantedError


@dataclass(frozen=True, slots=True)
class Trim:
    """A later beginning, and how many segments with how many bytes of batches count no more."""

    start_offset: int
    count: int
    log_bytes: int


def plan(manifest: Manifest, pages: Mapping[str, Page], view: View) -> Trim | None:
    """What should go now; None if nothing. PageWantedError where an old page must be seen first.

    Segments go whole and oldest first: those below the log's start, those without a record younger than retention.ms
    (or, where none has a timestamp, that were written longer ago), those without which at least retention.bytes stay.
    Where much is to go it may go in several trims.
    """
    if view.hold:
        return None
    budget = _Budget(manifest, view)
    if budget.start > manifest.start_offset or budget.excess >= 0 or budget.limit_ms is not None:
        try:
            _spend(manifest.entries(), pages, budget)
        except PageWantedError:
            if not budget.count:
                raise
    return Trim(budget.start, budget.count, budget.log_bytes) if budget.start > manifest.start_offset else None


class _Budget:
    """What may go, and what has."""

    def __init__(self, manifest: Manifest, view: View) -> None:
        self.oldest = manifest.start_offset
        self.start = max(manifest.start_offset, view.start_offset)
        self.excess = (
            manifest.log_bytes + view.untiered_bytes - view.retention_bytes if view.retention_bytes >= 0 else -1
        )
        self.limit_ms = view.wall_ms - view.retention_ms if view.retention_ms >= 0 else None
        self.count = 0
        self.log_bytes = 0

    def takes(self, end_offset: int, kept_since_ms: int, log_bytes: int, count: int) -> bool:
        """Whether this goes, too; counts it if so."""
        late = self.limit_ms is not None and 0 <= kept_since_ms < self.limit_ms
        large = self.excess - self.log_bytes >= log_bytes
        if end_offset > self.start and not late and not large:
            return False
        self.start = max(self.start, end_offset)
        self.count += count
        self.log_bytes += log_bytes
        return True


def _spend(entries: Sequence[Entry], pages: Mapping[str, Page], budget: _Budget) -> bool:
    """Take from the front what goes; False once something stays. A page goes whole, unseen, where all of it counts."""
    for entry in entries:
        if entry.end_offset <= budget.oldest:
            continue
        if isinstance(entry, SegmentEntry):
            if not budget.takes(entry.end_offset, entry.kept_since_ms, entry.log_size, 1):
                return False
        elif entry.first_offset < budget.oldest or not budget.takes(
            entry.end_offset, entry.kept_since_ms, entry.log_bytes, entry.count
        ):
            page = pages.get(entry.name)
            if page is None:
                raise PageWantedError(entry)
            if not _spend(page.entries, pages, budget):
                return False
    return True
