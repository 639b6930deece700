"""AddPartitionsToTxnRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AddPartitionsToTxnTopic(Message):
    """Part of AddPartitionsToTxnRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnTopic:
        made = AddPartitionsToTxnTopic(
            r.compact_string() if version >= 3 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 3 else r.i32_items(r.array(4)),
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 3:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            w.i32_items(self.partitions)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            w.i32_items(self.partitions)
        if version >= 3:
            w.uvarint(0)


class AddPartitionsToTxnTransaction(Message):
    """Part of AddPartitionsToTxnRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "verify_only",
        "topics",
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = EMPTY,
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.verify_only: bool = verify_only
        self.topics: list[AddPartitionsToTxnTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnTransaction:
        made = AddPartitionsToTxnTransaction(
            r.compact_string(),
            r.i64(),
            r.i16(),
            r.boolean(),
            [AddPartitionsToTxnTopic.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.transactional_id)
        w.i64(self.producer_id)
        w.i16(self.producer_epoch)
        w.boolean(self.verify_only)
        w.compact_array(len(self.topics))
        for topics_item in self.topics:
            topics_item.encode(w, version)
        w.uvarint(0)


class AddPartitionsToTxnRequest(Message):
    """Versions 0 to 5."""

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = EMPTY,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = EMPTY,
    ) -> None:
        self.transactions: list[AddPartitionsToTxnTransaction] = [] if transactions is EMPTY else transactions
        self.v3_and_below_transactional_id: str = v3_and_below_transactional_id
        self.v3_and_below_producer_id: int = v3_and_below_producer_id
        self.v3_and_below_producer_epoch: int = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnTopic] = (
            [] if v3_and_below_topics is EMPTY else v3_and_below_topics
        )

    @staticmethod
    def decode(r: Reader, version: int) -> AddPartitionsToTxnRequest:
        if version < 0 or version > 5:
            bad_version("AddPartitionsToTxnRequest", version)
        made = AddPartitionsToTxnRequest(
            [AddPartitionsToTxnTransaction.decode(r, version) for _ in range(r.compact_array(14))]
            if version >= 4
            else [],
            "" if version >= 4 else r.compact_string() if version >= 3 else r.string(),
            0 if version >= 4 else r.i64(),
            0 if version >= 4 else r.i16(),
            []
            if version >= 4
            else [AddPartitionsToTxnTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 3
            else [AddPartitionsToTxnTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 3:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 5:
            bad_version("AddPartitionsToTxnRequest", version)
        if version >= 4:
            w.compact_array(len(self.transactions))
            for transactions_item in self.transactions:
                transactions_item.encode(w, version)
        else:
            if self.transactions:
                lost_field("AddPartitionsToTxnRequest.transactions", version)
        if version >= 4:
            if self.v3_and_below_transactional_id != "":
                lost_field("AddPartitionsToTxnRequest.v3_and_below_transactional_id", version)
        elif version >= 3:
            w.compact_string(self.v3_and_below_transactional_id)
        else:
            w.string(self.v3_and_below_transactional_id)
        if version >= 4:
            if self.v3_and_below_producer_id != 0:
                lost_field("AddPartitionsToTxnRequest.v3_and_below_producer_id", version)
            if self.v3_and_below_producer_epoch != 0:
                lost_field("AddPartitionsToTxnRequest.v3_and_below_producer_epoch", version)
        else:
            w.i64(self.v3_and_below_producer_id)
            w.i16(self.v3_and_below_producer_epoch)
        if version >= 4:
            if self.v3_and_below_topics:
                lost_field("AddPartitionsToTxnRequest.v3_and_below_topics", version)
        elif version >= 3:
            w.compact_array(len(self.v3_and_below_topics))
            for v3_and_below_topics_item in self.v3_and_below_topics:
                v3_and_below_topics_item.encode(w, version)
        else:
            w.array(len(self.v3_and_below_topics))
            for v3_and_below_topics_item in self.v3_and_below_topics:
                v3_and_below_topics_item.encode(w, version)
        if version >= 3:
            w.uvarint(0)
