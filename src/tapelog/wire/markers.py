"""Transaction markers: the control batches that end a producer's transaction in a partition.

A marker is a batch of its own with one record, whose key says commit or abort and whose value says which epoch of the
transaction coordinator wrote it. Both begin with a version.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.reader import Reader
from tapelog.wire.record_batch import BatchHeader, Record, build_batch, records_of
from tapelog.wire.records.end_txn_marker import EndTxnMarker
from tapelog.wire.writer import Writer

ABORT: Final = 0
COMMIT: Final = 1
KEY_VERSION: Final = 0
VALUE_VERSION: Final = 0


def build_marker(
    producer_id: int, producer_epoch: int, commit: bool, coordinator_epoch: int, timestamp_ms: int
) -> bytes:
    """The batch that commits or aborts what the producer's transaction wrote to a partition."""
    key = Writer()
    key.i16(KEY_VERSION)
    key.i16(COMMIT if commit else ABORT)
    value = Writer()
    value.i16(VALUE_VERSION)
    EndTxnMarker(coordinator_epoch).encode(value, VALUE_VERSION)
    return build_batch(
        [Record(0, timestamp_ms, key.tobytes(), value.tobytes())],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def marker_commits(buf: bytes, header: BatchHeader) -> bool | None:
    """Whether a control batch commits or aborts its producer's transaction; None if it is another kind of control."""
    for record in records_of(buf, header):
        key = record.key or b""
        r = Reader(key, 0, len(key))
        r.i16()
        kind = r.i16()
        return kind == COMMIT if kind in (ABORT, COMMIT) else None
    return None
