"""What the codec deals in besides Python's own types: errors, slices of frames, regions of files.

Used through wire/primitives by everyone who decodes or encodes.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

ZERO_UUID: Final = b"\x00" * 16


@mypyc_attr(allow_interpreted_subclasses=True)
class WireError(Exception):
    """The bytes (on decode) or the values (on encode) do not fit the protocol."""


class UnsupportedVersionError(WireError):
    """The message, or a field that may not be left out, does not exist in the version asked for."""


class Slice:
    """A range of a frame, not copied: what a `records` field decodes to. Equal to any bytes of the same content."""

    def __init__(self, buf: bytes, start: int, end: int) -> None:
        self.buf = buf
        self.start = start
        self.end = end

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    def tobytes(self) -> bytes:
        """A copy of the range (the buffer itself when the range is all of it)."""
        return self.buf[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Slice):
            return self.tobytes() == other.tobytes()
        if isinstance(other, bytes):
            return self.tobytes() == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.tobytes())

    def __repr__(self) -> str:
        return f"Slice({self.end - self.start} bytes)"


@mypyc_attr(allow_interpreted_subclasses=True)
class Region:
    """Bytes that live elsewhere (in a log segment) and are sent without passing through Python. Subclassed by log."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self) -> bytes:
        """All `size` bytes; for those who cannot send the region from where it lies."""
        raise NotImplementedError

    def release(self) -> None:
        """Nobody will send it any more: what it holds is free, whoever still holds the region."""


RecordBytes: TypeAlias = Slice | Region | bytes
"""What a records field may hold: decoded, in a file, or built in memory."""

Records: TypeAlias = RecordBytes | None
