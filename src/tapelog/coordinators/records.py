"""The group coordinator's records as bytes, in Kafka's schema, and the makers of each kind.

A key starts with the number of its kind (the definitions call it apiKey), a value with its version; so Kafka's own
formatter reads `__consumer_offsets` of ours. Handlers build records here; `shard` and `loading` turn them to and from
bytes.
"""

from __future__ import annotations

from typing import Final

from tapelog.coordinators.consumer.store import KEYS as CONSUMER_KEYS
from tapelog.coordinators.consumer.store import VALUES as CONSUMER_VALUES
from tapelog.coordinators.outcome import CoordinatorRecord
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader, WireError, Writer
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tapelog.wire.records.group_metadata_value import GroupMetadataValue
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue

GROUP_METADATA_VERSION: Final = 3
OFFSET_COMMIT_VERSION: Final = 4
OFFSET_COMMIT_EXPIRING_VERSION: Final = 1
"""The only version that can say when one offset expires; written for clients that ask for a retention time."""

_KINDS: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    OffsetCommitKey.API_KEY: (OffsetCommitKey, OffsetCommitValue),
    GroupMetadataKey.API_KEY: (GroupMetadataKey, GroupMetadataValue),
    **{key.API_KEY: (key, value) for key, value in zip(CONSUMER_KEYS, CONSUMER_VALUES, strict=True)},
}
"""Key and value classes by the number a key starts with."""


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """The record's key and value as they stand in the log. WireError if a field does not fit."""
    w = Writer()
    w.i16(record.key.API_KEY)
    record.key.encode(w, 0)
    key = w.tobytes()
    if record.value is None:
        return key, None
    w = Writer()
    w.i16(record.value_version)
    record.value.encode(w, record.value_version)
    return key, w.tobytes()


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """A record from the log; None for kinds that this version does not know. WireError if it is damaged."""
    r = Reader(key, 0, len(key))
    classes = _KINDS.get(r.i16())
    return None if classes is None else _with_value(classes[0].decode(r, 0), classes[1], value)


def _with_value(key: Message, value_class: type[Message], value: bytes | None) -> CoordinatorRecord:
    if value is None:
        return CoordinatorRecord(key, None)
    r = Reader(value, 0, len(value))
    version = r.i16()
    if not value_class.MIN_VERSION <= version <= value_class.MAX_VERSION:
        raise WireError(f"{value_class.__name__} has no version {version}")
    return CoordinatorRecord(key, value_class.decode(r, version), version)


def group_metadata(group_id: str, value: GroupMetadataValue) -> CoordinatorRecord:
    """The group as it is from now on."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), value, GROUP_METADATA_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The group is gone."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def offset_commit(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    """A committed offset."""
    version = OFFSET_COMMIT_VERSION if value.expire_timestamp == -1 else OFFSET_COMMIT_EXPIRING_VERSION
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """The group has no committed offset there any more."""
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
