"""The records of a batch as ranges of bytes: which keys they have, which stay; damage is told, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.log.compaction.keymap import SLOT_BYTES, KeyMap
from tapelog.log.compaction.records import ALL, joined, note_keys, what_stays, zigzag
from tapelog.log.compaction.source import UncleanableError

Fields = tuple[int, int, bytes | None, bytes | None]
"""Timestamp delta, offset delta, key, value."""


def packed(records: list[Fields]) -> bytes:
    out = []
    for stamp, delta, key, value in records:
        body = b"\0" + zigzag(stamp) + zigzag(delta)
        for field in (key, value):
            body += zigzag(-1) if field is None else zigzag(len(field)) + field
        body += zigzag(0)
        out.append(zigzag(len(body)) + body)
    return b"".join(out)


FIELDS = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.just(0),
    st.none() | st.binary(max_size=100),
    st.none() | st.binary(max_size=200),
)


@settings(deadline=None)
@given(st.lists(FIELDS, max_size=20), st.integers(0, 2**40), st.integers(0, 20), st.booleans())
def test_what_stays_is_what_nothing_later_is_known_of(
    fields: list[Fields], base: int, covered: int, tombstones_due: bool
) -> None:
    records = [(stamp, number, key, value) for number, (stamp, _, key, value) in enumerate(fields)]
    data, keys, last = packed(records), KeyMap(100 * SLOT_BYTES), dict[bytes, int]()
    keys.clear(base)
    assert note_keys(keys, data, len(records), base, base) == ALL
    for _, number, key, _ in records:
        if key is not None:
            last[key] = number
    kept = what_stays(keys, data, len(records), base, base + covered, tombstones_due)
    stay = [
        one
        for one in records
        if one[1] >= covered
        or (one[2] is not None and last[one[2]] == one[1] and not (one[3] is None and tombstones_due))
    ]
    assert joined(data, kept.runs) == packed(stay)
    assert kept.count == len(stay)
    assert kept.tombstones == any(value is None for _, _, _, value in stay)
    assert kept.newest_delta == max((stamp for stamp, _, _, _ in stay), default=0)
    assert kept.unkeyed == sum(key is None for _, number, key, _ in records if number < covered)


def test_noting_ends_at_the_record_that_finds_no_room() -> None:
    keys = KeyMap(3 * SLOT_BYTES)
    assert keys.capacity == 2
    data = packed([(0, number, b"%d" % number, b"v") for number in range(5)])
    assert note_keys(keys, data, 5, 70, 71) == 73
    assert [keys.get(b"%d" % number) for number in range(5)] == [-1, 71, 72, -1, -1]


WHOLE = packed([(1, 0, b"key", b"value"), (2, 1, b"other", b"value")])


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-1],
        WHOLE + b"\0",
        b"\xff" * 9 + b"\x02" + WHOLE,  # a size of more than 64 bits
        b"\xff" * 9 + b"\x01" + WHOLE,  # the least size there is
        b"\xfe" + b"\xff" * 8 + b"\x01" + WHOLE,  # the greatest
        zigzag(-3) + WHOLE,
        WHOLE.replace(zigzag(3) + b"key", zigzag(60) + b"key"),  # a key longer than its record
        WHOLE.replace(zigzag(3) + b"key", b"\xfe" + b"\xff" * 8 + b"\x01" + b"key"),
    ],
)
def test_records_that_make_no_sense_are_malformed(data: bytes) -> None:
    with pytest.raises(UncleanableError, match="malformed"):
        note_keys(KeyMap(1000), data, 2, 0, 0)
    with pytest.raises(UncleanableError, match="malformed"):
        what_stays(KeyMap(1000), data, 2, 0, 10, False)


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(1, 4))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes, count: int) -> None:
    for read in (
        lambda: note_keys(KeyMap(1000), data, count, 0, 0),
        lambda: what_stays(KeyMap(1000), data, count, 0, 10, False),
    ):
        try:
            read()
        except UncleanableError:
            pass
