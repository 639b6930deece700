"""Manifests: found again what was put in, damage noticed, small heads for very many segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapelog.log.tier import growth, layout, manifest
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.layout import Footer, LayoutError
from tapelog.log.tier.manifest import FAN_OUT, Entry, Manifest, Page, PageRef, SegmentEntry

TOPIC_ID = bytes(range(16))
WRITER = Writer(1, 3, "t1")


def entry(number: int, *, step: int = 10, timestamp: int = -1) -> SegmentEntry:
    base = number * step
    return SegmentEntry(
        layout.segment_name(base, base + step, 3, f"{number:08x}"),
        base,
        base,
        base + step,
        number if timestamp < 0 else timestamp,
        base,
        1000,
        (8, 12, 0, 6, 20),
        number,
        number + 1,
        ((3, base),),
    )


class Partition:
    """A head and the pages that were stored for it."""

    def __init__(self) -> None:
        self.head = growth.empty("t", TOPIC_ID, 0, 0, WRITER)
        self.pages: dict[str, Page] = {}

    def add(self, segment: SegmentEntry) -> None:
        head = growth.added(self.head, segment, WRITER)
        while (page := growth.page_due(head)) is not None:
            first, last = page.entries[0], page.entries[-1]
            name = layout.page_name(first.first_offset, last.end_offset, 3, f"{page.level}")
            self.pages[name] = manifest.decode_page(manifest.encode_page(page))
            head = growth.sealed(head, page, growth.reference(page, name))
        self.head = head

    def find(self, offset: int) -> tuple[SegmentEntry | None, int]:
        """The segment, and how many pages had to be read."""
        found: Entry | None = self.head.locate(offset)
        reads = 0
        while isinstance(found, PageRef):
            reads += 1
            found = self.pages[found.name].locate(offset)
        return found, reads


def test_a_head_is_read_as_it_was_written() -> None:
    head = growth.added(growth.empty("t", TOPIC_ID, 7, 0, WRITER), entry(0), WRITER)
    assert manifest.decode(head.encode()) == head
    assert (head.end_offset, head.count, head.log_bytes, head.sequence) == (10, 1, 1000, 2)


def test_when_it_was_written_is_kept_of_a_segment_without_timestamps_and_of_its_page() -> None:
    def written(number: int) -> SegmentEntry:
        made = entry(number)
        return replace(made, max_timestamp=-1, written_ms=1000 + number) if number == 3 else made

    partition = Partition()
    for number in range(3 * FAN_OUT):
        partition.add(written(number))
    (ref, *others), page = partition.head.refs, partition.pages[partition.head.refs[0].name]
    assert isinstance(page.entries[3], SegmentEntry) and page.entries[3] == written(3)
    assert (ref.written_ms, ref.kept_since_ms, ref.max_timestamp) == (1003, 1003, FAN_OUT - 1)
    assert page.entries[3].kept_since_ms == 1003 and page.entries[4].kept_since_ms == 4
    assert manifest.decode(partition.head.encode()) == partition.head
    assert all(other.written_ms == -1 for other in others)
    assert partition.head.encode().count(b"written_ms") == 1


def test_every_damaged_byte_of_a_head_is_noticed() -> None:
    data = growth.added(growth.empty("t", TOPIC_ID, 0, 0, WRITER), entry(0), WRITER).encode()
    for at in range(len(data)):
        damaged = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
        with pytest.raises(DocumentError):
            manifest.decode(damaged)
    for size in range(len(data)):
        with pytest.raises(DocumentError):
            manifest.decode(data[:size])


def test_a_head_of_a_hundred_thousand_segments_is_small_and_finds_them_all() -> None:
    partition = Partition()
    sizes = []
    for number in range(100_000):
        partition.add(entry(number))
        if number % 5003 == 0:
            sizes.append(len(partition.head.encode()))
    assert max(sizes) < 120_000
    assert partition.head.count == 100_000 and partition.head.end_offset == 1_000_000
    for number in range(0, 100_000, 97):
        found, reads = partition.find(number * 10 + 3)
        assert found == entry(number) and reads <= 3
    assert partition.head.locate(1_000_000) is None


def test_a_timestamp_is_found_through_pages() -> None:
    partition = Partition()
    for number in range(3 * FAN_OUT):
        partition.add(entry(number))
    found = partition.head.locate_time(5)
    assert isinstance(found, PageRef)
    assert partition.pages[found.name].locate_time(5, 0) == entry(5)
    assert partition.head.locate_time(3 * FAN_OUT - 1) == entry(3 * FAN_OUT - 1)
    assert partition.head.locate_time(3 * FAN_OUT) is None


def test_what_ends_at_the_start_offset_does_not_count() -> None:
    partition = Partition()
    for number in range(3 * FAN_OUT):
        partition.add(entry(number))
    head = growth.trimmed(partition.head, 15, 1, 1000, WRITER)
    assert head.refs == partition.head.refs, "a page is not rewritten"
    assert head.count == 3 * FAN_OUT - 1 and head.log_bytes == head.count * 1000
    head = growth.trimmed(head, FAN_OUT * 10, FAN_OUT - 1, (FAN_OUT - 1) * 1000, WRITER)
    assert all(item.end_offset > FAN_OUT * 10 for item in head.entries())
    assert head.locate(0) == head.entries()[0]
    everything = growth.trimmed(head, 3 * FAN_OUT * 10, head.count, head.log_bytes, WRITER)
    assert everything.entries() == () and everything.end_offset == everything.start_offset == 3 * FAN_OUT * 10


def test_the_newest_segments_can_be_cut_off_even_out_of_pages() -> None:
    partition = Partition()
    for number in range(2 * FAN_OUT):
        partition.add(entry(number))
    head = partition.head
    assert len(head.refs) == 1 and len(head.segments) == FAN_OUT
    head = growth.cut(head, head.segments[0], WRITER)
    assert head.end_offset == FAN_OUT * 10
    head = growth.unsealed(head, partition.pages[head.refs[0].name])
    head = growth.cut(head, entry(3), WRITER)
    assert (head.end_offset, head.count, head.log_bytes) == (30, 3, 3000)
    assert manifest.decode(head.encode()) == head


def test_epochs_of_heads_never_fall() -> None:
    head = growth.empty("t", TOPIC_ID, 0, 0, WRITER)
    with pytest.raises(AssertionError):
        growth.claimed(head, Writer(2, 2, "t2"))


def test_names_tell_offsets_and_epoch_and_sort_by_offset() -> None:
    name = layout.segment_name(42, 99, 7, "ab-cd")
    assert layout.parse_span("topics/x/0/" + name) == layout.Span(42, 99, 7)
    assert layout.segment_name(9, 10, 0, "z") < layout.segment_name(10, 11, 0, "a")
    for other in ("manifest.json", "segments/1-2-3.segment", "segments/a-b-c-d.segment", "segments/1-2-3-4.log"):
        assert layout.parse_span(other) is None


def test_a_tail_is_read_as_it_was_written_and_its_damage_noticed() -> None:
    sections = (b"i" * 8, b"t" * 12, b"", b"producers", b"0\n1\n0 0\n")
    footer = Footer(5, 9, 123, 7, 4096, tuple(map(len, sections)), 0xDEADBEEF)
    tail = layout.render_tail(footer, sections)
    assert layout.parse_tail(tail) == (footer, sections)
    assert layout.parse_footer(tail[-layout.FOOTER_SIZE :]) == footer
    assert footer.object_size == 4096 + len(tail)
    position, size = footer.section(layout.PRODUCERS)
    assert (b"\0" * 4096 + tail)[position : position + size] == b"producers"
    for at in range(len(tail)):
        with pytest.raises(LayoutError):
            layout.parse_tail(tail[:at] + bytes((tail[at] ^ 1,)) + tail[at + 1 :])


def test_a_manifest_is_a_value() -> None:
    head: Manifest = growth.empty("t", TOPIC_ID, 0, 0, WRITER)
    with pytest.raises(AttributeError):
        head.sequence = 5  # type: ignore[misc]
