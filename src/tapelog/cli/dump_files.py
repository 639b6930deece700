"""Reading a broker's files one by one, for `tape dump`: each reader yields one document per entry.

They use the broker's own formats (`tapelog.wire`, `tapelog.log`) and change nothing. What does not fit is yielded as an
entry with an `error`, and reading goes on where that makes sense.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tapelog.cli.dump_records import Decoder, decoder_for
from tapelog.log import checkpoints, names
from tapelog.log.snapshots import SnapshotError, parse_snapshot
from tapelog.log.txn_index import ENTRY as TXN_ENTRY
from tapelog.wire.record_batch import HEADER_SIZE, BatchHeader, batch_size, crc_ok, records_of
from tapelog.wire.values import WireError

Entry = dict[str, Any]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CHECKPOINT_SNAPSHOT = ".checkpoint"
BATCH_BYTES_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Wish:
    """How deep to look."""

    records: bool = False
    decode: bool = True
    check: bool = True
    first_offset: int = 0


def read_any(path: Path, wish: Wish) -> Iterator[Entry]:
    """The entries of a file of any kind; ValueError if it is of none."""
    reader = reader_for(path)
    if reader is None:
        raise ValueError(f"{path.name} is not a file of a log")
    yield from reader(path, wish)


def reader_for(path: Path) -> Callable[[Path, Wish], Iterator[Entry]] | None:
    """Which reader understands a file, judging by its name."""
    name = path.name.removesuffix(names.DELETED).removesuffix(names.SWAP).removesuffix(names.CLEANED)
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_SUFFIX.get(os.path.splitext(name)[1])


def read_log(path: Path, wish: Wish) -> Iterator[Entry]:
    """A segment, or a snapshot of the metadata: its batches and, if wished, their records."""
    decoder = decoder_for(path) if wish.decode else None
    with path.open("rb") as opened:
        position = 0
        while True:
            batch = _next_batch(opened, position)
            if batch is None:
                return
            if isinstance(batch, str):
                yield {"kind": "error", "position": position, "error": batch}
                return
            try:
                header = BatchHeader(batch, 0, len(batch))
            except WireError as error:
                yield {"kind": "error", "position": position, "error": str(error)}
                return
            if header.last_offset >= wish.first_offset:
                good = crc_ok(batch, 0, len(batch)) if wish.check else None
                yield _batch(header, position, good)
                if wish.records and good is not False:
                    yield from _records(batch, header, decoder, wish.first_offset)
            position += header.size


def _next_batch(opened: BinaryIO, position: int) -> bytes | str | None:
    """The bytes of the batch that begins here; None at the end; a text saying what is wrong."""
    head = opened.read(HEADER_SIZE)
    if not head:
        return None
    if len(head) < HEADER_SIZE:
        return f"torn: {len(head)} bytes where a batch header of {HEADER_SIZE} should be"
    size = batch_size(head, 0)
    if not HEADER_SIZE <= size <= BATCH_BYTES_MAX:
        return "zeros" if not any(head) else f"a batch cannot have {size} bytes"
    rest = opened.read(size - HEADER_SIZE)
    if len(rest) < size - HEADER_SIZE:
        return f"torn: {HEADER_SIZE + len(rest)} of {size} bytes of a batch"
    return head + rest


def _batch(header: BatchHeader, position: int, good: bool | None) -> Entry:
    return {
        "kind": "batch",
        "position": position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "size": header.size,
        "leader_epoch": header.leader_epoch,
        "compression": CODECS[header.compression] if header.compression < len(CODECS) else header.compression,
        "timestamp_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "crc": header.crc,
        "crc_ok": good,
    }


def _records(batch: bytes, header: BatchHeader, decoder: Decoder | None, first: int) -> Iterator[Entry]:
    from tapelog.cli.dump_records import control_record, plain_record

    try:
        for record in records_of(batch, header):
            if record.offset < first:
                continue
            if header.is_control:
                yield control_record(record)
            elif decoder is not None:
                yield decoder(record)
            else:
                yield plain_record(record)
    except WireError as error:
        yield {"kind": "error", "base_offset": header.base_offset, "error": str(error)}


def _fixed(path: Path, shape: struct.Struct) -> Iterator[tuple[int, ...]]:
    """Entries of fixed size; the zeros that pad a preallocated index end it."""
    data = path.read_bytes()
    for at in range(0, len(data) - shape.size + 1, shape.size):
        yield shape.unpack_from(data, at)


def _segment_base(path: Path) -> int:
    return int(path.name[:20]) if path.name[:20].isdecimal() else 0


def read_offset_index(path: Path, wish: Wish) -> Iterator[Entry]:
    """Offset → position in the segment."""
    base, before = _segment_base(path), -1
    for offset, position in _fixed(path, struct.Struct(">ii")):
        if position <= before:
            return  # Kafka preallocates: zeros follow the last entry
        before = position
        yield {"kind": "offset index", "offset": base + offset, "position": position}


def read_time_index(path: Path, wish: Wish) -> Iterator[Entry]:
    """Timestamp → offset."""
    base, before = _segment_base(path), -1
    for timestamp, offset in _fixed(path, struct.Struct(">qi")):
        if timestamp <= before:
            return
        before = timestamp
        yield {"kind": "time index", "timestamp": timestamp, "offset": base + offset}


def read_transaction_index(path: Path, wish: Wish) -> Iterator[Entry]:
    """Aborted transactions."""
    for _, producer_id, first, last, stable in _fixed(path, TXN_ENTRY):
        yield {
            "kind": "aborted transaction",
            "producer_id": producer_id,
            "first_offset": first,
            "last_offset": last,
            "last_stable_offset": stable,
        }


def read_producer_snapshot(path: Path, wish: Wish) -> Iterator[Entry]:
    """Producer states."""
    try:
        entries = parse_snapshot(path.read_bytes())
    except SnapshotError as error:
        yield {"kind": "error", "error": str(error)}
        return
    for entry in entries:
        yield {
            "kind": "producer",
            "producer_id": entry.producer_id,
            "producer_epoch": entry.epoch,
            "coordinator_epoch": entry.coordinator_epoch,
            "last_timestamp": entry.last_timestamp,
            "transaction_first_offset": entry.txn_first_offset,
            "batches": [
                {"last_sequence": seen.last_sequence, "last_offset": seen.last_offset, "offset_delta": seen.delta}
                for seen in entry.batches
            ],
        }


def _checked(read: Callable[[Path], Iterator[Entry]]) -> Callable[[Path, Wish], Iterator[Entry]]:
    def reader(path: Path, wish: Wish) -> Iterator[Entry]:
        try:
            yield from read(path)
        except checkpoints.CheckpointError as error:
            yield {"kind": "error", "error": str(error)}

    return reader


def _offsets(path: Path) -> Iterator[Entry]:
    for (topic, partition), offset in checkpoints.parse_offsets(path.read_bytes(), path.name).items():
        yield {"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _epochs(path: Path) -> Iterator[Entry]:
    for epoch, start in checkpoints.parse_epochs(path.read_bytes(), path.name):
        yield {"kind": "leader epoch", "epoch": epoch, "start_offset": start}


def _partition_metadata(path: Path) -> Iterator[Entry]:
    topic_id = checkpoints.parse_partition_metadata(path.read_bytes())
    yield {"kind": "partition", "topic_id": checkpoints.uuid_text(topic_id)}


def _properties(path: Path) -> Iterator[Entry]:
    yield {"kind": "properties", **checkpoints.parse_meta_properties(path.read_bytes())}


def _clean_shutdown(path: Path) -> Iterator[Entry]:
    yield {"kind": "clean shutdown", "broker_epoch": checkpoints.parse_clean_shutdown(path.read_bytes())}


def _quorum_state(path: Path) -> Iterator[Entry]:
    try:
        yield {"kind": "quorum state", **json.loads(path.read_bytes())}
    except (ValueError, TypeError) as error:
        yield {"kind": "error", "error": str(error)}


_BY_SUFFIX: dict[str, Callable[[Path, Wish], Iterator[Entry]]] = {
    names.LOG: read_log,
    CHECKPOINT_SNAPSHOT: read_log,
    names.INDEX: read_offset_index,
    names.TIME_INDEX: read_time_index,
    names.TXN_INDEX: read_transaction_index,
    names.SNAPSHOT: read_producer_snapshot,
}
_BY_NAME: dict[str, Callable[[Path, Wish], Iterator[Entry]]] = {
    names.LEADER_EPOCHS: _checked(_epochs),
    names.PARTITION_METADATA: _checked(_partition_metadata),
    names.META_PROPERTIES: _checked(_properties),
    names.RECOVERY_POINTS: _checked(_offsets),
    names.START_OFFSETS: _checked(_offsets),
    names.HIGH_WATERMARKS: _checked(_offsets),
    names.CLEAN_SHUTDOWN: _checked(_clean_shutdown),
    "cleaner-offset-checkpoint": _checked(_offsets),
    "quorum-state": _checked(_quorum_state),
}
