"""Reader: every primitive at its edges, and nothing read outside the range it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.wire.primitives import Reader, Slice, WireError


@pytest.mark.parametrize(
    ("data", "read", "value"),
    [
        (b"\x80", Reader.i8, -128),
        (b"\x7f", Reader.i8, 127),
        (b"\x80\x00", Reader.i16, -32768),
        (b"\xff\xff", Reader.u16, 65535),
        (b"\x80\x00\x00\x00", Reader.i32, -(2**31)),
        (b"\xff\xff\xff\xff", Reader.u32, 2**32 - 1),
        (b"\x80" + b"\x00" * 7, Reader.i64, -(2**63)),
        (b"\x3f\xf8" + b"\x00" * 6, Reader.f64, 1.5),
        (b"\x00", Reader.boolean, False),
        (b"\x02", Reader.boolean, True),
        (bytes(range(16)), Reader.uuid, bytes(range(16))),
        (b"\x7f", Reader.uvarint, 127),
        (b"\x80\x01", Reader.uvarint, 128),
        (b"\xff\xff\xff\xff\x0f", Reader.uvarint, 2**32 - 1),
        (b"\x01", Reader.varint, -1),
        (b"\xff\xff\xff\xff\x0f", Reader.varint, -(2**31)),
        (b"\xfe\xff\xff\xff\x0f", Reader.varint, 2**31 - 1),
        (b"\xff" * 9 + b"\x01", Reader.varlong, -(2**63)),
        (b"\xfe" + b"\xff" * 8 + b"\x01", Reader.varlong, 2**63 - 1),
        (b"\x00\x02hi", Reader.string, "hi"),
        (b"\xff\xff", Reader.nullable_string, None),
        (b"\x03hi", Reader.compact_string, "hi"),
        (b"\x00", Reader.compact_nullable_string, None),
        (b"\x01", Reader.compact_nullable_string, ""),
        (b"\x00\x00\x00\x02hi", Reader.bytestring, b"hi"),
        (b"\xff\xff\xff\xff", Reader.nullable_bytestring, None),
        (b"\x03hi", Reader.compact_bytestring, b"hi"),
        (b"\x00", Reader.compact_nullable_bytestring, None),
        (b"\xff\xff\xff\xff", Reader.records, None),
        (b"\x00", Reader.compact_records, None),
        (b"\x00\x00\x00\x02hi", Reader.records, b"hi"),
        (b"\x03hi", Reader.compact_records, b"hi"),
        (b"\xff", Reader.present, False),
        (b"\x01", Reader.present, True),
    ],
)
def test_each_primitive_is_read_and_refused_when_cut(data: bytes, read: Callable[[Reader], Any], value: object) -> None:
    r = Reader(b"\xee" + data + b"\xee", 1, 1 + len(data))
    assert read(r) == value
    assert r.remaining() == 0
    for end in range(len(data)):
        with pytest.raises(WireError):
            read(Reader(data, 0, end))


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"\xff\xff", Reader.string),
        (b"\xff\xfe", Reader.nullable_string),
        (b"\x00", Reader.compact_string),
        (b"\x00\x01\xff", Reader.string),
        (b"\x02\xc3", Reader.compact_string),
        (b"\xff\xff\xff\xff", Reader.bytestring),
        (b"\xff\xff\xff\xfe", Reader.nullable_bytestring),
        (b"\x00", Reader.compact_bytestring),
        (b"\xff\xff\xff\xfe", Reader.records),
        (b"\xff\xff\xff\xff\x1f", Reader.uvarint),
        (b"\x80" * 6, Reader.uvarint),
        (b"\xff" * 9 + b"\x02", Reader.varlong),
        (b"\x80" * 12, Reader.varlong),
        (b"\x03hi!", lambda r: (r.compact_bytestring(), r.expect_end())),
    ],
)
def test_absurd_bytes_are_refused(data: bytes, read: Callable[[Reader], Any]) -> None:
    with pytest.raises(WireError):
        read(Reader(data))


def test_array_lengths_are_held_against_the_bytes_left() -> None:
    data = b"\x00\x00\x00\x03" + bytes(6)
    assert Reader(data).array(2) == 3
    with pytest.raises(WireError):
        Reader(data).array(3)
    assert Reader(b"\x04" + bytes(6)).compact_array(2) == 3
    with pytest.raises(WireError):
        Reader(b"\x04" + bytes(6)).compact_nullable_array(3)
    assert Reader(b"\xff\xff\xff\xff").nullable_array(4) == -1
    assert Reader(b"\x00").compact_nullable_array(4) == -1
    for data, read in (
        (b"\xff\xff\xff\xff", Reader.array),
        (b"\x00", Reader.compact_array),
        (b"\xff\xff\xff\xfe", Reader.nullable_array),
        (b"\x7f\xff\xff\xff", Reader.nullable_array),
        (b"\xff\xff\xff\xff\x0f", Reader.compact_array),
    ):
        with pytest.raises(WireError):
            read(Reader(data), 1)


def test_numbers_in_a_row() -> None:
    data = b"\x00\x00\x00\x01\xff\xff\xff\xff"
    assert Reader(data).i32_items(2) == [1, -1]
    with pytest.raises(WireError):
        Reader(data).i32_items(3)


def test_a_range_outside_the_buffer_is_refused() -> None:
    for start, end in ((0, 4), (-1, 2), (3, 2)):
        with pytest.raises(WireError):
            Reader(b"abc", start, end)


def test_unknown_tagged_fields_are_passed_over() -> None:
    r = Reader(b"\x02\x05\x03abc\x81\x01\x00\x07")
    r.skip_tags()
    assert r.i8() == 7
    for cut in (b"", b"\x01", b"\x01\x00", b"\x01\x00\x02a", b"\xff\xff\xff\xff\x0f\x00\x00"):
        with pytest.raises(WireError):
            Reader(cut).skip_tags()


def test_records_are_a_view_of_the_frame() -> None:
    frame = b"\x00\x00\x00\x04abcd"
    records = Reader(frame).records()
    assert records is not None
    assert records.buf is frame
    assert (records.start, records.end, records.size, len(records)) == (4, 8, 4, 4)
    assert records.tobytes() == b"abcd"
    assert records == Slice(b"xabcdx", 1, 5)
    assert hash(records) == hash(Slice(b"abcd", 0, 4))
    assert records != b"abce"
    assert records != "abcd"
    assert repr(records) == "Slice(4 bytes)"
