"""The short way to load committed offsets tells the same as the long one, whatever stands in the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.coordinators.offsets.loader import OffsetLoader
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.coordinators.records import decode_record, encode_record
from tapelog.coordinators.state import GroupState
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.values import ZERO_UUID, WireError

NAMES = st.sampled_from(["", "g", "größe", "orders", "x" * 300])
KEYS = st.builds(OffsetCommitKey, group=NAMES, topic=NAMES, partition=st.integers(0, 3))
LONGS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def records(draw: st.DrawFn) -> tuple[CoordinatorRecord, int]:
    """A record in any version that it fits, and the producer of its batch."""
    producer_id = draw(st.sampled_from([-1, -1, 7, 8]))
    if draw(st.integers(0, 5)) == 0:
        return CoordinatorRecord(draw(KEYS), None), -1
    version = draw(st.sampled_from([0, 1, 2, 3, 4, 4, 4]))
    value = OffsetCommitValue(
        offset=draw(LONGS),
        leader_epoch=draw(st.integers(-1, 2**31 - 1)) if version >= 3 else -1,
        metadata=draw(st.sampled_from(["", "", "note", "m" * 200])),
        commit_timestamp=draw(LONGS),
        expire_timestamp=draw(LONGS) if version == 1 else -1,
        topic_id=draw(st.sampled_from([ZERO_UUID, b"a" * 16, b"b" * 16])) if version >= 4 else ZERO_UUID,
    )
    return CoordinatorRecord(draw(KEYS), value, version), producer_id


@given(st.lists(records(), max_size=30))
def test_both_ways_lead_to_the_same_state(history: list[tuple[CoordinatorRecord, int]]) -> None:
    short, long = GroupState(), GroupState()
    loader = OffsetLoader(short.offsets)
    for offset, (record, producer_id) in enumerate(history):
        key, value = encode_record(record)
        assert loader.load(offset, key, value, producer_id)
        decoded = decode_record(key, value)
        assert decoded is not None
        long.replay(offset, decoded, producer_id)
    assert short.snapshot() == long.snapshot()


@given(records(), st.data())
def test_damaged_records_are_refused_or_read_alike(record: tuple[CoordinatorRecord, int], data: st.DataObject) -> None:
    key, value = encode_record(record[0])
    if value is None or data.draw(st.booleans()):
        key = damaged(data, key)
    else:
        value = damaged(data, value)
    states = []
    for short in (True, False):
        state = GroupState()
        try:
            if not (short and OffsetLoader(state.offsets).load(0, key, value, -1)):
                decoded = decode_record(key, value)
                if decoded is not None and isinstance(decoded.key, OffsetCommitKey):
                    state.replay(0, decoded)
            states.append(state.snapshot())
        except WireError:
            states.append(None)
    assert states[0] == states[1]


def damaged(data: st.DataObject, good: bytes) -> bytes:
    """The same with a byte changed, or cut short."""
    at = data.draw(st.integers(0, len(good) - 1))
    if data.draw(st.booleans()):
        return good[:at]
    return good[:at] + bytes([data.draw(st.integers(0, 255))]) + good[at + 1 :]


@pytest.mark.parametrize(
    ("metadata", "version"),
    [
        ("12345678\1\0\x10abcdefg", 4),
        ("12345678\1\0\x10abcdef", 4),
        ("12345678\0\0\x10abcdefg", 4),
        ("ab\x0112345678\1\0\x10abcdefgh", 2),
        ("ab\x0112345678\1\0\x10", 1),
    ],
)
def test_metadata_that_looks_like_a_topic_id_is_metadata(metadata: str, version: int) -> None:
    value = OffsetCommitValue(offset=5, metadata=metadata, commit_timestamp=9)
    key = OffsetCommitKey(group="g", topic="orders", partition=0)
    state = GroupState()
    assert OffsetLoader(state.offsets).load(0, *encode_record(CoordinatorRecord(key, value, version)), -1)
    ((_, found),) = state.offsets.newest("g")
    assert (found.offset, found.leader_epoch, found.metadata, found.topic_id) == (5, -1, metadata, ZERO_UUID)


def test_names_are_kept_once_and_forgotten_afterwards() -> None:
    state = GroupState()
    loader = OffsetLoader(state.offsets)
    for offset, partition in enumerate([0, 1, 0]):
        for group in ("g", "h"):
            value = OffsetCommitValue(offset=offset, topic_id=b"a" * 16)
            key = OffsetCommitKey(group=group, topic="orders", partition=partition)
            loader.load(offset, *encode_record(CoordinatorRecord(key, value, 4)), -1)
    found = [where for group in ("g", "h") for where, _ in state.offsets.newest(group)]
    assert len(found) == 4
    assert len({id(where) for where in found}) == 2
    assert len({id(found.topic_id) for group in ("g", "h") for _, found in state.offsets.newest(group)}) == 1
    loader.forget()
    assert (loader._groups, loader._places, loader._topic_ids) == ({}, {}, {})


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\2", b"\0\2\0\1g", b"\0\1\0"])
def test_other_kinds_are_left_to_others(key: bytes) -> None:
    assert not OffsetLoader(GroupState().offsets).load(0, key, b"", -1)
