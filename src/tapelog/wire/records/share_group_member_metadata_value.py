"""ShareGroupMemberMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ShareGroupMemberMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
    )

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
    ) -> None:
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is EMPTY else subscribed_topic_names

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupMemberMetadataValue:
        if version != 0:
            bad_version("ShareGroupMemberMetadataValue", version)
        made = ShareGroupMemberMetadataValue(
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupMemberMetadataValue", version)
        w.compact_nullable_string(self.rack_id)
        w.compact_string(self.client_id)
        w.compact_string(self.client_host)
        w.compact_array(len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            w.compact_string(subscribed_topic_names_item)
        w.uvarint(0)
