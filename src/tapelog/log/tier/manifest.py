"""What counts in a partition's part of the bucket: a small head, and sealed pages below it. Immutable values.

The head names the newest segments itself, older ones in pages of FAN_OUT segments, still older ones in pages of
FAN_OUT pages, and so on: oldest first, levels falling. A segment counts if it is named and ends above the head's start
offset. Nothing that is sealed changes; head and pages carry their checksums. `growth` has the changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tapelog.base import ids
from tapelog.log.tier import document
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.layout import FOOTER_SIZE, SECTIONS

KIND: Final = "tapelog-tier-manifest"
PAGE_KIND: Final = "tapelog-tier-page"
VERSION: Final = 1
FAN_OUT: Final = 64
"""Entries of a page; a head has fewer than twice as many of each level."""


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """One segment's object."""

    name: str
    """Below the partition's prefix."""
    base_offset: int
    first_offset: int
    """From here on it counts: greater than its base where the segment before it ends later than this one begins."""
    end_offset: int
    max_timestamp: int
    max_timestamp_offset: int
    log_size: int
    """Bytes of batches, from position 0."""
    section_sizes: tuple[int, ...]
    log_crc: int
    tail_crc: int
    epochs: tuple[tuple[int, int], ...]
    """(leader epoch, first offset of it in this segment), in order."""
    aborted_from: int = -1
    """The least first offset of the transactions whose abortion is noted here; -1 if there are none."""
    written_ms: int = -1
    """When it was written last, by the wall clock of who copied it: noted where no record has a timestamp."""

    @property
    def kept_since_ms(self) -> int:
        """From when on retention.ms counts; -1 if nothing tells."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.written_ms

    @property
    def tail_size(self) -> int:
        """Bytes behind the batches: sections and footer."""
        return sum(self.section_sizes) + FOOTER_SIZE

    @property
    def size(self) -> int:
        """Bytes of the object."""
        return self.log_size + self.tail_size

    def section(self, number: int) -> tuple[int, int]:
        """(position, size) of a section in the object."""
        return self.log_size + sum(self.section_sizes[:number]), self.section_sizes[number]


@dataclass(frozen=True, slots=True)
class PageRef:
    """A sealed page: of segments at level 0, else of pages one level lower."""

    name: str
    level: int
    first_offset: int
    end_offset: int
    max_timestamp: int
    count: int
    """Segments below it."""
    log_bytes: int
    """Bytes of batches below it."""
    written_ms: int = -1
    """The latest of its segments'."""

    @property
    def kept_since_ms(self) -> int:
        """From when on retention.ms counts for the youngest of its segments; -1 if nothing tells."""
        return max(self.max_timestamp, self.written_ms)


Entry: TypeAlias = SegmentEntry | PageRef


@dataclass(frozen=True, slots=True)
class Page:
    """What a sealed page holds: one kind of entry."""

    level: int
    entries: tuple[Entry, ...]

    def locate(self, offset: int) -> Entry | None:
        """The segment that has offset, or the first one behind it; or the page to look into. None if all end before."""
        return locate(self.entries, offset)

    def locate_time(self, timestamp: int, offset: int) -> Entry | None:
        """The first entry with a record that late, among those that end behind offset; None if there is none."""
        return locate_time(self.entries, timestamp, offset)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The head of a partition's manifest."""

    topic: str
    topic_id: bytes
    partition: int
    leader_epoch: int
    """Of the leader that wrote it: one with an older epoch may not write any more."""
    broker: int
    token: str
    """Of the very write: a writer whose answer was lost recognises its own."""
    sequence: int
    """Writes so far."""
    start_offset: int
    """The log's first offset: segments and pages that end at or below it do not count."""
    count: int
    """Segments that count."""
    log_bytes: int
    """Bytes of batches in them."""
    refs: tuple[PageRef, ...]
    segments: tuple[SegmentEntry, ...]
    deleted: bool = False
    """The topic was deleted: the objects are about to go."""
    cluster: str = ""
    """The id of the cluster whose leader wrote it."""
    since_epoch: int = 0
    """In which it was made. Objects of older epochs are of a manifest that was lost, or removed: not for us to judge
    before the log's start has passed them."""

    @property
    def end_offset(self) -> int:
        """Everything below it (and not below the start) is in the tier."""
        last = self.segments[-1] if self.segments else self.refs[-1] if self.refs else None
        return self.start_offset if last is None else max(last.end_offset, self.start_offset)

    def entries(self) -> tuple[Entry, ...]:
        """Pages and segments in order of offsets, as far as they count."""
        everything: tuple[Entry, ...] = (*self.refs, *self.segments)
        return tuple(entry for entry in everything if entry.end_offset > self.start_offset)

    def locate(self, offset: int) -> Entry | None:
        """Where to read offset (at least the start offset): its segment, the first one behind it, or the page to look
        into. None from the end offset on."""
        return locate((*self.refs, *self.segments), max(offset, self.start_offset))

    def locate_time(self, timestamp: int, offset: int = 0) -> Entry | None:
        """The first entry that counts, ends behind offset and has a record that late, or the page to look into; None
        if there is none. A page may answer None (its late records lie before offset): go on behind its end."""
        return locate_time((*self.refs, *self.segments), timestamp, max(offset, self.start_offset))

    def encode(self) -> bytes:
        """The object's bytes."""
        content = {
            "topic": self.topic,
            "topic_id": ids.to_text(self.topic_id),
            "partition": self.partition,
            "leader_epoch": self.leader_epoch,
            "broker": self.broker,
            "token": self.token,
            "sequence": self.sequence,
            "start_offset": self.start_offset,
            "end_offset": self.end_offset,
            "count": self.count,
            "log_bytes": self.log_bytes,
            "pages": [_ref_json(ref) for ref in self.refs],
            "segments": [_segment_json(segment) for segment in self.segments],
            "deleted": self.deleted,
            "cluster": self.cluster,
            "since_epoch": self.since_epoch,
        }
        return document.render(KIND, VERSION, content)


