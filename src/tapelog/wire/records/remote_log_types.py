"""The records of __remote_log_metadata. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.records.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
from tapelog.wire.records.remote_log_segment_metadata_snapshot_record import RemoteLogSegmentMetadataSnapshotRecord
from tapelog.wire.records.remote_log_segment_metadata_update_record import RemoteLogSegmentMetadataUpdateRecord
from tapelog.wire.records.remote_partition_delete_metadata_record import RemotePartitionDeleteMetadataRecord

REMOTE_LOG_TYPES: Final[dict[int, type[Message]]] = {
    0: RemoteLogSegmentMetadataRecord,
    1: RemoteLogSegmentMetadataUpdateRecord,
    2: RemotePartitionDeleteMetadataRecord,
    3: RemoteLogSegmentMetadataSnapshotRecord,
}
"""Record type to class."""
