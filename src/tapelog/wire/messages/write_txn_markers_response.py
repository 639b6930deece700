"""WriteTxnMarkersResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class WritableTxnMarkerPartitionResult(Message):
    """Part of WriteTxnMarkersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code

    @staticmethod
    def decode(r: Reader, version: int) -> WritableTxnMarkerPartitionResult:
        made = WritableTxnMarkerPartitionResult(
            r.i32(),
            r.i16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.uvarint(0)


class WritableTxnMarkerTopicResult(Message):
    """Part of WriteTxnMarkersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[WritableTxnMarkerPartitionResult] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[WritableTxnMarkerPartitionResult] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> WritableTxnMarkerTopicResult:
        made = WritableTxnMarkerTopicResult(
            r.compact_string(),
            [WritableTxnMarkerPartitionResult.decode(r, version) for _ in range(r.compact_array(7))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class WritableTxnMarkerResult(Message):
    """Part of WriteTxnMarkersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "topics",
    )

    def __init__(self, producer_id: int = 0, topics: list[WritableTxnMarkerTopicResult] = EMPTY) -> None:
        self.producer_id: int = producer_id
        self.topics: list[WritableTxnMarkerTopicResult] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> WritableTxnMarkerResult:
        made = WritableTxnMarkerResult(
            r.i64(),
            [WritableTxnMarkerTopicResult.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.producer_id)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)


class WriteTxnMarkersResponse(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)

    def __init__(self, markers: list[WritableTxnMarkerResult] = EMPTY) -> None:
        self.markers: list[WritableTxnMarkerResult] = [] if markers is EMPTY else markers

    @staticmethod
    def decode(r: Reader, version: int) -> WriteTxnMarkersResponse:
        if version < 1 or version > 2:
            bad_version("WriteTxnMarkersResponse", version)
        made = WriteTxnMarkersResponse(
            [WritableTxnMarkerResult.decode(r, version) for _ in range(r.compact_array(10))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("WriteTxnMarkersResponse", version)
        w.compact_array(len(self.markers))
        for markers_item in self.markers:
            markers_item.encode(w, version)
        w.uvarint(0)
