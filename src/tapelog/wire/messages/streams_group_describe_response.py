"""StreamsGroupDescribeResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class KeyValue(Message):
    """Part of StreamsGroupDescribeResponse."""

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
    """Part of StreamsGroupDescribeResponse."""

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


class Subtopology(Message):
    """Part of StreamsGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = EMPTY,
        repartition_sink_topics: list[str] = EMPTY,
        state_changelog_topics: list[TopicInfo] = EMPTY,
        repartition_source_topics: list[TopicInfo] = EMPTY,
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.source_topics: list[str] = [] if source_topics is EMPTY else source_topics
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is EMPTY else repartition_sink_topics
        self.state_changelog_topics: list[TopicInfo] = [] if state_changelog_topics is EMPTY else state_changelog_topics
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is EMPTY else repartition_source_topics
        )

    @staticmethod
    def decode(r: Reader, version: int) -> Subtopology:
        made = Subtopology(
            r.compact_string(),
            [r.compact_string() for _ in range(r.compact_array(1))],
            [r.compact_string() for _ in range(r.compact_array(1))],
            [TopicInfo.decode(r, version) for _ in range(r.compact_array(9))],
            [TopicInfo.decode(r, version) for _ in range(r.compact_array(9))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.subtopology_id)
        w.compact_array(len(self.source_topics))
        for source_topics_item in self.source_topics:
            w.compact_string(source_topics_item)
        w.compact_array(len(self.repartition_sink_topics))
        for repartition_sink_topics_item in self.repartition_sink_topics:
            w.compact_string(repartition_sink_topics_item)
        w.compact_array(len(self.state_changelog_topics))
        for state_changelog_topics_item in self.state_changelog_topics:
            state_changelog_topics_item.encode(w, version)
        w.compact_array(len(self.repartition_source_topics))
        for repartition_source_topics_item in self.repartition_source_topics:
            repartition_source_topics_item.encode(w, version)
        w.uvarint(0)


class Topology(Message):
    """Part of StreamsGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "subtopologies",
    )

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] | None = None) -> None:
        self.epoch: int = epoch
        self.subtopologies: list[Subtopology] | None = subtopologies

    @staticmethod
    def decode(r: Reader, version: int) -> Topology:
        made = Topology(
            r.i32(),
            None if (n := r.compact_nullable_array(6)) < 0 else [Subtopology.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.epoch)
        if self.subtopologies is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.subtopologies))
            for subtopologies_item in self.subtopologies:
                subtopologies_item.encode(w, version)
        w.uvarint(0)


class Endpoint(Message):
    """Part of StreamsGroupDescribeResponse."""

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
    """Part of StreamsGroupDescribeResponse."""

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


class TaskIds(Message):
    """Part of StreamsGroupDescribeResponse."""

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


class Assignment(Message):
    """Part of StreamsGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    def __init__(
        self,
        active_tasks: list[TaskIds] = EMPTY,
        standby_tasks: list[TaskIds] = EMPTY,
        warmup_tasks: list[TaskIds] = EMPTY,
    ) -> None:
        self.active_tasks: list[TaskIds] = [] if active_tasks is EMPTY else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is EMPTY else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is EMPTY else warmup_tasks

    @staticmethod
    def decode(r: Reader, version: int) -> Assignment:
        made = Assignment(
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskIds.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_array(len(self.active_tasks))
        for active_tasks_item in self.active_tasks:
            active_tasks_item.encode(w, version)
        w.compact_array(len(self.standby_tasks))
        for standby_tasks_item in self.standby_tasks:
            standby_tasks_item.encode(w, version)
        w.compact_array(len(self.warmup_tasks))
        for warmup_tasks_item in self.warmup_tasks:
            warmup_tasks_item.encode(w, version)
        w.uvarint(0)


class Member(Message):
    """Part of StreamsGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
    )

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = EMPTY,
        task_offsets: list[TaskOffset] = EMPTY,
        task_end_offsets: list[TaskOffset] = EMPTY,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        is_classic: bool = False,
    ) -> None:
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.topology_epoch: int = topology_epoch
        self.process_id: str = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: list[KeyValue] = [] if client_tags is EMPTY else client_tags
        self.task_offsets: list[TaskOffset] = [] if task_offsets is EMPTY else task_offsets
        self.task_end_offsets: list[TaskOffset] = [] if task_end_offsets is EMPTY else task_end_offsets
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic: bool = is_classic

    @staticmethod
    def decode(r: Reader, version: int) -> Member:
        made = Member(
            r.compact_string(),
            r.i32(),
            r.compact_nullable_string(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.compact_string(),
            Endpoint.decode(r, version) if r.present() else None,
            [KeyValue.decode(r, version) for _ in range(r.compact_array(3))],
            [TaskOffset.decode(r, version) for _ in range(r.compact_array(14))],
            [TaskOffset.decode(r, version) for _ in range(r.compact_array(14))],
            Assignment.decode(r, version),
            Assignment.decode(r, version),
            r.boolean(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.member_id)
        w.i32(self.member_epoch)
        w.compact_nullable_string(self.instance_id)
        w.compact_nullable_string(self.rack_id)
        w.compact_string(self.client_id)
        w.compact_string(self.client_host)
        w.i32(self.topology_epoch)
        w.compact_string(self.process_id)
        if self.user_endpoint is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.user_endpoint.encode(w, version)
        w.compact_array(len(self.client_tags))
        for client_tags_item in self.client_tags:
            client_tags_item.encode(w, version)
        w.compact_array(len(self.task_offsets))
        for task_offsets_item in self.task_offsets:
            task_offsets_item.encode(w, version)
        w.compact_array(len(self.task_end_offsets))
        for task_end_offsets_item in self.task_end_offsets:
            task_end_offsets_item.encode(w, version)
        self.assignment.encode(w, version)
        self.target_assignment.encode(w, version)
        w.boolean(self.is_classic)
        w.uvarint(0)


class DescribedGroup(Message):
    """Part of StreamsGroupDescribeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: list[Member] = EMPTY,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.group_epoch: int = group_epoch
        self.assignment_epoch: int = assignment_epoch
        self.topology: Topology | None = topology
        self.members: list[Member] = [] if members is EMPTY else members
        self.authorized_operations: int = authorized_operations

    @staticmethod
    def decode(r: Reader, version: int) -> DescribedGroup:
        made = DescribedGroup(
            r.i16(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.compact_string(),
            r.i32(),
            r.i32(),
            Topology.decode(r, version) if r.present() else None,
            [Member.decode(r, version) for _ in range(r.compact_array(28))],
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_string(self.group_id)
        w.compact_string(self.group_state)
        w.i32(self.group_epoch)
        w.i32(self.assignment_epoch)
        if self.topology is None:
            w.i8(-1)
        else:
            w.i8(1)
            self.topology.encode(w, version)
        w.compact_array(len(self.members))
        for members_item in self.members:
            members_item.encode(w, version)
        w.i32(self.authorized_operations)
        w.uvarint(0)


class StreamsGroupDescribeResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "groups",
    )

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = EMPTY) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is EMPTY else groups

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupDescribeResponse:
        if version != 0:
            bad_version("StreamsGroupDescribeResponse", version)
        made = StreamsGroupDescribeResponse(
            r.i32(),
            [DescribedGroup.decode(r, version) for _ in range(r.compact_array(20))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupDescribeResponse", version)
        w.i32(self.throttle_time_ms)
        w.compact_array(len(self.groups))
        for groups_item in self.groups:
            groups_item.encode(w, version)
        w.uvarint(0)
