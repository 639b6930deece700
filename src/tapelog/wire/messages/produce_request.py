"""ProduceRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID, RecordBytes
from tapelog.wire.writer import Writer


class PartitionProduceData(Message):
    """Part of ProduceRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "records",
    )

    def __init__(self, index: int = 0, records: RecordBytes | None = None) -> None:
        self.index: int = index
        self.records: RecordBytes | None = records

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionProduceData:
        made = PartitionProduceData(
            r.i32(),
            r.compact_records() if version >= 9 else r.records(),
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.index)
        if version >= 9:
            w.compact_records(self.records)
        else:
            w.records(self.records)
        if version >= 9:
            w.uvarint(0)


class TopicProduceData(Message):
    """Part of ProduceRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partition_data",
    )

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, partition_data: list[PartitionProduceData] = EMPTY
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_data: list[PartitionProduceData] = [] if partition_data is EMPTY else partition_data

    @staticmethod
    def decode(r: Reader, version: int) -> TopicProduceData:
        made = TopicProduceData(
            "" if version >= 13 else r.compact_string() if version >= 9 else r.string(),
            r.uuid() if version >= 13 else ZERO_UUID,
            [PartitionProduceData.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 9
            else [PartitionProduceData.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 13:
            pass
        elif version >= 9:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        if version >= 13:
            w.uuid(self.topic_id)
        if version >= 9:
            w.compact_array(len(self.partition_data))
            for partition_data_item in self.partition_data:
                partition_data_item.encode(w, version)
        else:
            w.array(len(self.partition_data))
            for partition_data_item in self.partition_data:
                partition_data_item.encode(w, version)
        if version >= 9:
            w.uvarint(0)


class ProduceRequest(Message):
    """Versions 3 to 13."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    STABLE_MAX: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "acks",
        "timeout_ms",
        "topic_data",
    )

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = EMPTY,
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.acks: int = acks
        self.timeout_ms: int = timeout_ms
        self.topic_data: list[TopicProduceData] = [] if topic_data is EMPTY else topic_data

    @staticmethod
    def decode(r: Reader, version: int) -> ProduceRequest:
        if version < 3 or version > 13:
            bad_version("ProduceRequest", version)
        made = ProduceRequest(
            r.compact_nullable_string() if version >= 9 else r.nullable_string(),
            r.i16(),
            r.i32(),
            [TopicProduceData.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 9
            else [TopicProduceData.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 3 or version > 13:
            bad_version("ProduceRequest", version)
        if version >= 9:
            w.compact_nullable_string(self.transactional_id)
        else:
            w.nullable_string(self.transactional_id)
        w.i16(self.acks)
        w.i32(self.timeout_ms)
        if version >= 9:
            w.compact_array(len(self.topic_data))
            for topic_data_item in self.topic_data:
                topic_data_item.encode(w, version)
        else:
            w.array(len(self.topic_data))
            for topic_data_item in self.topic_data:
                topic_data_item.encode(w, version)
        if version >= 9:
            w.uvarint(0)
