"""TransactionLogKey. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TransactionLogKey(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id",)

    def __init__(self, transactional_id: str = "") -> None:
        self.transactional_id: str = transactional_id

    @staticmethod
    def decode(r: Reader, version: int) -> TransactionLogKey:
        if version != 0:
            bad_version("TransactionLogKey", version)
        return TransactionLogKey(
            r.string(),
        )

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("TransactionLogKey", version)
        w.string(self.transactional_id)
