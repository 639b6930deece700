"""Producer-state snapshots: `<offset>.snapshot` in Kafka's format, valid up to (excluding) that offset.

Taken at every roll, every checkpoint and at shutdown, so that opening a log need not read what lies before.
Kafka's format keeps only the newest batch of each producer. A client that retries five batches after a crash needs
all five recognised, so the older ones follow behind Kafka's entries, where Kafka's reader does not look; they are
covered by the same checksum, and a snapshot without them is fine.
"""

from __future__ import annotations

import struct
from typing import Final

from tapelog.base.ports import Disk
from tapelog.log.producer_state import BatchSeen, ProducerEntry, ProducerState
from tapelog.wire.crc import crc32c

HEAD: Final = struct.Struct(">hI")
COUNT: Final = struct.Struct(">i")
ENTRY: Final = struct.Struct(">qhiqiqiq")
VERSION: Final = 1
OLDER_MARK: Final = b"TPL1"
OLDER: Final = struct.Struct(">iqiq")


class SnapshotError(Exception):
    """The snapshot is damaged or of an unknown version."""


def render_snapshot(state: ProducerState) -> bytes:
    """The state as Kafka writes it: of each producer only the newest batch is kept."""
    pieces = [COUNT.pack(len(state.entries))]
    for entry in state.entries.values():
        newest = entry.batches[-1] if entry.batches else None
        pieces.append(
            ENTRY.pack(
                entry.producer_id,
                entry.epoch,
                -1 if newest is None else newest.last_sequence,
                -1 if newest is None else newest.last_offset,
                0 if newest is None else newest.delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.txn_first_offset,
            )
        )
    if any(len(entry.batches) > 1 for entry in state.entries.values()):
        pieces.append(OLDER_MARK)
        for entry in state.entries.values():
            older = entry.batches[:-1]
            pieces.append(bytes((len(older),)))
            pieces.extend(OLDER.pack(b.last_sequence, b.last_offset, b.delta, b.timestamp) for b in older)
    body = b"".join(pieces)
    return HEAD.pack(VERSION, crc32c(body)) + body


def write_snapshot(disk: Disk, path: str, data: bytes) -> None:
    """Write it, not durably — unless there is a good one: that says the same, and may be what a checkpoint relies
    on, so it must not be torn by a power cut in the middle of replacing it."""
    try:
        parse_snapshot(disk.read_file(path))
    except (FileNotFoundError, SnapshotError):
        disk.write_file(path, data)


def check_snapshot(data: bytes) -> int:
    """How many producers are in it; SnapshotError if anything is wrong. Makes no entries of them."""
    if len(data) < HEAD.size + COUNT.size:
        raise SnapshotError("too short")
    version, checksum = HEAD.unpack_from(data)
    if version != VERSION:
        raise SnapshotError(f"version {version} is not {VERSION}")
    if crc32c(data[HEAD.size :]) != checksum:
        raise SnapshotError("checksum mismatch")
    (count,) = COUNT.unpack_from(data, HEAD.size)
    if count < 0 or len(data) < HEAD.size + COUNT.size + count * ENTRY.size:
        raise SnapshotError(f"{count} entries do not fit {len(data)} bytes")
    return int(count)


def parse_snapshot(data: bytes) -> list[ProducerEntry]:
    """The producers in it; SnapshotError if anything is wrong."""
    count = check_snapshot(data)
    start = HEAD.size + COUNT.size
    entries = []
    for number in range(count):
        fields = ENTRY.unpack_from(data, start + number * ENTRY.size)
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first = fields
        entry = ProducerEntry(producer_id)
        entry.epoch = epoch
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.txn_first_offset = txn_first
        if last_offset >= 0:
            entry.batches.append(BatchSeen(last_sequence, last_offset, delta, timestamp))
        entries.append(entry)
    _add_older(data, start + count * ENTRY.size, entries)
    return entries


def _add_older(data: bytes, at: int, entries: list[ProducerEntry]) -> None:
    """Put the older batches, if any are stored, in front of each producer's newest one."""
    if data[at : at + len(OLDER_MARK)] != OLDER_MARK:
        return
    at += len(OLDER_MARK)
    try:
        for entry in entries:
            count = data[at]
            older = [BatchSeen(*OLDER.unpack_from(data, at + 1 + i * OLDER.size)) for i in range(count)]
            entry.batches[:0] = older
            at += 1 + count * OLDER.size
    except (IndexError, struct.error) as error:
        raise SnapshotError("older batches are cut short") from error
