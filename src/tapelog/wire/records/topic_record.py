"""TopicRecord. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class TopicRecord(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
    )

    def __init__(self, name: str = "", topic_id: bytes = ZERO_UUID) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id

    @staticmethod
    def decode(r: Reader, version: int) -> TopicRecord:
        if version != 0:
            bad_version("TopicRecord", version)
        made = TopicRecord(
            r.compact_string(),
            r.uuid(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("TopicRecord", version)
        w.compact_string(self.name)
        w.uuid(self.topic_id)
        w.uvarint(0)
