"""TransactionLogValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class PartitionsSchema(Message):
    """Part of TransactionLogValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partition_ids",
    )

    def __init__(self, topic: str = "", partition_ids: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partition_ids: list[int] = [] if partition_ids is EMPTY else partition_ids

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionsSchema:
        made = PartitionsSchema(
            r.compact_string() if version >= 1 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 1 else r.i32_items(r.array(4)),
        )
        if version >= 1:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 1:
            w.compact_string(self.topic)
            w.compact_array(len(self.partition_ids))
            w.i32_items(self.partition_ids)
        else:
            w.string(self.topic)
            w.array(len(self.partition_ids))
            w.i32_items(self.partition_ids)
        if version >= 1:
            w.uvarint(0)


class TransactionLogValue(Message):
    """Versions 0 to 1."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    STABLE_MAX: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = EMPTY,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        client_transaction_version: int = 0,
        next_producer_epoch: int = -1,
    ) -> None:
        self.producer_id: int = producer_id
        self.previous_producer_id: int = previous_producer_id
        self.next_producer_id: int = next_producer_id
        self.producer_epoch: int = producer_epoch
        self.next_producer_epoch: int = next_producer_epoch
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_status: int = transaction_status
        self.transaction_partitions: list[PartitionsSchema] | None = (
            [] if transaction_partitions is EMPTY else transaction_partitions
        )
        self.transaction_last_update_timestamp_ms: int = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms: int = transaction_start_timestamp_ms
        self.client_transaction_version: int = client_transaction_version

    @staticmethod
    def decode(r: Reader, version: int) -> TransactionLogValue:
        if version < 0 or version > 1:
            bad_version("TransactionLogValue", version)
        made = TransactionLogValue(
            r.i64(),
            r.i16(),
            r.i32(),
            r.i8(),
            (
                None
                if (n := r.compact_nullable_array(3)) < 0
                else [PartitionsSchema.decode(r, version) for _ in range(n)]
            )
            if version >= 1
            else None
            if (n := r.nullable_array(3)) < 0
            else [PartitionsSchema.decode(r, version) for _ in range(n)],
            r.i64(),
            r.i64(),
        )
        if version >= 1:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.previous_producer_id = r.i64()
                elif tag == 1:
                    made.next_producer_id = r.i64()
                elif tag == 2:
                    made.client_transaction_version = r.i16()
                elif tag == 3:
                    made.next_producer_epoch = r.i16()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 1:
            bad_version("TransactionLogValue", version)
        w.i64(self.producer_id)
        if version < 1:
            if self.previous_producer_id != -1:
                lost_field("TransactionLogValue.previous_producer_id", version)
            if self.next_producer_id != -1:
                lost_field("TransactionLogValue.next_producer_id", version)
        w.i16(self.producer_epoch)
        if version < 1:
            if self.next_producer_epoch != -1:
                lost_field("TransactionLogValue.next_producer_epoch", version)
        w.i32(self.transaction_timeout_ms)
        w.i8(self.transaction_status)
        if version >= 1:
            if self.transaction_partitions is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.transaction_partitions))
                for transaction_partitions_item in self.transaction_partitions:
                    transaction_partitions_item.encode(w, version)
        else:
            if self.transaction_partitions is None:
                w.array(-1)
            else:
                w.array(len(self.transaction_partitions))
                for transaction_partitions_item in self.transaction_partitions:
                    transaction_partitions_item.encode(w, version)
        w.i64(self.transaction_last_update_timestamp_ms)
        w.i64(self.transaction_start_timestamp_ms)
        if version < 1:
            if self.client_transaction_version != 0:
                lost_field("TransactionLogValue.client_transaction_version", version)
        if version >= 1:
            tags = 0
            if self.previous_producer_id != -1:
                tags += 1
            if self.next_producer_id != -1:
                tags += 1
            if self.client_transaction_version != 0:
                tags += 1
            if self.next_producer_epoch != -1:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.previous_producer_id != -1:
                    field = Writer()
                    field.i64(self.previous_producer_id)
                    w.tagged(0, field)
                if self.next_producer_id != -1:
                    field = Writer()
                    field.i64(self.next_producer_id)
                    w.tagged(1, field)
                if self.client_transaction_version != 0:
                    field = Writer()
                    field.i16(self.client_transaction_version)
                    w.tagged(2, field)
                if self.next_producer_epoch != -1:
                    field = Writer()
                    field.i16(self.next_producer_epoch)
                    w.tagged(3, field)
