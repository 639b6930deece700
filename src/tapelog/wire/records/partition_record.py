"""PartitionRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionRecord(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        replicas: list[int] = EMPTY,
        isr: list[int] = EMPTY,
        removing_replicas: list[int] = EMPTY,
        adding_replicas: list[int] = EMPTY,
        leader: int = -1,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[bytes] = EMPTY,
        leader_recovery_state: int = 0,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: bytes = topic_id
        self.replicas: list[int] = [] if replicas is EMPTY else replicas
        self.isr: list[int] = [] if isr is EMPTY else isr
        self.removing_replicas: list[int] = [] if removing_replicas is EMPTY else removing_replicas
        self.adding_replicas: list[int] = [] if adding_replicas is EMPTY else adding_replicas
        self.leader: int = leader
        self.leader_recovery_state: int = leader_recovery_state
        self.leader_epoch: int = leader_epoch
        self.partition_epoch: int = partition_epoch
        self.directories: list[bytes] = [] if directories is EMPTY else directories
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionRecord:
        if version < 0 or version > 2:
            bad_version("PartitionRecord", version)
        made = PartitionRecord(
            r.i32(),
            r.uuid(),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
            r.i32_items(r.compact_array(4)),
            r.i32(),
            r.i32(),
            r.i32(),
            [r.uuid() for _ in range(r.compact_array(16))] if version >= 1 else [],
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.leader_recovery_state = r.i8()
            elif tag == 1 and version >= 2:
                made.eligible_leader_replicas = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 2 and version >= 2:
                made.last_known_elr = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("PartitionRecord", version)
        w.i32(self.partition_id)
        w.uuid(self.topic_id)
        w.compact_array(len(self.replicas))
        w.i32_items(self.replicas)
        w.compact_array(len(self.isr))
        w.i32_items(self.isr)
        w.compact_array(len(self.removing_replicas))
        w.i32_items(self.removing_replicas)
        w.compact_array(len(self.adding_replicas))
        w.i32_items(self.adding_replicas)
        w.i32(self.leader)
        w.i32(self.leader_epoch)
        w.i32(self.partition_epoch)
        if version >= 1:
            w.compact_array(len(self.directories))
            for directories_item in self.directories:
                w.uuid(directories_item)
        else:
            if self.directories:
                lost_field("PartitionRecord.directories", version)
        if version < 2:
            if self.eligible_leader_replicas is not None:
                lost_field("PartitionRecord.eligible_leader_replicas", version)
            if self.last_known_elr is not None:
                lost_field("PartitionRecord.last_known_elr", version)
        tags = 0
        if self.leader_recovery_state != 0:
            tags += 1
        if version >= 2 and self.eligible_leader_replicas is not None:
            tags += 1
        if version >= 2 and self.last_known_elr is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.leader_recovery_state != 0:
                field = Writer()
                field.i8(self.leader_recovery_state)
                w.tagged(0, field)
            if version >= 2 and self.eligible_leader_replicas is not None:
                field = Writer()
                field.compact_array(len(self.eligible_leader_replicas))
                field.i32_items(self.eligible_leader_replicas)
                w.tagged(1, field)
            if version >= 2 and self.last_known_elr is not None:
                field = Writer()
                field.compact_array(len(self.last_known_elr))
                field.i32_items(self.last_known_elr)
                w.tagged(2, field)
