"""What a tier machine asks for and is told: plain values, one operation at a time.

Names are below the partition's prefix. Each operation is answered once: with its result, or with a StoreError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tapelog.log.tier.manifest import Manifest, SegmentEntry
from tapelog.log.tier.store import Condition, Got, Listing, StoreError, Version


@dataclass(frozen=True, slots=True)
class Sealed:
    """A local segment that may go up: sealed, below high watermark and last stable offset."""

    base_offset: int
    end_offset: int
    size: int


@dataclass(frozen=True, slots=True)
class View:
    """What the leader's log is like at a moment."""

    wall_ms: int
    start_offset: int
    """Of the whole log."""
    end_offset: int
    empty: bool
    """No record is here."""
    epochs: tuple[tuple[int, int], ...]
    """(leader epoch, first offset), oldest first."""
    sealed: tuple[Sealed, ...]
    """Those that end behind what the manifest has, oldest first; the first of them is enough."""
    untiered_bytes: int
    """Bytes of batches that the manifest does not have."""
    retention_ms: int
    retention_bytes: int
    delete_delay_ms: int
    hold: bool
    copying: bool
    """False with remote.log.copy.disable."""
    local_start_offset: int = 0
    """Of what is here."""


@dataclass(frozen=True, slots=True)
class ReadHead:
    """Get manifest.json. → Got"""


@dataclass(frozen=True, slots=True)
class WriteHead:
    """Put manifest.json under a condition. → Version"""

    manifest: Manifest
    condition: Condition


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Get a sealed page. → Got"""

    name: str


@dataclass(frozen=True, slots=True)
class WritePage:
    """Put a sealed page. → Version"""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CopySegment:
    """Upload a local segment under that name and compare what arrived. → SegmentEntry"""

    name: str
    segment: Sealed
    first_offset: int


@dataclass(frozen=True, slots=True)
class ListObjects:
    """→ Listing (names from the store's root)"""

    directory: str
    after: str


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    """→ None"""

    names: tuple[str, ...]


Operation: TypeAlias = ReadHead | WriteHead | ReadPage | WritePage | CopySegment | ListObjects | DeleteObjects
Result: TypeAlias = Got | Version | SegmentEntry | Listing | StoreError | None
