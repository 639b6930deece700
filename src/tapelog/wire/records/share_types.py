"""The records of __share_group_state. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.records.share_snapshot_key import ShareSnapshotKey
from tapelog.wire.records.share_snapshot_value import ShareSnapshotValue
from tapelog.wire.records.share_update_key import ShareUpdateKey
from tapelog.wire.records.share_update_value import ShareUpdateValue

SHARE_TYPES: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    0: (ShareSnapshotKey, ShareSnapshotValue),
    1: (ShareUpdateKey, ShareUpdateValue),
}
"""Record type (the number before the key) to the classes of key and value."""
