"""Records that lie about their lengths, counts and offsets, each under a checksum that fits."""

from __future__ import annotations

import struct

import pytest

from tapelog.spark.decode.columns import COLUMNS
from tapelog.spark.decode.decoder import DecodeError, Decoder
from tapelog.wire import record_batch as rb


def number(value: int) -> bytes:
    """As records tell numbers: zigzag, seven bits to a byte."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def sized(content: bytes, said: int | None = None) -> bytes:
    return number(len(content) if said is None else said) + content


def record(
    offset: int = 0,
    *,
    size: int | None = None,
    key: bytes = number(-1),
    value: bytes = sized(b"value"),
    headers: bytes = number(0),
) -> bytes:
    """One record; every part may lie."""
    body = b"\0" + number(0) + number(offset) + key + value + headers
    return number(len(body) if size is None else size) + body


def batch(*records: bytes, count: int | None = None, last: int = 10, base: int = 0) -> bytes:
    """A batch that says what it is told to."""
    many = len(records) if count is None else count
    tail = struct.pack(">hiqqqhii", 0, last, 1000, 1000, -1, -1, -1, many) + b"".join(records)
    return rb.sealed(tail, base, 0)


def decoded(data: bytes, until: int = 1 << 40) -> list[dict[str, object]]:
    found = []
    for arrow in Decoder("t", 0, 0, until, columns=COLUMNS).decode(data, 0, len(data)):
        arrow.validate(full=True)
        found += arrow.to_pylist()
    return found


def test_the_builder_of_these_tests_builds_sound_records() -> None:
    headers = number(2) + sized(b"a") + sized(b"1") + sized(b"b") + number(-1)
    rows = decoded(batch(record(), record(3, key=sized(b"k"), headers=headers)))
    assert [row["offset"] for row in rows] == [0, 3]
    assert rows[1]["headers"] == [{"key": "a", "value": b"1"}, {"key": "b", "value": None}]


LIES = {
    "a length that reaches beyond the batch": (record(size=200), "length"),
    "a length too short for a record": (number(3) + bytes(20), "length"),
    "a negative length": (number(-5) + bytes(20), "length"),
    "a key that reaches beyond its record": (record(key=sized(b"k", 60)), "key"),
    "a key of length -2": (record(key=number(-2)), "key"),
    "a value that reaches beyond its record": (record(value=sized(b"v", 60)), "value"),
    "a value that leaves no room for headers": (record(value=sized(b"v", 2)), "value"),
    "a value of length -2": (record(value=number(-2)), "value"),
    "a record that ends in its timestamp": (number(6) + b"\0" + b"\x80" * 11, "number|short"),
    "more headers than bytes": (record(headers=number(1000)), "header count"),
    "a negative number of headers": (record(headers=number(-1)), "header count"),
    "a header's name beyond its record": (record(headers=number(1) + sized(b"a", 50) + sized(b"1")), "name"),
    "a header's name of length -1": (record(headers=number(1) + number(-1) + sized(b"1")), "name"),
    "a header's value beyond its record": (record(headers=number(1) + sized(b"a") + sized(b"1", 50)), "header"),
    "a header's value of length -2": (record(headers=number(1) + sized(b"a") + number(-2)), "header"),
    "bytes between the last header and the end": (record(headers=number(0) + b"xyz"), "fill"),
    "an offset beyond the batch": (record(11), "offset"),
    "a negative offset": (record(-1), "offset"),
    "a number of eleven bytes": (b"\x80" * 10 + b"\x01" + bytes(20), "too long"),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("after", [b"", batch(record(), base=50) + batch(record(), base=60) * 5])
def test_a_lie_is_found_alone_and_before_other_batches(lie: str, after: bytes) -> None:
    told, expected = LIES[lie]
    with pytest.raises(DecodeError, match=expected):
        decoded(batch(told) + after)


def test_offsets_that_stand_still_or_go_back_are_refused() -> None:
    for second in (0, 1):
        with pytest.raises(DecodeError, match="offset"):
            decoded(batch(record(1), record(second)))


@pytest.mark.parametrize("count", [-1, 3, 1 << 20, (1 << 31) - 1])
def test_a_count_that_is_not_that_of_the_records_is_refused(count: int) -> None:
    with pytest.raises(DecodeError, match=r"count|short|length"):
        decoded(batch(record(0), record(1), count=count))


def test_records_beyond_the_count_are_refused() -> None:
    with pytest.raises(DecodeError, match="left over"):
        decoded(batch(record(0), record(1), count=1))


def test_a_record_that_reaches_into_the_next_batch_is_refused_even_where_the_range_ends() -> None:
    value = sized(b"v" * 20)
    lying = record(0, size=len(record(0, value=value)) + 30, value=value)
    with pytest.raises(DecodeError, match="length"):
        decoded(batch(lying) + batch(record(), base=50), until=1)


def test_headers_are_not_looked_at_where_nobody_asks_for_them() -> None:
    data = batch(record(headers=number(1000)))
    rows = [arrow.to_pylist() for arrow in Decoder("t", 0, 0, 9, columns=("value",)).decode(data, 0, len(data))]
    assert rows == [[{"value": b"value"}]]
