"""ShareGroupHeartbeatRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ShareGroupHeartbeatRequest(Message):
    """Version 1."""

    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "member_epoch",
        "rack_id",
        "subscribed_topic_names",
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.rack_id: str | None = rack_id
        self.subscribed_topic_names: list[str] | None = subscribed_topic_names

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupHeartbeatRequest:
        if version != 1:
            bad_version("ShareGroupHeartbeatRequest", version)
        made = ShareGroupHeartbeatRequest(
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.compact_nullable_string(),
            None if (n := r.compact_nullable_array(1)) < 0 else [r.compact_string() for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 1:
            bad_version("ShareGroupHeartbeatRequest", version)
        w.compact_string(self.group_id)
        w.compact_string(self.member_id)
        w.i32(self.member_epoch)
        w.compact_nullable_string(self.rack_id)
        if self.subscribed_topic_names is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.subscribed_topic_names))
            for subscribed_topic_names_item in self.subscribed_topic_names:
                w.compact_string(subscribed_topic_names_item)
        w.uvarint(0)
