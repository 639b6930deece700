"""Walking the segments of a manifest in order, through its pages. Pure: a page that is not at hand is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tapelog.log.tier.manifest import Entry, Manifest, Page, PageRef, SegmentEntry

PAGES_HELD_MAX: Final = 32
"""Pages that a machine keeps at hand."""


class PageWantedError(Exception):
    """Go on once this page is at hand."""

    def __init__(self, ref: PageRef) -> None:
        super().__init__(ref.name)
        self.ref = ref


def oldest_first(manifest: Manifest, pages: Mapping[str, Page]) -> Iterator[SegmentEntry]:
    """The segments that count. PageWantedError where a page is missing."""
    for entry in _segments(manifest.entries(), pages, manifest.start_offset, None):
        if isinstance(entry, SegmentEntry):
            yield entry


def named_between(
    manifest: Manifest, pages: Mapping[str, Page], first: int, end: int, leaves: bool = True
) -> dict[str, None]:
    """The names of all segments and pages that count and have a part in [first, end); without leaves of pages alone,
    which need not be read for it. PageWantedError."""
    first = max(first, manifest.start_offset)
    return {entry.name: None for entry in _segments(manifest.entries(), pages, first, end, leaves)}


def _segments(
    entries: Sequence[Entry], pages: Mapping[str, Page], first: int, end: int | None, leaves: bool = True
) -> Iterator[SegmentEntry | PageRef]:
    """Entries that end behind first and do not begin at or behind end; a page before what it holds."""
    for entry in entries:
        if entry.end_offset <= first:
            continue
        begin = entry.base_offset if isinstance(entry, SegmentEntry) else entry.first_offset
        if end is not None and begin >= end:
            return
        yield entry
        if isinstance(entry, PageRef) and (leaves or entry.level > 0):
            page = pages.get(entry.name)
            if page is None:
                raise PageWantedError(entry)
            yield from _segments(page.entries, pages, first, end, leaves)
