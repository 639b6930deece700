"""StreamsGroupHeartbeatRequest. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class KeyValue(Message):
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key: str = key
        self.value: str = value

    @staticmethod
    def decode(r: Reader, version: int) -> KeyValue:
        made = KeyValue(
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
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
        "replication_factor",
        "topic_configs",
    )

    def __init__(
        self, name: str = "", partitions: int = 0, replication_factor: int = 0, topic_configs: list[KeyValue] = EMPTY
    ) -> None:
        self.name: str = name
        self.partitions: int = partitions
        self.replication_factor: int = replication_factor
        self.topic_configs: list[KeyValue] = [] if topic_configs is EMPTY else topic_configs

    @staticmethod
    def decode(r: Reader, version: int) -> TopicInfo:
        made = TopicInfo(
            r.compact_string(),
            r.i32(),
            r.i16(),
            [KeyValue.decode(r, version) for _ in range(r.compact_array(3))],
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
    """Part of StreamsGroupHeartbeatRequest."""

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
    """Part of StreamsGroupHeartbeatRequest."""

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


class Topology(Message):
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "subtopologies",
    )

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] = EMPTY) -> None:
        self.epoch: int = epoch
        self.subtopologies: list[Subtopology] = [] if subtopologies is EMPTY else subtopologies

    @staticmethod
    def decode(r: Reader, version: int) -> Topology:
        made = Topology(
            r.i32(),
            [Subtopology.decode(r, version) for _ in range(r.compact_array(8))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.epoch)
        w.compact_array(len(self.subtopologies))
        for subtopologies_item in self.subtopologies:
            subtopologies_item.encode(w, version)
        w.uvarint(0)


class TaskIds(Message):
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "partitions",
    )

    def __init__(self, subtopology_id: str = "", partitions: list[int] = EMPTY) -> None:
        self.subtopology_id: str = subtopology_id
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TaskIds:
        made = TaskIds(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class Endpoint(Message):
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "host",
        "port",
    )

    def __init__(self, host: str = "", port: int = 0) -> None:
        self.host: str = host
        self.port: int = port

    @staticmethod
    def decode(r: Reader, version: int) -> Endpoint:
        made = Endpoint(
            r.compact_string(),
            r.u16(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.host)
        w.u16(self.port)
        w.uvarint(0)


class TaskOffset(Message):
    """Part of StreamsGroupHeartbeatRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "partition",
        "offset",
    )

    def __init__(self, subtopology_id: str = "", partition: int = 0, offset: int = 0) -> None:
        self.subtopology_id: str = subtopology_id
        self.partition: int = partition
        self.offset: int = offset

    @staticmethod
    def decode(r: Reader, version: int) -> TaskOffset:
        made = TaskOffset(
            r.compact_string(),
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.i32(self.partition)
        w.i64(self.offset)
        w.uvarint(0)


class StreamsGroupHeartbeatRequest(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.endpoint_information_epoch: int = endpoint_information_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.topology: Topology | None = topology
        self.active_tasks: list[TaskIds] | None = active_tasks
        self.standby_tasks: list[TaskIds] | None = standby_tasks
        self.warmup_tasks: list[TaskIds] | None = warmup_tasks
        self.process_id: str | None = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: list[KeyValue] | None = client_tags
        self.task_offsets: list[TaskOffset] | None = task_offsets
        self.task_end_offsets: list[TaskOffset] | None = task_end_offsets
        self.shutdown_application: bool = shutdown_application

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupHeartbeatRequest:
        if version != 0:
            bad_version("StreamsGroupHeartbeatRequest", version)
        made = StreamsGroupHeartbeatRequest(
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.i32(),
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.i32(),
            Topology.decode(r, version) if r.present() else None,
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            r.compact_nullable_string(),
            Endpoint.decode(r, version) if r.present() else None,
            None if (n := r.compact_nullable_array(3)) < 0 else [KeyValue.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(14)) < 0 else [TaskOffset.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(14)) < 0 else [TaskOffset.decode(r, version) for _ in range(n)],
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupHeartbeatRequest", version)
        w.compact_string(self.group_id)
        w.compact_string(self.member_id)
        w.i32(self.member_epoch)
        w.i32(self.endpoint_information_epoch)
        w.compact_nullable_string(self.instance_id)
        w.compact_nullable_string(self.rack_id)
        w.i32(self.rebalance_timeout_ms)
        if self.topology is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.topology.encode(w, version)
        if self.active_tasks is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.active_tasks))
            for active_tasks_item in self.active_tasks:
                active_tasks_item.encode(w, version)
        if self.standby_tasks is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.standby_tasks))
            for standby_tasks_item in self.standby_tasks:
                standby_tasks_item.encode(w, version)
        if self.warmup_tasks is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.warmup_tasks))
            for warmup_tasks_item in self.warmup_tasks:
                warmup_tasks_item.encode(w, version)
        w.compact_nullable_string(self.process_id)
        if self.user_endpoint is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.user_endpoint.encode(w, version)
        if self.client_tags is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.client_tags))
            for client_tags_item in self.client_tags:
                client_tags_item.encode(w, version)
        if self.task_offsets is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.task_offsets))
            for task_offsets_item in self.task_offsets:
                task_offsets_item.encode(w, version)
        if self.task_end_offsets is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.task_end_offsets))
            for task_end_offsets_item in self.task_end_offsets:
                task_end_offsets_item.encode(w, version)
        w.boolean(self.shutdown_application)
        w.uvarint(0)
