"""The byte level of the protocol in one import: Reader, Writer, and the values they deal in."""

from __future__ import annotations

from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID, RecordBytes, Records, Region, Slice, UnsupportedVersionError, WireError
from tapelog.wire.writer import Writer

__all__ = [
    "ZERO_UUID",
    "Reader",
    "RecordBytes",
    "Records",
    "Region",
    "Slice",
    "UnsupportedVersionError",
    "WireError",
    "Writer",
]
