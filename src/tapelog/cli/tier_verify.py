"""`tape tier verify`: every object that a manifest names is there, whole, and what the manifest says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from tapelog.base import ids
from tapelog.cli.tier_bucket import Bucket
from tapelog.log.tier import layout
from tapelog.log.tier.content import DamagedError, check_batches, extend_crc32c
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.layout import LayoutError
from tapelog.log.tier.manifest import Manifest, SegmentEntry
from tapelog.log.tier.store import ObjectMissingError, UnavailableError

READ_BYTES = 4 << 20
AT_ONCE = 8
PROBLEMS_MAX = 1000


@dataclass(slots=True)
class Verified:
    """What was found of one partition."""

    topic: str
    partition: int
    segments: int = 0
    bytes: int = 0
    start_offset: int = 0
    end_offset: int = 0
    leftover_objects: int = 0
    """Named by nobody: uploads under way, or left by a crash; the leader collects them."""
    problems: list[str] = field(default_factory=list)


class Progress(Protocol):
    """Hears how far it is."""

    def at(self, what: str) -> None:
        """It begins with this."""

    def add(self, size: int) -> None:
        """So many bytes more are done with."""


def verify_bucket(
    bucket: Bucket, wanted: Sequence[str], *, quick: bool, progress: Progress
) -> tuple[list[Verified], list[str], list[str]]:
    """Look at topics by name or id, all if none is named: what was found, ids of those without a document, and what
    was named and is not there."""
    found: list[Verified] = []
    unknown: list[str] = []
    met: list[str] = []
    for topic_id, document in bucket.topics():
        id_text, known = ids.to_text(topic_id), document or bucket.known(topic_id)
        name = id_text if known is None else known.name
        if wanted and name not in wanted and id_text not in wanted:
            continue
        met += [name, id_text]
        if document is None:
            unknown.append(id_text)
        for partition in [] if known is None else bucket.partitions(topic_id):
            progress.at(f"{name}-{partition}")
            one = verify_partition(bucket, topic_id, name, partition, quick=quick, tell=progress.add)
            if one is not None:
                found.append(one)
    return found, unknown, [name for name in wanted if name not in met]


def verify_partition(
    bucket: Bucket, topic_id: bytes, topic: str, partition: int, *, quick: bool, tell: Callable[[int], None]
) -> Verified | None:
    """Look at everything of a partition; None if nothing of it is there. tell gets bytes as they are done with."""
    found = Verified(topic, partition)
    try:
        head = bucket.head(topic_id, partition)
    except DocumentError as error:
        found.problems.append(f"{layout.manifest_name(topic_id, partition)}: {error}")
        return found
    if head is None:
        found.problems.append(f"{layout.manifest_name(topic_id, partition)} is missing, though there are objects")
        return found
    if head.deleted:
        return None
    found.start_offset, found.end_offset = head.start_offset, head.end_offset
    try:
        _segments(bucket, head, found, quick, tell)
        _leftovers(bucket, head, found)
    except (DocumentError, ObjectMissingError) as error:
        found.problems.append(f"a page of the manifest: {error}")
    return found


def _segments(bucket: Bucket, head: Manifest, found: Verified, quick: bool, tell: Callable[[int], None]) -> None:
    prefix = layout.partition_prefix(head.topic_id, head.partition)
    before = -1
    log_bytes = 0

    def checked(entry: SegmentEntry) -> tuple[SegmentEntry, str]:
        try:
            return entry, why_wrong(bucket, prefix, entry, quick)
        finally:
            tell(entry.size)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        entries = bucket.segments(head)
        while part := list(islice(entries, AT_ONCE * 4)):
            for entry, problem in threads.map(checked, part):
                found.segments += 1
                found.bytes += entry.size
                log_bytes += entry.log_size
                if before > entry.first_offset:
                    problem = problem or f"begins at {entry.first_offset}, the one before it ends at {before}"
                before = entry.end_offset
                if problem and len(found.problems) < PROBLEMS_MAX:
                    found.problems.append(f"{prefix}{entry.name}: {problem}")
    if (found.segments, log_bytes) != (head.count, head.log_bytes):
        found.problems.append(f"{prefix}{layout.MANIFEST}: counts {head.count} segments, there are {found.segments}")


def why_wrong(bucket: Bucket, prefix: str, entry: SegmentEntry, quick: bool) -> str:
    """What is the matter with a segment's object; empty if nothing is."""
    name = prefix + entry.name
    try:
        tail = bucket.backend.get_ranges(name, [(entry.log_size, entry.tail_size)])[0]
        footer, _ = layout.parse_tail(tail)
        if layout.tail_crc(tail) != entry.tail_crc:
            return "its indexes have another checksum than the manifest says"
        told = (entry.base_offset, entry.end_offset, entry.log_size, entry.section_sizes, entry.log_crc)
        if told != (footer.base_offset, footer.end_offset, footer.log_size, footer.section_sizes, footer.log_crc):
            return "its footer and the manifest disagree"
        return "" if quick else _batches_wrong(bucket, name, entry)
    except ObjectMissingError as error:
        return f"missing: {error}"
    except UnavailableError as error:
        return str(error)
    except LayoutError as error:
        return str(error)


def _batches_wrong(bucket: Bucket, name: str, entry: SegmentEntry) -> str:
    crc, rest, offset = 0, b"", entry.base_offset
    for piece in _pieces(bucket, name, entry.log_size):
        crc = extend_crc32c(piece, crc)
        try:
            rest, offset = check_batches(rest + piece, offset, entry.end_offset, "the object")
        except DamagedError as error:
            return str(error)
    if crc != entry.log_crc:
        return "its batches have another checksum than the manifest says"
    return "it ends within a batch" if rest else ""


def _pieces(bucket: Bucket, name: str, size: int) -> Iterator[bytes]:
    for position in range(0, size, READ_BYTES):
        yield bucket.backend.get_ranges(name, [(position, min(READ_BYTES, size - position))])[0]


def _leftovers(bucket: Bucket, head: Manifest, found: Verified) -> None:
    named = bucket.names(head)
    for directory in (layout.SEGMENTS, layout.PAGES):
        prefix, after, more = layout.partition_prefix(head.topic_id, head.partition) + directory, "", True
        while more:
            listing = bucket.backend.list(prefix, after)
            found.leftover_objects += sum(1 for item in listing.objects if item.name not in named)
            more = listing.more
            after = listing.objects[-1].name if listing.objects else ""
