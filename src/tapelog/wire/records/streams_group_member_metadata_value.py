"""StreamsGroupMemberMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class Endpoint(Message):
    """Part of StreamsGroupMemberMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "host",
        "port",
    )

    def __init__(self, host: str = "", port: int = 0) -> None:
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> Endpoint:
        made = Endpoint(
            r.compact_string(),
            r.u16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.host)
        w.u16(self.port)
        w.uvarint(0)


class KeyValue(Message):
    """Part of StreamsGroupMemberMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key: str = key
        self.value: str = value

    @staticmethod
    def decode(r: Reader, version: int) -> KeyValue:
        made = KeyValue(
            r.compact_string(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.key)
        w.compact_string(self.value)
        w.uvarint(0)


class StreamsGroupMemberMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = EMPTY,
    ) -> None:
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.topology_epoch: int = topology_epoch
        self.process_id: str = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: list[KeyValue] = [] if client_tags is EMPTY else client_tags

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupMemberMetadataValue:
        if version != 0:
            bad_version("StreamsGroupMemberMetadataValue", version)
        made = StreamsGroupMemberMetadataValue(
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.i32(),
            r.compact_string(),
            Endpoint.decode(r, version) if r.present() else None,
            [KeyValue.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupMemberMetadataValue", version)
        w.compact_nullable_string(self.instance_id)
        w.compact_nullable_string(self.rack_id)
        w.compact_string(self.client_id)
        w.compact_string(self.client_host)
        w.i32(self.rebalance_timeout_ms)
        w.i32(self.topology_epoch)
        w.compact_string(self.process_id)
        if self.user_endpoint is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.user_endpoint.encode(w, version)
        w.compact_array(len(self.client_tags))
        for client_tags_item in self.client_tags:
            client_tags_item.encode(w, version)
        w.uvarint(0)
