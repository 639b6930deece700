"""DescribeTransactionsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class DescribeTransactionsRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_ids",)

    def __init__(self, transactional_ids: list[str] = EMPTY) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is EMPTY else transactional_ids

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeTransactionsRequest:
        if version != 0:
            bad_version("DescribeTransactionsRequest", version)
        made = DescribeTransactionsRequest(
            [r.compact_string() for _ in range(r.compact_array(1))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("DescribeTransactionsRequest", version)
        w.compact_array(len(self.transactional_ids))
        for transactional_ids_item in self.transactional_ids:
            w.compact_string(transactional_ids_item)
        w.uvarint(0)
