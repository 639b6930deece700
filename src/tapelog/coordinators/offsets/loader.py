"""The short way from a stored record to a committed offset, for loading: a log may hold millions of them.

Decodes key and value without the classes of the records, and uses one object for every group id, partition and topic id
however often they come. `records.decode_record` and `OffsetStore.replay` say the same at length; a test compares them.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from tapelog.coordinators.offsets.store import OffsetStore
from tapelog.coordinators.offsets.stored import StoredOffset
from tapelog.wire.reader import Reader
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.values import ZERO_UUID, WireError

COMMON: Final = Struct(">hqiBqBBB16s")
"""The value nearly every record has: version 4, no metadata, and a topic id as the only tagged field."""
COMMON_VERSION: Final = 4

KIND: Final = OffsetCommitKey.API_KEY
VERSION_MAX: Final = OffsetCommitValue.MAX_VERSION
GROUP_AT: Final = 4
"""Where the group id begins: after the kind and its own length."""


class OffsetLoader:
    """Fills a store from the bytes of records. `forget` when everything is loaded."""

    def __init__(self, store: OffsetStore) -> None:
        self._store = store
        self._groups: dict[bytes, str] = {}
        self._places: dict[bytes, Any] = {}
        self._topic_ids: dict[bytes, bytes] = {}

    def load(self, offset: int, key: bytes, value: bytes | None, producer_id: int) -> bool:
        """Apply the record at offset if it is of a committed offset; False if it is of another kind."""
        if len(key) < GROUP_AT or (key[0] << 8 | key[1]) != KIND:
            return False
        group_end = GROUP_AT + (key[2] << 8 | key[3])
        group_key = key[GROUP_AT:group_end]
        place_key = key[group_end:]
        if group_key not in self._groups or place_key not in self._places:
            self._learn(key, group_key, place_key)
        found = None if value is None else self._decode(offset, value)
        self._store.apply(offset, self._groups[group_key], self._places[place_key], found, producer_id)
        return True

    def forget(self) -> None:
        """What was kept to recognise names."""
        self._groups.clear()
        self._places.clear()
        self._topic_ids.clear()

    def _learn(self, key: bytes, group_key: bytes, place_key: bytes) -> None:
        r = Reader(key, 2)
        group_id = r.string()
        topic = r.string()
        self._places.setdefault(place_key, (topic, r.i32()))
        self._groups.setdefault(group_key, group_id)

    def _decode(self, offset: int, value: bytes) -> StoredOffset:
        if len(value) == COMMON.size:
            version, committed, epoch, size, timestamp, tags, tag, tag_size, topic_id = COMMON.unpack(value)
            if version == COMMON_VERSION and size == 1 and tags == 1 and tag == 0 and tag_size == 16:
                topic_id = self._topic_ids.setdefault(topic_id, topic_id)
                return StoredOffset(offset, committed, epoch, "", timestamp, -1, topic_id)
        r = Reader(value)
        version = r.i16()
        if version < 0 or version > VERSION_MAX:
            raise WireError(f"OffsetCommitValue has no version {version}")
        committed = r.i64()
        leader_epoch = r.i32() if version >= 3 else -1
        metadata = r.compact_string() if version >= 4 else r.string()
        commit_timestamp = r.i64()
        expire_timestamp = r.i64() if version == 1 else -1
        topic_id = self._topic_id(r) if version >= 4 else ZERO_UUID
        return StoredOffset(offset, committed, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id)

    def _topic_id(self, r: Reader) -> bytes:
        topic_id = ZERO_UUID
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                topic_id = r.uuid()
            else:
                r.pos = stop
            r.end_tag(stop)
        return self._topic_ids.setdefault(topic_id, topic_id)
