"""How objects of the tier are called, and what a segment's object holds. Documented in docs/operate/tier-format.md.

    topics/<topic id>/topic.json
    topics/<topic id>/<partition>/manifest.json
    topics/<topic id>/<partition>/pages/<first>-<end>-<epoch>-<token>.json
    topics/<topic id>/<partition>/segments/<base>-<end>-<epoch>-<token>.segment

Offsets have twenty digits, so that a listing is in order of offsets; epochs ten. An object whose end is at or below the
start offset of its manifest counts no more, whatever its name says otherwise.

A segment's object: the batches as in the `.log` file, five sections in Kafka's file formats, and a footer. The part
behind the batches is its *tail*.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from tapelog.base import ids
from tapelog.wire.crc import crc32c

TOPICS: Final = "topics/"
TOPIC_DOCUMENT: Final = "topic.json"
MANIFEST: Final = "manifest.json"
PAGES: Final = "pages/"
SEGMENTS: Final = "segments/"
PAGE_SUFFIX: Final = ".json"
SEGMENT_SUFFIX: Final = ".segment"

OFFSET_INDEX: Final = 0
TIME_INDEX: Final = 1
TXN_INDEX: Final = 2
PRODUCERS: Final = 3
"""The producer state at the segment's end, as in `<end>.snapshot`."""
LEADER_EPOCHS: Final = 4
"""Every leader epoch up to the segment's end, as in `leader-epoch-checkpoint`."""
SECTIONS: Final = 5

MAGIC: Final = b"TPSG"
VERSION: Final = 1
# magic, version, sections, base, end, greatest timestamp, its offset, bytes of batches, five sizes, checksum of batches
_FOOTER: Final = struct.Struct(">4shhqqqqq5II")
_TAIL_CRC: Final = struct.Struct(">I")
FOOTER_SIZE: Final = _FOOTER.size + _TAIL_CRC.size


class LayoutError(Exception):
    """A name or an object that is not of this layout; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The last FOOTER_SIZE bytes of a segment's object: what it holds, for a reader without a manifest."""

    base_offset: int
    end_offset: int
    max_timestamp: int
    max_timestamp_offset: int
    log_size: int
    section_sizes: tuple[int, ...]
    log_crc: int

    @property
    def object_size(self) -> int:
        """Bytes of the whole object."""
        return self.log_size + sum(self.section_sizes) + FOOTER_SIZE

    def section(self, number: int) -> tuple[int, int]:
        """(position, size) of a section in the object."""
        return self.log_size + sum(self.section_sizes[:number]), self.section_sizes[number]


def render_tail(footer: Footer, sections: tuple[bytes, ...]) -> bytes:
    """What follows the batches: sections, footer, checksum of both."""
    assert len(sections) == SECTIONS and tuple(map(len, sections)) == footer.section_sizes
    body = b"".join(sections) + _FOOTER.pack(
        MAGIC,
        VERSION,
        SECTIONS,
        footer.base_offset,
        footer.end_offset,
        footer.max_timestamp,
        footer.max_timestamp_offset,
        footer.log_size,
        *footer.section_sizes,
        footer.log_crc,
    )
    return body + _TAIL_CRC.pack(crc32c(body))


def parse_footer(data: bytes) -> Footer:
    """The footer from an object's last bytes (at least FOOTER_SIZE of them)."""
    if len(data) < FOOTER_SIZE:
        raise LayoutError(f"{len(data)} bytes are too short for a footer")
    magic, version, count, *rest = _FOOTER.unpack_from(data, len(data) - FOOTER_SIZE)
    if magic != MAGIC or count != SECTIONS:
        raise LayoutError("this is no segment of a tier")
    if version != VERSION:
        raise LayoutError(f"the segment has version {version}, this program knows {VERSION}: use a newer one")
    base, end, timestamp, timestamp_offset, log_size = rest[:5]
    return Footer(base, end, timestamp, timestamp_offset, log_size, tuple(rest[5:10]), rest[10])


def parse_tail(data: bytes) -> tuple[Footer, tuple[bytes, ...]]:
    """Footer and sections from a whole tail; LayoutError if its checksum or sizes are wrong."""
    footer = parse_footer(data)
    if crc32c(data[: -_TAIL_CRC.size]) != tail_crc(data):
        raise LayoutError("the tail's checksum is wrong")
    if sum(footer.section_sizes) + FOOTER_SIZE != len(data):
        raise LayoutError("the tail's sections do not fill it")
    sections, at = [], 0
    for size in footer.section_sizes:
        sections.append(data[at : at + size])
        at += size
    return footer, tuple(sections)


def tail_crc(tail: bytes) -> int:
    """The checksum that a tail ends with."""
    return int(_TAIL_CRC.unpack_from(tail, len(tail) - _TAIL_CRC.size)[0])


# --- names --------------------------------------------------------------------------------------------------------


def topic_prefix(topic_id: bytes) -> str:
    """Everything of a topic."""
    return f"{TOPICS}{ids.to_text(topic_id)}/"


def topic_of_prefix(prefix: str) -> bytes | None:
    """The inverse of topic_prefix; None for anything else."""
    head, text, tail = prefix.partition(TOPICS)
    try:
        return ids.from_text(tail[:-1]) if not head and text and tail.endswith("/") else None
    except ValueError:
        return None


def topic_document(topic_id: bytes) -> str:
    """Its name, partitions and configs."""
    return topic_prefix(topic_id) + TOPIC_DOCUMENT


def partition_prefix(topic_id: bytes, partition: int) -> str:
    """Everything of a partition."""
    return f"{topic_prefix(topic_id)}{partition}/"


def manifest_name(topic_id: bytes, partition: int) -> str:
    """The head of a partition's manifest."""
    return partition_prefix(topic_id, partition) + MANIFEST


def segment_name(base_offset: int, end_offset: int, leader_epoch: int, token: str) -> str:
    """A segment, below its partition's prefix."""
    return f"{SEGMENTS}{_span(base_offset, end_offset, leader_epoch, token)}{SEGMENT_SUFFIX}"


def page_name(first_offset: int, end_offset: int, leader_epoch: int, token: str) -> str:
    """A sealed page of a manifest, below its partition's prefix."""
    return f"{PAGES}{_span(first_offset, end_offset, leader_epoch, token)}{PAGE_SUFFIX}"


def _span(first: int, end: int, leader_epoch: int, token: str) -> str:
    return f"{first:020d}-{end:020d}-{leader_epoch:010d}-{token}"


@dataclass(frozen=True, slots=True)
class Span:
    """What a segment's or page's name says."""

    first_offset: int
    end_offset: int
    leader_epoch: int


def parse_span(name: str) -> Span | None:
    """What such a name says (with or without what is in front of it); None if it is not one."""
    last = name.rpartition("/")[2]
    words = last.partition(".")[0].split("-", 3)
    if len(words) != 4 or not last.endswith((SEGMENT_SUFFIX, PAGE_SUFFIX)):
        return None
    if not all(word.isascii() and word.isdigit() for word in words[:3]):
        return None
    return Span(int(words[0]), int(words[1]), int(words[2]))
