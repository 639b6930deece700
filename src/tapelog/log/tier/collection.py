"""Objects that count no more, or never did: found by listing, and deleted. A machine; part of the uploader.

Two passes. *Dead* objects end at or below a start offset that was committed a while ago: names tell that. *Orphans*
are named by nobody: left by a crash between an upload and its commit, by a failed delete, by a leader that was fenced.
The caller has claimed the manifest, so that nobody else can commit an object of an epoch up to its own any more, and
uploads nothing meanwhile. Objects older than the manifest itself may be all that is left of a lost one: no orphans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.log.tier import layout, walk
from tapelog.log.tier.manifest import Manifest, Page
from tapelog.log.tier.operations import DeleteObjects, ListObjects
from tapelog.log.tier.store import Listing

DIRECTORIES: Final = (layout.SEGMENTS, layout.PAGES)
NAMES_AT_ONCE: Final = 500
"""Compared with the manifest at a time: the pages for it must be at hand together."""


class Collection:
    """One pass over one partition's objects."""

    def __init__(self, prefix: str, dead_below: int, leader_epoch: int, orphans: bool) -> None:
        self.orphans = orphans
        self.found = 0
        """Objects deleted so far."""
        self._prefix = prefix
        self.dead_below = dead_below
        self._leader_epoch = leader_epoch
        self._directory = 0
        self._after = ""
        self._listed: tuple[str, ...] = ()
        self._more = True
        self._going = 0

    def next(self, manifest: Manifest, pages: Mapping[str, Page], kept: str) -> ListObjects | DeleteObjects | None:
        """What to do; None when the pass is over. PageWantedError where a page must be seen first.

        kept: an object that is uploaded and not yet committed."""
        while True:
            while self._listed:
                gone = self._gone(manifest, pages, kept)
                if gone:
                    return DeleteObjects(gone)
                self._listed = self._listed[NAMES_AT_ONCE:]
            if self._more:
                return ListObjects(DIRECTORIES[self._directory], self._after)
            self._directory += 1
            if self._directory == len(DIRECTORIES):
                self._directory = 0
                return None
            self._after, self._more = "", True

    def listed(self, listing: Listing) -> None:
        """The result of ListObjects."""
        names = tuple(found.name[len(self._prefix) :] for found in listing.objects)
        self._listed = names
        self._more = listing.more and bool(names)
        if names:
            self._after = self._prefix + names[-1]
            last = layout.parse_span(names[-1])
            if not self.orphans and last is not None and last.first_offset >= self.dead_below:
                self._more = False

    def deleted(self) -> None:
        """DeleteObjects has succeeded."""
        self.found += self._going
        self._listed = self._listed[NAMES_AT_ONCE:]

    def _gone(self, manifest: Manifest, pages: Mapping[str, Page], kept: str) -> tuple[str, ...]:
        part = self._listed[:NAMES_AT_ONCE]
        spans = [(name, span) for name in part if (span := layout.parse_span(name)) is not None]
        spans = [(name, span) for name, span in spans if span.leader_epoch <= self._leader_epoch and name != kept]
        dead_below = min(self.dead_below, manifest.start_offset)  # what was planned and not committed does not count
        gone = {name: None for name, span in spans if span.end_offset <= dead_below}
        rest = [(name, span) for name, span in spans if span.end_offset > manifest.start_offset]
        rest = [(name, span) for name, span in rest if span.leader_epoch >= manifest.since_epoch]
        if self.orphans and rest:
            first, end = min(span.first_offset for _, span in rest), max(span.end_offset for _, span in rest)
            named = walk.named_between(manifest, pages, first, end, leaves=self._directory == 0)
            gone.update({name: None for name, _ in rest if name not in named})
        self._going = len(gone)
        return tuple(gone)
