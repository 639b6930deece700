"""Control records: what stands in control batches between the data. Transaction markers, and the quorum's own marks.

Written by the log (markers) and the metadata log (leader changes, snapshots); read by whoever replays either.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.reader import Reader
from tapelog.wire.record_batch import Record, build_batch
from tapelog.wire.records.end_txn_marker import EndTxnMarker
from tapelog.wire.writer import Writer

ABORT: Final = 0
COMMIT: Final = 1
LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
KRAFT_VOTERS: Final = 6

_KEY_VERSION: Final = 0


def control_key(kind: int) -> bytes:
    """The key of a control record of that kind."""
    w = Writer()
    w.i16(_KEY_VERSION)
    w.i16(kind)
    return w.tobytes()


def control_kind(key: bytes | None) -> int:
    """The kind of a control record; WireError if the key is not one."""
    r = Reader(key or b"")
    r.i16()
    return r.i16()


def encode_marker(marker: EndTxnMarker) -> bytes:
    """The value of a COMMIT or ABORT record."""
    w = Writer()
    w.i16(EndTxnMarker.MAX_VERSION)
    marker.encode(w, EndTxnMarker.MAX_VERSION)
    return w.tobytes()


def decode_marker(value: bytes | None) -> EndTxnMarker:
    """The value of a COMMIT or ABORT record. Later versions only add to it."""
    r = Reader(value or b"")
    r.i16()
    return EndTxnMarker.decode(r, EndTxnMarker.MAX_VERSION)


def marker_batch(
    *,
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch that ends a transaction in a partition."""
    value = encode_marker(EndTxnMarker(coordinator_epoch=coordinator_epoch))
    return build_batch(
        [Record(base_offset, timestamp, control_key(COMMIT if commit else ABORT), value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )


def ended_epoch(marker_epoch: int, transaction_version: int) -> int:
    """The newest epoch a transaction can have that the marker ends: in version 2 the marker has the next one."""
    return marker_epoch - 1 if transaction_version >= 2 else marker_epoch


def quorum_record(kind: int, message: Message, version: int, timestamp: int) -> Record:
    """A control record of the metadata quorum: the message holds its own version, nothing stands before it."""
    return Record(0, timestamp, control_key(kind), message.tobytes(version))
