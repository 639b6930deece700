"""WriteTxnMarkersRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class WritableTxnMarkerTopic(Message):
    """Part of WriteTxnMarkersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )

    def __init__(self, name: str = "", partition_indexes: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes

    @staticmethod
    def decode(r: Reader, version: int) -> WritableTxnMarkerTopic:
        made = WritableTxnMarkerTopic(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.compact_array(len(self.partition_indexes))
        w.i32_items(self.partition_indexes)
        w.uvarint(0)


class WritableTxnMarker(Message):
    """Part of WriteTxnMarkersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = EMPTY,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.transaction_result: bool = transaction_result
        self.topics: list[WritableTxnMarkerTopic] = [] if topics is EMPTY else topics
        self.coordinator_epoch: int = coordinator_epoch
        self.transaction_version: int = transaction_version

    @staticmethod
    def decode(r: Reader, version: int) -> WritableTxnMarker:
        made = WritableTxnMarker(
            r.i64(),
            r.i16(),
            r.boolean(),
            [WritableTxnMarkerTopic.decode(r, version) for _ in range(r.compact_array(3))],
            r.i32(),
            r.i8() if version >= 2 else 0,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        w.boolean(self.transaction_result)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.i32(self.coordinator_epoch)
        if version >= 2:
            w.i8(self.transaction_version)
        w.uvarint(0)


class WriteTxnMarkersRequest(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)

    def __init__(self, markers: list[WritableTxnMarker] = EMPTY) -> None:
        self.markers: list[WritableTxnMarker] = [] if markers is EMPTY else markers

    @staticmethod
    def decode(r: Reader, version: int) -> WriteTxnMarkersRequest:
        if version < 1 or version > 2:
            bad_version("WriteTxnMarkersRequest", version)
        made = WriteTxnMarkersRequest(
            [WritableTxnMarker.decode(r, version) for _ in range(r.compact_array(17))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("WriteTxnMarkersRequest", version)
        w.compact_array(len(self.markers))
        for markers_item in self.markers:
            markers_item.encode(w, version)
        w.uvarint(0)
