"""BrokerHeartbeatRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class BrokerHeartbeatRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.current_metadata_offset: int = current_metadata_offset
        self.want_fence: bool = want_fence
        self.want_shut_down: bool = want_shut_down
        self.offline_log_dirs: list[bytes] = [] if offline_log_dirs is EMPTY else offline_log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs

    @staticmethod
    def decode(r: Reader, version: int) -> BrokerHeartbeatRequest:
        if version < 0 or version > 2:
            bad_version("BrokerHeartbeatRequest", version)
        made = BrokerHeartbeatRequest(
            r.i32(),
            r.i64(),
            r.i64(),
            r.boolean(),
            r.boolean(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0 and version >= 1:
                made.offline_log_dirs = [r.uuid() for _ in range(r.compact_array(16))]
            elif tag == 1 and version >= 2:
                made.cordoned_log_dirs = (
                    None if (n := r.compact_nullable_array(16)) < 0 else [r.uuid() for _ in range(n)]
                )
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("BrokerHeartbeatRequest", version)
        w.i32(self.broker_id)
        w.i64(self.broker_epoch)
        w.i64(self.current_metadata_offset)
        w.boolean(self.want_fence)
        w.boolean(self.want_shut_down)
        if version < 1:
            if self.offline_log_dirs:
                lost_field("BrokerHeartbeatRequest.offline_log_dirs", version)
        if version < 2:
            if self.cordoned_log_dirs is not None:
                lost_field("BrokerHeartbeatRequest.cordoned_log_dirs", version)
        tags = 0
        if version >= 1 and self.offline_log_dirs:
            tags += 1
        if version >= 2 and self.cordoned_log_dirs is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if version >= 1 and self.offline_log_dirs:
                field = Writer()
                field.compact_array(len(self.offline_log_dirs))
                for offline_log_dirs_item in self.offline_log_dirs:
                    field.uuid(offline_log_dirs_item)
                w.tagged(0, field)
            if version >= 2 and self.cordoned_log_dirs is not None:
                field = Writer()
                field.compact_array(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_item in self.cordoned_log_dirs:
                    field.uuid(cordoned_log_dirs_item)
                w.tagged(1, field)
