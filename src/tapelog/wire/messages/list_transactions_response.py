"""ListTransactionsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TransactionState(Message):
    """Part of ListTransactionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "transaction_state",
    )

    def __init__(self, transactional_id: str = "", producer_id: int = 0, transaction_state: str = "") -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.transaction_state: str = transaction_state

    @staticmethod
    def decode(r: Reader, version: int) -> TransactionState:
        made = TransactionState(
            r.compact_string(),
            r.i64(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.transactional_id)
        w.i64(self.producer_id)
        w.compact_string(self.transaction_state)
        w.uvarint(0)


class ListTransactionsResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = EMPTY,
        transaction_states: list[TransactionState] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.unknown_state_filters: list[str] = [] if unknown_state_filters is EMPTY else unknown_state_filters
        self.transaction_states: list[TransactionState] = [] if transaction_states is EMPTY else transaction_states

    @staticmethod
    def decode(r: Reader, version: int) -> ListTransactionsResponse:
        if version < 0 or version > 2:
            bad_version("ListTransactionsResponse", version)
        made = ListTransactionsResponse(
            r.i32(),
            r.i16(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            [TransactionState.decode(r, version) for _ in range(r.compact_array(11))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("ListTransactionsResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_array(len(self.unknown_state_filters))
        for unknown_state_filters_item in self.unknown_state_filters:
            w.compact_string(unknown_state_filters_item)
        w.compact_array(len(self.transaction_states))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.encode(w, version)
        w.uvarint(0)
