"""Records as `tape dump` shows them: plain, control, and those of internal topics decoded by their schemas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapelog.cli.records import plain
from tapelog.log.checkpoints import uuid_text
from tapelog.wire import control_records
from tapelog.wire.message import Message
from tapelog.wire.reader import Reader
from tapelog.wire.record_batch import Record
from tapelog.wire.records.framing import CoordinatorTypes, decode_metadata, decode_record
from tapelog.wire.values import WireError

Entry = dict[str, Any]
Decoder = Callable[[Record], Entry]

UUID_BYTES = 16
_CONTROL_NAMES = {
    control_records.ABORT: "abort",
    control_records.COMMIT: "commit",
    control_records.LEADER_CHANGE: "leader change",
    control_records.SNAPSHOT_HEADER: "snapshot header",
    control_records.SNAPSHOT_FOOTER: "snapshot footer",
    control_records.KRAFT_VERSION: "kraft version",
    control_records.KRAFT_VOTERS: "kraft voters",
}


def plain_record(record: Record) -> Entry:
    """Offset, timestamp, key, value and headers."""
    return {
        "kind": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": plain(record.key, parse=False),
        "value": plain(record.value),
        "headers": [[name, plain(value, parse=False)] for name, value in record.headers],
    }


def control_record(record: Record) -> Entry:
    """A marker: its kind and what it says."""
    entry: Entry = {"kind": "control record", "offset": record.offset, "timestamp": record.timestamp}
    try:
        number = control_records.control_kind(record.key)
        entry["control"] = _CONTROL_NAMES.get(number, number)
        if number in (control_records.ABORT, control_records.COMMIT):
            entry["value"] = as_plain(control_records.decode_marker(record.value))
        else:
            message = _quorum_class(number)
            if message is not None:
                entry["value"] = as_plain(_decode_quorum(message, record.value or b""))
    except WireError as error:
        entry["error"] = str(error)
    return entry


def _quorum_class(number: int) -> type[Message] | None:
    from tapelog.wire.records.kraft_version_record import KRaftVersionRecord
    from tapelog.wire.records.leader_change_message import LeaderChangeMessage
    from tapelog.wire.records.snapshot_footer_record import SnapshotFooterRecord
    from tapelog.wire.records.snapshot_header_record import SnapshotHeaderRecord
    from tapelog.wire.records.voters_record import VotersRecord

    classes: dict[int, type[Message]] = {
        control_records.LEADER_CHANGE: LeaderChangeMessage,
        control_records.SNAPSHOT_HEADER: SnapshotHeaderRecord,
        control_records.SNAPSHOT_FOOTER: SnapshotFooterRecord,
        control_records.KRAFT_VERSION: KRaftVersionRecord,
        control_records.KRAFT_VOTERS: VotersRecord,
    }
    return classes.get(number)


def _decode_quorum(message: type[Message], value: bytes) -> Message:
    """Quorum records begin with a version field of their own."""
    return message.decode(Reader(value), Reader(value).i16())


def decoder_for(path: Path) -> Decoder | None:
    """How records are decoded in the topic whose directory this file is in; None: as plain bytes."""
    topic = path.absolute().parent.name.rpartition("-")[0]
    if topic == "__consumer_offsets":
        from tapelog.wire.records.group_types import GROUP_TYPES

        return lambda record: _coordinator_record(record, GROUP_TYPES)
    if topic == "__transaction_state":
        from tapelog.wire.records.transaction_types import TRANSACTION_TYPES

        return lambda record: _coordinator_record(record, TRANSACTION_TYPES)
    if topic == "__share_group_state":
        from tapelog.wire.records.share_types import SHARE_TYPES

        return lambda record: _coordinator_record(record, SHARE_TYPES)
    if topic == "__cluster_metadata" or path.name.endswith(".checkpoint"):
        return _metadata_record
    return None


def _coordinator_record(record: Record, types: CoordinatorTypes) -> Entry:
    try:
        decoded = decode_record(types, record.key or b"", record.value)
    except WireError as error:
        return {**plain_record(record), "error": str(error)}
    if decoded is None:
        return plain_record(record)
    key, value = decoded
    return {
        "kind": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "type": type(key).__name__.removesuffix("Key"),
        "key": as_plain(key),
        "value": None if value is None else as_plain(value),
    }


def _metadata_record(record: Record) -> Entry:
    from tapelog.wire.records.metadata_types import METADATA_TYPES

    try:
        message, version = decode_metadata(METADATA_TYPES, record.value or b"")
    except WireError as error:
        return {**plain_record(record), "error": str(error)}
    return {
        "kind": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "type": type(message).__name__,
        "version": version,
        "value": as_plain(message),
    }


def as_plain(value: Any, name: str = "") -> Any:
    """A message, or anything in one, as JSON can say it; sixteen bytes in an id field are a uuid."""
    if isinstance(value, Message):
        return {field: as_plain(getattr(value, field), field) for field in value.FIELDS}
    if isinstance(value, list | tuple):
        return [as_plain(item, name) for item in value]
    if isinstance(value, bytes):
        is_uuid = len(value) == UUID_BYTES and name.endswith(("id", "ids", "directories", "directory"))
        return uuid_text(value) if is_uuid else plain(value, parse=False)
    return value
