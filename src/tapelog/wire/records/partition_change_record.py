"""PartitionChangeRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class PartitionChangeRecord(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        directories: list[bytes] | None = None,
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: bytes = topic_id
        self.isr: list[int] | None = isr
        self.leader: int = leader
        self.replicas: list[int] | None = replicas
        self.removing_replicas: list[int] | None = removing_replicas
        self.adding_replicas: list[int] | None = adding_replicas
        self.leader_recovery_state: int = leader_recovery_state
        self.directories: list[bytes] | None = directories
        self.eligible_leader_replicas: list[int] | None = eligible_leader_replicas
        self.last_known_elr: list[int] | None = last_known_elr

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionChangeRecord:
        if version < 0 or version > 2:
            bad_version("PartitionChangeRecord", version)
        made = PartitionChangeRecord(
            r.i32(),
            r.uuid(),
        )
        for _ in range(r.uvarint()):
            tag = r.uvarint()
            stop = r.tag_end()
            if tag == 0:
                made.isr = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 1:
                made.leader = r.i32()
            elif tag == 2:
                made.replicas = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 3:
                made.removing_replicas = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 4:
                made.adding_replicas = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 5:
                made.leader_recovery_state = r.i8()
            elif tag == 6 and version >= 2:
                made.eligible_leader_replicas = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 7 and version >= 2:
                made.last_known_elr = None if (n := r.compact_nullable_array(4)) < 0 else r.i32_items(n)
            elif tag == 8 and version >= 1:
                made.directories = None if (n := r.compact_nullable_array(16)) < 0 else [r.uuid() for _ in range(n)]
            else:
                r.pos = stop
            r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("PartitionChangeRecord", version)
        w.i32(self.partition_id)
        w.uuid(self.topic_id)
        if version < 1:
            if self.directories is not None:
                lost_field("PartitionChangeRecord.directories", version)
        if version < 2:
            if self.eligible_leader_replicas is not None:
                lost_field("PartitionChangeRecord.eligible_leader_replicas", version)
            if self.last_known_elr is not None:
                lost_field("PartitionChangeRecord.last_known_elr", version)
        tags = 0
        if self.isr is not None:
            tags += 1
        if self.leader != -2:
            tags += 1
        if self.replicas is not None:
            tags += 1
        if self.removing_replicas is not None:
            tags += 1
        if self.adding_replicas is not None:
            tags += 1
        if self.leader_recovery_state != -1:
            tags += 1
        if version >= 2 and self.eligible_leader_replicas is not None:
            tags += 1
        if version >= 2 and self.last_known_elr is not None:
            tags += 1
        if version >= 1 and self.directories is not None:
            tags += 1
        w.uvarint(tags)
        if tags > 0:
            if self.isr is not None:
                field = Writer()
                field.compact_array(len(self.isr))
                field.i32_items(self.isr)
                w.tagged(0, field)
            if self.leader != -2:
                field = Writer()
                field.i32(self.leader)
                w.tagged(1, field)
            if self.replicas is not None:
                field = Writer()
                field.compact_array(len(self.replicas))
                field.i32_items(self.replicas)
                w.tagged(2, field)
            if self.removing_replicas is not None:
                field = Writer()
                field.compact_array(len(self.removing_replicas))
                field.i32_items(self.removing_replicas)
                w.tagged(3, field)
            if self.adding_replicas is not None:
                field = Writer()
                field.compact_array(len(self.adding_replicas))
                field.i32_items(self.adding_replicas)
                w.tagged(4, field)
            if self.leader_recovery_state != -1:
                field = Writer()
                field.i8(self.leader_recovery_state)
                w.tagged(5, field)
            if version >= 2 and self.eligible_leader_replicas is not None:
                field = Writer()
                field.compact_array(len(self.eligible_leader_replicas))
                field.i32_items(self.eligible_leader_replicas)
                w.tagged(6, field)
            if version >= 2 and self.last_known_elr is not None:
                field = Writer()
                field.compact_array(len(self.last_known_elr))
                field.i32_items(self.last_known_elr)
                w.tagged(7, field)
            if version >= 1 and self.directories is not None:
                field = Writer()
                field.compact_array(len(self.directories))
                for directories_item in self.directories:
                    field.uuid(directories_item)
                w.tagged(8, field)
