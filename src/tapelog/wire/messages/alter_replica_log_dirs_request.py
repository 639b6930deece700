"""AlterReplicaLogDirsRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class AlterReplicaLogDirTopic(Message):
    """Part of AlterReplicaLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[int] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDirTopic:
        made = AlterReplicaLogDirTopic(
            r.compact_string() if version >= 2 else r.string(),
            r.i32_items(r.compact_array(4)) if version >= 2 else r.i32_items(r.array(4)),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            w.i32_items(self.partitions)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            w.i32_items(self.partitions)
        if version >= 2:
            w.uvarint(0)


class AlterReplicaLogDir(Message):
    """Part of AlterReplicaLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "path",
        "topics",
    )

    def __init__(self, path: str = "", topics: list[AlterReplicaLogDirTopic] = EMPTY) -> None:
        self.path: str = path
        self.topics: list[AlterReplicaLogDirTopic] = [] if topics is EMPTY else topics

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDir:
        made = AlterReplicaLogDir(
            r.compact_string() if version >= 2 else r.string(),
            [AlterReplicaLogDirTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [AlterReplicaLogDirTopic.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.path)
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.string(self.path)
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class AlterReplicaLogDirsRequest(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("dirs",)

    def __init__(self, dirs: list[AlterReplicaLogDir] = EMPTY) -> None:
        self.dirs: list[AlterReplicaLogDir] = [] if dirs is EMPTY else dirs

    @staticmethod
    def decode(r: Reader, version: int) -> AlterReplicaLogDirsRequest:
        if version < 1 or version > 2:
            bad_version("AlterReplicaLogDirsRequest", version)
        made = AlterReplicaLogDirsRequest(
            [AlterReplicaLogDir.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [AlterReplicaLogDir.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("AlterReplicaLogDirsRequest", version)
        if version >= 2:
            w.compact_array(len(self.dirs))
            for dirs_item in self.dirs:
                dirs_item.encode(w, version)
        else:
            w.array(len(self.dirs))
            for dirs_item in self.dirs:
                dirs_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
