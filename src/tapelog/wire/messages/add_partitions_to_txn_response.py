"""AddPartitionsToTxnResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AddPartitionsToTxnPartitionResult(Message):
    """Part of AddPartitionsToTxnResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "partition_error_code",
    )

    def __init__(self, partition_index: int = 0, partition_error_code: int = 0) -> None:
        self.partition_index: int = partition_index
        self.partition_error_code: int = partition_error_code

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnPartitionResult:
        made = AddPartitionsToTxnPartitionResult(
            r.i32(),
            r.i16(),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.partition_error_code)
        if version >= 3:
            w.uvarint(0)


class AddPartitionsToTxnTopicResult(Message):
    """Part of AddPartitionsToTxnResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "results_by_partition",
    )

    def __init__(self, name: str = "", results_by_partition: list[AddPartitionsToTxnPartitionResult] = EMPTY) -> None:
        self.name: str = name
        self.results_by_partition: list[AddPartitionsToTxnPartitionResult] = (
            [] if results_by_partition is EMPTY else results_by_partition
        )

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnTopicResult:
        made = AddPartitionsToTxnTopicResult(
            r.compact_string() if version >= 3 else r.string(),
            [AddPartitionsToTxnPartitionResult.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 3
            else [AddPartitionsToTxnPartitionResult.decode(r, version) for _ in range(r.array(6))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 3:
            w.compact_string(self.name)
            w.compact_array(len(self.results_by_partition))
            for results_by_partition_item in self.results_by_partition:
                results_by_partition_item.encode(w, version)
        else:
            w.string(self.name)
            w.array(len(self.results_by_partition))
            for results_by_partition_item in self.results_by_partition:
                results_by_partition_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)


class AddPartitionsToTxnResult(Message):
    """Part of AddPartitionsToTxnResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "topic_results",
    )

    def __init__(self, transactional_id: str = "", topic_results: list[AddPartitionsToTxnTopicResult] = EMPTY) -> None:
        self.transactional_id: str = transactional_id
        self.topic_results: list[AddPartitionsToTxnTopicResult] = [] if topic_results is EMPTY else topic_results

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnResult:
        made = AddPartitionsToTxnResult(
            r.compact_string(),
            [AddPartitionsToTxnTopicResult.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.transactional_id)
        w.compact_array(len(self.topic_results))
        for topic_results_item in self.topic_results:
            topic_results_item.encode(w, version)
        w.uvarint(0)


class AddPartitionsToTxnResponse(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = EMPTY,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResult] = (
            [] if results_by_transaction is EMPTY else results_by_transaction
        )
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = (
            [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below
        )

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnResponse:
        if version < 0 or version > 5:
            bad_version("AddPartitionsToTxnResponse", version)
        made = AddPartitionsToTxnResponse(
            r.i32(),
            r.i16() if version >= 4 else 0,
            [AddPartitionsToTxnResult.decode(r, version) for _ in range(r.compact_array(3))] if version >= 4 else [],
            []
            if version >= 4
            else [AddPartitionsToTxnTopicResult.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 3
            else [AddPartitionsToTxnTopicResult.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("AddPartitionsToTxnResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 4:
            w.i16(self.error_code)
            w.compact_array(len(self.results_by_transaction))
            for results_by_transaction_item in self.results_by_transaction:
                results_by_transaction_item.encode(w, version)
        else:
            if self.results_by_transaction:
                lost_field("AddPartitionsToTxnResponse.results_by_transaction", version)
        if version >= 4:
            if self.results_by_topic_v3_and_below:
                lost_field("AddPartitionsToTxnResponse.results_by_topic_v3_and_below", version)
        elif version >= 3:
            w.compact_array(len(self.results_by_topic_v3_and_below))
            for results_by_topic_v3_and_below_item in self.results_by_topic_v3_and_below:
                results_by_topic_v3_and_below_item.encode(w, version)
        else:
            w.array(len(self.results_by_topic_v3_and_below))
            for results_by_topic_v3_and_below_item in self.results_by_topic_v3_and_below:
                results_by_topic_v3_and_below_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)
