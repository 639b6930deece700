"""RemoveTopicRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class RemoveTopicRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id",)

    def __init__(self, topic_id: bytes = ZERO_UUID) -> None:
        self.topic_id: bytes = topic_id

    @staticmethod
    def decode(r: Reader, version: int) -> RemoveTopicRecord:
        if version != 0:
            bad_version("RemoveTopicRecord", version)
        made = RemoveTopicRecord(
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("RemoveTopicRecord", version)
        w.uuid(self.topic_id)
        w.uvarint(0)
