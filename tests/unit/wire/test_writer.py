"""Writer: values that do not fit are refused, regions stay apart, frames know their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.wire.primitives import Reader, Region, Slice, WireError, Writer


class Page(Region):
    """A region whose bytes are in memory after all."""

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self.data = data

    def read(self) -> bytes:
        return self.data


def written(write: Callable[[Writer], Any]) -> bytes:
    w = Writer()
    write(w)
    assert w.size == len(w.tobytes())
    return w.tobytes()


@pytest.mark.parametrize(
    ("write", "read", "values"),
    [
        (Writer.i8, Reader.i8, [-128, 0, 127]),
        (Writer.i16, Reader.i16, [-32768, 32767]),
        (Writer.u16, Reader.u16, [0, 32768, 65535]),
        (Writer.i32, Reader.i32, [-(2**31), 2**31 - 1]),
        (Writer.u32, Reader.u32, [0, 2**31, 2**32 - 1]),
        (Writer.i64, Reader.i64, [-(2**63), 2**63 - 1]),
        (Writer.f64, Reader.f64, [0.1, float("inf")]),
        (Writer.boolean, Reader.boolean, [True, False]),
        (Writer.uuid, Reader.uuid, [bytes(range(16))]),
        (Writer.uvarint, Reader.uvarint, [0, 127, 128, 2**32 - 1]),
        (Writer.varint, Reader.varint, [0, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31)]),
        (Writer.varlong, Reader.varlong, [0, -1, 2**63 - 1, -(2**63)]),
        (Writer.string, Reader.string, ["", "né", "x" * 32767]),
        (Writer.nullable_string, Reader.nullable_string, [None, "", "a"]),
        (Writer.compact_string, Reader.compact_string, ["", "x" * 200, "y" * 40000]),
        (Writer.compact_nullable_string, Reader.compact_nullable_string, [None, "", "a"]),
        (Writer.bytestring, Reader.bytestring, [b"", b"\x00"]),
        (Writer.nullable_bytestring, Reader.nullable_bytestring, [None, b""]),
        (Writer.compact_bytestring, Reader.compact_bytestring, [b"", b"z" * 300]),
        (Writer.compact_nullable_bytestring, Reader.compact_nullable_bytestring, [None, b""]),
        (Writer.records, Reader.records, [None, b"", b"abc"]),
        (Writer.compact_records, Reader.compact_records, [None, b"", b"abc"]),
    ],
)
def test_what_is_written_is_read(write: Callable[..., None], read: Callable[[Reader], Any], values: list[Any]) -> None:
    w = Writer()
    for value in values:
        write(w, value)
    r = Reader(w.tobytes())
    assert [read(r) for _ in values] == values
    r.expect_end()


@pytest.mark.parametrize(
    ("write", "value"),
    [
        (Writer.i8, 128),
        (Writer.u16, -1),
        (Writer.u16, 65536),
        (Writer.u32, 2**32),
        (Writer.uvarint, -1),
        (Writer.uuid, b"short"),
        (Writer.string, "x" * 32768),
        (Writer.compact_string, "\ud800"),
    ],
)
def test_values_that_do_not_fit_are_refused(write: Callable[..., None], value: object) -> None:
    with pytest.raises(WireError):
        write(Writer(), value)


@pytest.mark.parametrize(("write", "value"), [(Writer.i16, 2**15), (Writer.i32, 2**31), (Writer.i64, 2**63)])
def test_numbers_too_large_for_their_field_are_refused(write: Callable[..., None], value: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        write(Writer(), value)


def test_regions_keep_their_place_and_are_not_read() -> None:
    page = Page(b"file")
    w = Writer()
    w.i16(1)
    w.records(page)
    w.compact_records(Slice(b"xslice", 1, 6))
    w.compact_records(page)
    assert w.size == 2 + 4 + 4 + 1 + 5 + 1 + 4
    assert w.finish() == [b"\x00\x01\x00\x00\x00\x04", page, b"\x06slice\x05", page]
    assert w.tobytes() == b"\x00\x01\x00\x00\x00\x04file\x06slice\x05file"


def test_an_empty_region_leaves_no_trace() -> None:
    w = Writer()
    w.records(Page(b""))
    assert w.finish() == [bytes(4)]


def test_without_regions_there_is_one_chunk() -> None:
    w = Writer()
    assert w.finish() == [b""]
    w.raw(b"abc")
    assert w.finish() == [b"abc"]


def test_frames_are_sized_also_around_regions() -> None:
    w = Writer()
    w.begin_frame()
    w.raw(b"head")
    w.region(Page(b"x" * 300))
    w.end_frame()
    w.begin_frame()
    w.raw(b"second")
    w.end_frame()
    assert w.tobytes() == b"\x00\x00\x01\x30head" + b"x" * 300 + b"\x00\x00\x00\x06second"
    assert w.size == len(w.tobytes())


def test_tagged_fields_carry_their_size() -> None:
    field = Writer()
    field.i32(7)
    assert written(lambda w: w.tagged(3, field)) == b"\x03\x04\x00\x00\x00\x07"


def test_a_region_must_say_how_it_is_read() -> None:
    with pytest.raises(NotImplementedError):
        Region(1).read()
