"""Copies of segments in a simulated bucket, as an uploader would have made them, for tests of those who read."""

from __future__ import annotations

import itertools

from tapelog.log.log import Log
from tapelog.log.tier import growth, layout, manifest, walk
from tapelog.log.tier.content import open_content
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.manifest import Manifest, Page
from tapelog.sim.objects import Bucket


class Copies:
    """One partition's part of the bucket."""

    def __init__(self, bucket: Bucket, topic_id: bytes, partition: int = 0) -> None:
        self.bucket = bucket
        self.prefix = layout.partition_prefix(topic_id, partition)
        self.pages: dict[str, Page] = {}
        self.writes = 0
        self.head = growth.empty("orders", topic_id, partition, 0, self._writer())

    def _writer(self) -> Writer:
        self.writes += 1
        return Writer(1, 0, f"{self.writes:08x}")

    def put(self, head: Manifest) -> None:
        """This is the head from now on."""
        self.head = head
        self.bucket.put(self.prefix + layout.MANIFEST, head.encode())

    def copy(self, log: Log, high_watermark: int, count: int = 1_000_000) -> None:
        """Copy up to so many segments of those that may be copied, oldest first."""
        stable = log.last_stable_offset(high_watermark)
        for segment, following in itertools.pairwise(list(log.segments.items)):
            if count == 0 or following.base_offset > stable:
                break
            if following.base_offset > self.head.end_offset:
                self._copy_one(log, segment.base_offset, following.base_offset)
                count -= 1
        log.tiered_end = self.head.end_offset

    def _copy_one(self, log: Log, base: int, end: int) -> None:
        content = open_content(log, base)
        assert content is not None
        name = layout.segment_name(base, end, 0, self._writer().token)
        self.bucket.put(self.prefix + name, b"".join(content.pieces()))
        head = self.head
        page = growth.page_due(head)
        if page is not None:
            page_name = layout.page_name(0, 0, 0, self._writer().token)
            self.bucket.put(self.prefix + page_name, manifest.encode_page(page))
            self.pages[page_name] = page
            head = growth.sealed(head, page, growth.reference(page, page_name))
        self.put(growth.added(head, content.entry(name, max(base, head.end_offset)), self._writer()))

    def trim(self, start: int) -> None:
        """The log begins later, and what is below goes at once."""
        gone = [entry for entry in walk.oldest_first(self.head, self.pages) if entry.end_offset <= start]
        size = sum(entry.log_size for entry in gone)
        self.put(growth.trimmed(self.head, start, len(gone), size, self._writer()))
        for entry in gone:
            self.bucket.delete(self.prefix + entry.name)


def let_go(log: Log, count: int = 1_000_000) -> None:
    """Delete up to so many local segments that the tier has."""
    gone = [one for one, after in itertools.pairwise(log.segments.items) if after.base_offset <= log.tiered_end]
    log.delete_segments(gone[:count])
    log.invariants()
