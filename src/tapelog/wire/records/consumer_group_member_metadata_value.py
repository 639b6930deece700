"""ConsumerGroupMemberMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar, Final

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ClassicProtocol(Message):
    """Part of ConsumerGroupMemberMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "metadata",
    )

    def __init__(self, name: str = "", metadata: bytes = b"") -> None:
        self.name: str = name
        self.metadata: bytes = metadata

    @staticmethod
    def decode(r: Reader, version: int) -> ClassicProtocol:
        made = ClassicProtocol(
            r.compact_string(),
            r.compact_bytestring(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_bytestring(self.metadata)
        w.uvarint(0)


class ClassicMemberMetadata(Message):
    """Part of ConsumerGroupMemberMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "session_timeout_ms",
        "supported_protocols",
    )

    def __init__(self, session_timeout_ms: int = 0, supported_protocols: list[ClassicProtocol] = EMPTY) -> None:
        self.session_timeout_ms: int = session_timeout_ms
        self.supported_protocols: list[ClassicProtocol] = [] if supported_protocols is EMPTY else supported_protocols

    @staticmethod
    def decode(r: Reader, version: int) -> ClassicMemberMetadata:
        made = ClassicMemberMetadata(
            r.i32(),
            [ClassicProtocol.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.session_timeout_ms)
        w.compact_array(len(self.supported_protocols))
        for supported_protocols_item in self.supported_protocols:
            supported_protocols_item.encode(w, version)
        w.uvarint(0)


_DEFAULT_CLASSIC_MEMBER_METADATA: Final = ClassicMemberMetadata()


class ConsumerGroupMemberMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = EMPTY,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = _DEFAULT_CLASSIC_MEMBER_METADATA,
    ) -> None:
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.server_assignor: str | None = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = (
            ClassicMemberMetadata()
            if classic_member_metadata is _DEFAULT_CLASSIC_MEMBER_METADATA
            else classic_member_metadata
        )

    @staticmethod
    def decode(r: Reader, version: int) -> ConsumerGroupMemberMetadataValue:
        if version != 0:
            bad_version("ConsumerGroupMemberMetadataValue", version)
        made = ConsumerGroupMemberMetadataValue(
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            r.compact_nullable_string(),
            r.i32(),
            r.compact_nullable_string(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.classic_member_metadata = ClassicMemberMetadata.decode(r, version) if r.uvarint() > 0 else None
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ConsumerGroupMemberMetadataValue", version)
        w.compact_nullable_string(self.instance_id)
        w.compact_nullable_string(self.rack_id)
        w.compact_string(self.client_id)
        w.compact_string(self.client_host)
        w.compact_array(len(self.subscribed_topic_names))
        for subscribed_topic_names_item in self.subscribed_topic_names:
            w.compact_string(subscribed_topic_names_item)
        w.compact_nullable_string(self.subscribed_topic_regex)
        w.i32(self.rebalance_timeout_ms)
        w.compact_nullable_string(self.server_assignor)
        tags = 0
        if self.classic_member_metadata is None or self.classic_member_metadata != ClassicMemberMetadata():
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.classic_member_metadata is None or self.classic_member_metadata != ClassicMemberMetadata():
                field = Writer()
                if self.classic_member_metadata is None:
                    field.uvarint(0)
                else:
                    field.uvarint(1)
                    self.classic_member_metadata.encode(field, version)
                w.tagged(0, field)