def decode(data: bytes) -> Manifest:
    """The head from its object's bytes; DocumentError if it is damaged or of another version."""
    content = document.parse(KIND, VERSION, data)
    try:
        return Manifest(
            str(content["topic"]),
            ids.from_text(content["topic_id"]),
            int(content["partition"]),
            int(content["leader_epoch"]),
            int(content["broker"]),
            str(content["token"]),
            int(content["sequence"]),
            int(content["start_offset"]),
            int(content["count"]),
            int(content["log_bytes"]),
            tuple(_ref(item) for item in content["pages"]),
            tuple(_segment(item) for item in content["segments"]),
            bool(content["deleted"]),
            str(content.get("cluster", "")),
            int(content.get("since_epoch", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{KIND}: {type(error).__name__}: {error}") from None


def encode_page(page: Page) -> bytes:
    """The bytes of a sealed page."""
    items = [_segment_json(entry) if isinstance(entry, SegmentEntry) else _ref_json(entry) for entry in page.entries]
    return document.render(PAGE_KIND, VERSION, {"level": page.level, "pages" if page.level else "segments": items})


def decode_page(data: bytes) -> Page:
    """A page from its object's bytes; DocumentError if it is damaged or of another version."""
    content = document.parse(PAGE_KIND, VERSION, data)
    try:
        level = int(content["level"])
        if level:
            return Page(level, tuple(_ref(item) for item in content["pages"]))
        return Page(level, tuple(_segment(item) for item in content["segments"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{PAGE_KIND}: {type(error).__name__}: {error}") from None


def locate(entries: Sequence[Entry], offset: int) -> Entry | None:
    """The first entry that ends behind offset."""
    number = bisect_right(entries, offset, key=_end)
    return entries[number] if number < len(entries) else None


def locate_time(entries: Sequence[Entry], timestamp: int, offset: int) -> Entry | None:
    """The first entry that ends behind offset and has a record at least as late as timestamp."""
    for number in range(bisect_right(entries, offset, key=_end), len(entries)):
        if entries[number].max_timestamp >= timestamp:
            return entries[number]
    return None


def _end(entry: Entry) -> int:
    return entry.end_offset


def _segment_json(entry: SegmentEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "base_offset": entry.base_offset,
        "first_offset": entry.first_offset,
        "end_offset": entry.end_offset,
        "max_timestamp": entry.max_timestamp,
        "max_timestamp_offset": entry.max_timestamp_offset,
        "log_size": entry.log_size,
        "section_sizes": list(entry.section_sizes),
        "log_crc32c": f"{entry.log_crc:08x}",
        "tail_crc32c": f"{entry.tail_crc:08x}",
        "epochs": [list(pair) for pair in entry.epochs],
        "aborted_from": entry.aborted_from,
    } | _written_json(entry)


def _written_json(entry: Entry) -> dict[str, int]:
    return {"written_ms": entry.written_ms} if entry.written_ms >= 0 else {}


def _segment(item: dict[str, Any]) -> SegmentEntry:
    sizes = tuple(int(size) for size in item["section_sizes"])
    if len(sizes) != SECTIONS:
        raise ValueError(f"{len(sizes)} sections instead of {SECTIONS}")
    return SegmentEntry(
        str(item["name"]),
        int(item["base_offset"]),
        int(item["first_offset"]),
        int(item["end_offset"]),
        int(item["max_timestamp"]),
        int(item["max_timestamp_offset"]),
        int(item["log_size"]),
        sizes,
        int(item["log_crc32c"], 16),
        int(item["tail_crc32c"], 16),
        tuple((int(epoch), int(start)) for epoch, start in item["epochs"]),
        int(item["aborted_from"]),
        int(item.get("written_ms", -1)),
    )


def _ref_json(ref: PageRef) -> dict[str, Any]:
    return {
        "name": ref.name,
        "level": ref.level,
        "first_offset": ref.first_offset,
        "end_offset": ref.end_offset,
        "max_timestamp": ref.max_timestamp,
        "count": ref.count,
        "log_bytes": ref.log_bytes,
    } | _written_json(ref)


def _ref(item: dict[str, Any]) -> PageRef:
    return PageRef(
        str(item["name"]),
        int(item["level"]),
        int(item["first_offset"]),
        int(item["end_offset"]),
        int(item["max_timestamp"]),
        int(item["count"]),
        int(item["log_bytes"]),
        int(item.get("written_ms", -1)),
    )
