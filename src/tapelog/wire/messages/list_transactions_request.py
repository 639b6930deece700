"""ListTransactionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class ListTransactionsRequest(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
    )

    def __init__(
        self,
        state_filters: list[str] = EMPTY,
        producer_id_filters: list[int] = EMPTY,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is EMPTY else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is EMPTY else producer_id_filters
        self.duration_filter: int = duration_filter
        self.transactional_id_pattern: str | None = transactional_id_pattern

    @staticmethod
    def decode(r: Reader, version: int) -> ListTransactionsRequest:
        if version < 0 or version > 2:
            bad_version("ListTransactionsRequest", version)
        made = ListTransactionsRequest(
            [r.compact_string() for _ in range(r.compact_array(1))],
            [r.i64() for _ in range(r.compact_array(8))],
            r.i64() if version >= 1 else -1,
            r.compact_nullable_string() if version >= 2 else None,
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("ListTransactionsRequest", version)
        w.compact_array(len(self.state_filters))
        for state_filters_item in self.state_filters:
            w.compact_string(state_filters_item)
        w.compact_array(len(self.producer_id_filters))
        for producer_id_filters_item in self.producer_id_filters:
            w.i64(producer_id_filters_item)
        if version >= 1:
            w.i64(self.duration_filter)
        else:
            if self.duration_filter != -1:
                lost_field("ListTransactionsRequest.duration_filter", version)
        if version >= 2:
            w.compact_nullable_string(self.transactional_id_pattern)
        else:
            if self.transactional_id_pattern is not None:
                lost_field("ListTransactionsRequest.transactional_id_pattern", version)
        w.uvarint(0)
