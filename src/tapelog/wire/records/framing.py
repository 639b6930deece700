"""How records are put into the keys and values of internal topics.

Coordinators: the key is its type number and the key message, the value its version and the value message (both numbers
16 bits). Metadata quorum: the value is frame version 1, type, version (all variable-length), then the message; no key.
Called by the coordinators, the metadata log, and `tape dump`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.reader import Reader
from tapelog.wire.values import WireError
from tapelog.wire.writer import Writer

KEY_VERSION: Final = 0
METADATA_FRAME_VERSION: Final = 1

CoordinatorTypes = Mapping[int, tuple[type[Message], type[Message]]]
"""GROUP_TYPES, TRANSACTION_TYPES or SHARE_TYPES."""


def encode_key(key: Message) -> bytes:
    """The record key of a coordinator record."""
    w = Writer()
    w.i16(key.API_KEY)
    key.encode(w, KEY_VERSION)
    return w.tobytes()


def encode_versioned(value: Message, version: int) -> bytes:
    """A message behind its 16-bit version: record values of coordinators, and the consumer protocol's blobs."""
    w = Writer()
    w.i16(version)
    value.encode(w, version)
    return w.tobytes()


def record_type(key: bytes) -> int:
    """The type number of a coordinator record."""
    return Reader(key).i16()


def decode_record(types: CoordinatorTypes, key: bytes, value: bytes | None) -> tuple[Message, Message | None] | None:
    """Key and value (None: a tombstone) of a coordinator record; None if its type is not known.

    WireError if the bytes do not fit, or the value is of a version that is not known.
    """
    r = Reader(key)
    classes = types.get(r.i16())
    if classes is None:
        return None
    decoded = classes[0].decode(r, KEY_VERSION)
    r.expect_end()
    if value is None:
        return decoded, None
    r = Reader(value)
    body = classes[1].decode(r, r.i16())
    r.expect_end()
    return decoded, body


def encode_metadata(record: Message, version: int) -> bytes:
    """The value of a record of __cluster_metadata or __remote_log_metadata."""
    w = Writer()
    w.uvarint(METADATA_FRAME_VERSION)
    w.uvarint(record.API_KEY)
    w.uvarint(version)
    record.encode(w, version)
    return w.tobytes()


def decode_metadata(types: Mapping[int, type[Message]], value: bytes) -> tuple[Message, int]:
    """A record of __cluster_metadata (METADATA_TYPES) or __remote_log_metadata, and its version.

    WireError for unknown types too: metadata that is not understood may not be skipped.
    """
    r = Reader(value)
    frame = r.uvarint()
    if frame != METADATA_FRAME_VERSION:
        raise WireError(f"metadata frame version {frame}")
    number, version = r.uvarint(), r.uvarint()
    found = types.get(number)
    if found is None:
        raise WireError(f"metadata record type {number}")
    record = found.decode(r, version)
    r.expect_end()
    return record, version
