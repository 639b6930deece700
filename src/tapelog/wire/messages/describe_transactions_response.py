"""DescribeTransactionsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicData(Message):
    """Part of DescribeTransactionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicData:
        made = TopicData(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class TransactionState(Message):
    """Part of DescribeTransactionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.error_code: int = error_code
        self.transactional_id: str = transactional_id
        self.transaction_state: str = transaction_state
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.transaction_start_time_ms: int = transaction_start_time_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.topics: list[TopicData] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> TransactionState:
        made = TransactionState(
            r.i16(),
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.i64(),
            r.i64(),
            r.i16(),
            [TopicData.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.compact_string(self.transactional_id)
        w.compact_string(self.transaction_state)
        w.i32(self.transaction_timeout_ms)
        w.i64(self.transaction_start_time_ms)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)


class DescribeTransactionsResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "transaction_states",
    )

    def __init__(self, throttle_time_ms: int = 0, transaction_states: list[TransactionState] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.transaction_states: list[TransactionState] = [] if transaction_states is EMPTY else transaction_states

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTransactionsResponse:
        if version != 0:
            bad_version("DescribeTransactionsResponse", version)
        made = DescribeTransactionsResponse(
            r.i32(),
            [TransactionState.decode(r, version) for _ in range(r.compact_array(28))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeTransactionsResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.transaction_states))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.encode(w, version)
        w.uvarint(0)
