"""StreamsGroupTopologyValue. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class TopicConfig(Message):
    """Part of StreamsGroupTopologyValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key: str = key
        self.value: str = value

    @staticmethod
    def decode(r: Reader, version: int) -> TopicConfig:
        made = TopicConfig(
            r.compact_string(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.key)
        w.compact_string(self.value)
        w.uvarint(0)


class TopicInfo(Message):
    """Part of StreamsGroupTopologyValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
        "replication_factor",
        "topic_configs",
    )

    def __init__(
        self, name: str = "", partitions: int = 0, replication_factor: int = 0, topic_configs: list[TopicConfig] = EMPTY
    ) -> None:
        self.name: str = name
        self.partitions: int = partitions
        self.replication_factor: int = replication_factor
        self.topic_configs: list[TopicConfig] = [] if topic_configs is EMPTY else topic_configs

    @staticmethod
    def decode(r: Reader, version: int) -> TopicInfo:
        made = TopicInfo(
            r.compact_string(),
            r.i32(),
            r.i16(),
            [TopicConfig.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.name)
        w.i32(self.partitions)
        w.i16(self.replication_factor)
        w.compact_array(len(self.topic_configs))
        for topic_configs_item in self.topic_configs:
            topic_configs_item.encode(w, version)
        w.uvarint(0)


class CopartitionGroup(Message):
    """Part of StreamsGroupTopologyValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "source_topics",
        "source_topic_regex",
        "repartition_source_topics",
    )

    def __init__(
        self,
        source_topics: list[int] = EMPTY,
        source_topic_regex: list[int] = EMPTY,
        repartition_source_topics: list[int] = EMPTY,
    ) -> None:
        self.source_topics: list[int] = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex: list[int] = [] if source_topic_regex is EMPTY else source_topic_regex
        self.repartition_source_topics: list[int] = (
            [] if repartition_source_topics is EMPTY else repartition_source_topics
        )

    @staticmethod
    def decode(r: Reader, version: int) -> CopartitionGroup:
        made = CopartitionGroup(
            [r.i16() for _ in range(r.compact_array(2))],
            [r.i16() for _ in range(r.compact_array(2))],
            [r.i16() for _ in range(r.compact_array(2))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_array(len(self.source_topics))
        for source_topics_item in self.source_topics:
            w.i16(source_topics_item)
        w.compact_array(len(self.source_topic_regex))
        for source_topic_regex_item in self.source_topic_regex:
            w.i16(source_topic_regex_item)
        w.compact_array(len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            w.i16(repartition_source_topics_item)
        w.uvarint(0)


class Subtopology(Message):
    """Part of StreamsGroupTopologyValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = EMPTY,
        source_topic_regex: list[str] = EMPTY,
        state_changelog_topics: list[TopicInfo] = EMPTY,
        repartition_sink_topics: list[str] = EMPTY,
        repartition_source_topics: list[TopicInfo] = EMPTY,
        copartition_groups: list[CopartitionGroup] = EMPTY,
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.source_topics: list[str] = [] if source_topics is EMPTY else source_topics
        self.source_topic_regex: list[str] = [] if source_topic_regex is EMPTY else source_topic_regex
        self.state_changelog_topics: list[TopicInfo] = [] if state_changelog_topics is EMPTY else state_changelog_topics
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is EMPTY else repartition_sink_topics
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is EMPTY else repartition_source_topics
        )
        self.copartition_groups: list[CopartitionGroup] = [] if copartition_groups is EMPTY else copartition_groups

    @staticmethod
    def decode(r: Reader, version: int) -> Subtopology:
        made = Subtopology(
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            [r.compact_string() for _ in range(r.compact_array(1))],
            [TopicInfo.decode(r, version) for _ in range(r.compact_array(9))],
            [r.compact_string() for _ in range(r.compact_array(1))],
            [TopicInfo.decode(r, version) for _ in range(r.compact_array(9))],
            [CopartitionGroup.decode(r, version) for _ in range(r.compact_array(4))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.compact_array(len(self.source_topics))
        for source_topics_item in self.source_topics:
            w.compact_string(source_topics_item)
        w.compact_array(len(self.source_topic_regex))
        for source_topic_regex_item in self.source_topic_regex:
            w.compact_string(source_topic_regex_item)
        w.compact_array(len(self.state_changelog_topics))
        for state_changelog_topics_item in self.state_changelog_topics:
            state_changelog_topics_item.encode(w, version)
        w.compact_array(len(self.repartition_sink_topics))
        for repartition_sink_topics_item in self.repartition_sink_topics:
            w.compact_string(repartition_sink_topics_item)
        w.compact_array(len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            repartition_source_topics_item.encode(w, version)
        w.compact_array(len(self.copartition_groups))
        for copartition_groups_item in self.copartition_groups:
            copartition_groups_item.encode(w, version)
        w.uvarint(0)


class StreamsGroupTopologyValue(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "subtopologies",
    )

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] = EMPTY) -> None:
        self.epoch: int = epoch
        self.subtopologies: list[Subtopology] = [] if subtopologies is EMPTY else subtopologies

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupTopologyValue:
        if version != 0:
            bad_version("StreamsGroupTopologyValue", version)
        made = StreamsGroupTopologyValue(
            r.i32(),
            [Subtopology.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupTopologyValue", version)
        w.i32(self.epoch)
        w.compact_array(len(self.subtopologies))
        for subtopologies_item in self.subtopologies:
            subtopologies_item.encode(w, version)
        w.uvarint(0)
