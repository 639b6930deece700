"""ShareGroupTargetAssignmentMemberValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicPartition(Message):
    """Part of ShareGroupTargetAssignmentMemberValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[int] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartition:
        made = TopicPartition(
            r.uuid(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class ShareGroupTargetAssignmentMemberValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(self, topic_partitions: list[TopicPartition] = EMPTY) -> None:
        self.topic_partitions: list[TopicPartition] = [] if topic_partitions is EMPTY else topic_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ShareGroupTargetAssignmentMemberValue:
        if version != 0:
            bad_version("ShareGroupTargetAssignmentMemberValue", version)
        made = ShareGroupTargetAssignmentMemberValue(
            [TopicPartition.decode(r, version) for _ in range(r.compact_array(18))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("ShareGroupTargetAssignmentMemberValue", version)
        w.compact_array(len(self.topic_partitions))
        for topic_partitions_item in self.topic_partitions:
            topic_partitions_item.encode(w, version)
        w.uvarint(0)
