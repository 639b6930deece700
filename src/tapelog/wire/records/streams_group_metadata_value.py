"""StreamsGroupMetadataValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class LastAssignmentConfig(Message):
    """Part of StreamsGroupMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key: str = key
        self.value: str = value

    @staticmethod
    def decode(r: Reader, version: int) -> LastAssignmentConfig:
        made = LastAssignmentConfig(
            r.compact_string(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.key)
        w.compact_string(self.value)
        w.uvarint(0)


class StreamsGroupMetadataValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "metadata_hash",
        "validated_topology_epoch",
        "last_assignment_configs",
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = EMPTY,
    ) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash
        self.validated_topology_epoch: int = validated_topology_epoch
        self.last_assignment_configs: list[LastAssignmentConfig] | None = (
            [] if last_assignment_configs is EMPTY else last_assignment_configs
        )

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupMetadataValue:
        if version != 0:
            bad_version("StreamsGroupMetadataValue", version)
        made = StreamsGroupMetadataValue(
            r.i32(),
            r.i64(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.validated_topology_epoch = r.i32()
            elif tag == 1:
                made.last_assignment_configs = (
                    None
                    if (n := r.compact_nullable_array(3)) < 0
                    else [LastAssignmentConfig.decode(r, version) for _ in range(n)]
                )
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupMetadataValue", version)
        w.i32(self.epoch)
        w.i64(self.metadata_hash)
        tags = 0
        if self.validated_topology_epoch != -1:
            tags += 1
        if self.last_assignment_configs is None or self.last_assignment_configs:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.validated_topology_epoch != -1:
                field = Writer()
                field.i32(self.validated_topology_epoch)
                w.tagged(0, field)
            if self.last_assignment_configs is None or self.last_assignment_configs:
                field = Writer()
                if self.last_assignment_configs is None:
                    field.compact_array(-1)
                else:
                    field.compact_array(len(self.last_assignment_configs))
                    for last_assignment_configs_item in self.last_assignment_configs:
                        last_assignment_configs_item.encode(field, version)
                w.tagged(1, field)
