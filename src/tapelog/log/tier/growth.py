"""How a manifest changes: claimed by a leader, one segment longer, sealed into pages, shorter at either end. Pure.

Every function returns a new head with the next sequence; writing it under the condition that the old one is still
there is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapelog.log.tier.manifest import FAN_OUT, Entry, Manifest, Page, PageRef, SegmentEntry


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a head."""

    broker: int
    leader_epoch: int
    token: str
    cluster: str = ""


def empty(topic: str, topic_id: bytes, partition: int, start_offset: int, writer: Writer) -> Manifest:
    """The first head of a partition."""
    return Manifest(
        topic,
        topic_id,
        partition,
        writer.leader_epoch,
        writer.broker,
        writer.token,
        1,
        start_offset,
        0,
        0,
        (),
        (),
        cluster=writer.cluster,
        since_epoch=writer.leader_epoch,
    )


def claimed(manifest: Manifest, writer: Writer) -> Manifest:
    """The same, in the name of another leader."""
    assert writer.leader_epoch >= manifest.leader_epoch, "epochs of heads never fall"
    return replace(
        manifest,
        leader_epoch=writer.leader_epoch,
        broker=writer.broker,
        token=writer.token,
        sequence=manifest.sequence + 1,
        cluster=writer.cluster,
    )


def added(manifest: Manifest, entry: SegmentEntry, writer: Writer) -> Manifest:
    """With one more segment at its end."""
    assert manifest.end_offset <= entry.first_offset < entry.end_offset, "segments follow each other"
    return replace(
        claimed(manifest, writer),
        segments=(*manifest.segments, entry),
        count=manifest.count + 1,
        log_bytes=manifest.log_bytes + entry.log_size,
    )


def page_due(manifest: Manifest) -> Page | None:
    """The oldest entries of a level that has become too many for the head, as a page to be stored; None if all is
    well. Once stored, `sealed` puts its reference in their place."""
    if len(manifest.segments) >= 2 * FAN_OUT:
        return Page(0, manifest.segments[:FAN_OUT])
    level = 0
    while True:
        refs = [ref for ref in manifest.refs if ref.level == level]
        if not refs:
            return None
        if len(refs) >= 2 * FAN_OUT:
            return Page(level + 1, tuple(refs[:FAN_OUT]))
        level += 1


def reference(page: Page, name: str) -> PageRef:
    """What a head says of a stored page."""
    entries = page.entries
    return PageRef(
        name,
        page.level,
        entries[0].first_offset,
        entries[-1].end_offset,
        max(entry.max_timestamp for entry in entries),
        sum(entry.count if isinstance(entry, PageRef) else 1 for entry in entries),
        sum(entry.log_bytes if isinstance(entry, PageRef) else entry.log_size for entry in entries),
        max(entry.written_ms for entry in entries),
    )


def sealed(manifest: Manifest, page: Page, ref: PageRef) -> Manifest:
    """With a stored page's reference instead of its entries. Not a change of its own: part of the next one."""
    if page.level == 0:
        assert manifest.segments[: len(page.entries)] == page.entries
        return replace(manifest, refs=(*manifest.refs, ref), segments=manifest.segments[len(page.entries) :])
    at = manifest.refs.index(_a_ref(page.entries[0]))
    assert manifest.refs[at : at + len(page.entries)] == page.entries
    return replace(manifest, refs=(*manifest.refs[:at], ref, *manifest.refs[at + len(page.entries) :]))


def trimmed(manifest: Manifest, start_offset: int, count: int, log_bytes: int, writer: Writer) -> Manifest:
    """With a later beginning: so many segments with so many bytes end at or below it and count no more."""
    assert start_offset >= manifest.start_offset
    return replace(
        claimed(manifest, writer),
        start_offset=start_offset,
        refs=tuple(ref for ref in manifest.refs if ref.end_offset > start_offset),
        segments=tuple(segment for segment in manifest.segments if segment.end_offset > start_offset),
        count=manifest.count - count,
        log_bytes=manifest.log_bytes - log_bytes,
    )


def cut(manifest: Manifest, segment: SegmentEntry, writer: Writer) -> Manifest:
    """Without that segment of the head and all behind it: the leader's log does not share them."""
    at = manifest.segments.index(segment)
    gone = [entry for entry in manifest.segments[at:] if entry.end_offset > manifest.start_offset]
    return replace(
        claimed(manifest, writer),
        segments=manifest.segments[:at],
        count=manifest.count - len(gone),
        log_bytes=manifest.log_bytes - sum(entry.log_size for entry in gone),
    )


def unsealed(manifest: Manifest, page: Page) -> Manifest:
    """With the last page's entries instead of its reference, so that `cut` can reach them."""
    refs = manifest.refs[:-1]
    assert not manifest.segments, "only the newest page is opened, once nothing is behind it"
    if page.level == 0:
        return replace(manifest, refs=refs, segments=tuple(_a_segment(entry) for entry in page.entries))
    return replace(manifest, refs=(*refs, *(_a_ref(entry) for entry in page.entries)))


def tombstone(manifest: Manifest, writer: Writer) -> Manifest:
    """Of a deleted topic: no leader goes on with it."""
    return replace(claimed(manifest, writer), deleted=True)


def _a_ref(entry: Entry) -> PageRef:
    assert isinstance(entry, PageRef)
    return entry


def _a_segment(entry: Entry) -> SegmentEntry:
    assert isinstance(entry, SegmentEntry)
    return entry
