"""StreamsGroupHeartbeatResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class Status(Message):
    """Part of StreamsGroupHeartbeatResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "status_code",
        "status_detail",
    )

    def __init__(self, status_code: int = 0, status_detail: str = "") -> None:
        self.status_code: int = status_code
        self.status_detail: str = status_detail

    @staticmethod
    def decode(r: Reader, version: int) -> Status:
        made = Status(
            r.i8(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i8(self.status_code)
        w.compact_string(self.status_detail)
        w.uvarint(0)


class TaskIds(Message):
    """Part of StreamsGroupHeartbeatResponse."""

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
    """Part of StreamsGroupHeartbeatResponse."""

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


class TopicPartition(Message):
    """Part of StreamsGroupHeartbeatResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )

    def __init__(self, topic: str = "", partitions: list[int] = EMPTY) -> None:
        self.topic: str = topic
        self.partitions: list[int] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> TopicPartition:
        made = TopicPartition(
            r.compact_string(),
            r.i32_items(r.compact_array(4)),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.topic)
        w.compact_array(len(self.partitions))
        w.i32_items(self.partitions)
        w.uvarint(0)


class EndpointToPartitions(Message):
    """Part of StreamsGroupHeartbeatResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "user_endpoint",
        "active_partitions",
        "standby_partitions",
    )

    def __init__(
        self,
        user_endpoint: Endpoint | None = None,
        active_partitions: list[TopicPartition] = EMPTY,
        standby_partitions: list[TopicPartition] = EMPTY,
    ) -> None:
        self.user_endpoint: Endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions: list[TopicPartition] = [] if active_partitions is EMPTY else active_partitions
        self.standby_partitions: list[TopicPartition] = [] if standby_partitions is EMPTY else standby_partitions

    @staticmethod
    def decode(r: Reader, version: int) -> EndpointToPartitions:
        made = EndpointToPartitions(
            Endpoint.decode(r, version),
            [TopicPartition.decode(r, version) for _ in range(r.compact_array(3))],
            [TopicPartition.decode(r, version) for _ in range(r.compact_array(3))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        self.user_endpoint.encode(w, version)
        w.compact_array(len(self.active_partitions))
        for active_partitions_item in self.active_partitions:
            active_partitions_item.encode(w, version)
        w.compact_array(len(self.standby_partitions))
        for standby_partitions_item in self.standby_partitions:
            standby_partitions_item.encode(w, version)
        w.uvarint(0)


class StreamsGroupHeartbeatResponse(Message):
    """Version 0."""

    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    STABLE_MAX: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: list[Status] | None = EMPTY,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.heartbeat_interval_ms: int = heartbeat_interval_ms
        self.acceptable_recovery_lag: int = acceptable_recovery_lag
        self.task_offset_interval_ms: int = task_offset_interval_ms
        self.status: list[Status] | None = [] if status is EMPTY else status
        self.active_tasks: list[TaskIds] | None = active_tasks
        self.standby_tasks: list[TaskIds] | None = standby_tasks
        self.warmup_tasks: list[TaskIds] | None = warmup_tasks
        self.endpoint_information_epoch: int = endpoint_information_epoch
        self.partitions_by_user_endpoint: list[EndpointToPartitions] | None = partitions_by_user_endpoint

    @staticmethod
    def decode(r: Reader, version: int) -> StreamsGroupHeartbeatResponse:
        if version != 0:
            bad_version("StreamsGroupHeartbeatResponse", version)
        made = StreamsGroupHeartbeatResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.compact_string(),
            r.i32(),
            r.i32(),
            r.i32(),
            r.i32(),
            None if (n := r.compact_nullable_array(3)) < 0 else [Status.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            None if (n := r.compact_nullable_array(3)) < 0 else [TaskIds.decode(r, version) for _ in range(n)],
            r.i32(),
            None
            if (n := r.compact_nullable_array(7)) < 0
            else [EndpointToPartitions.decode(r, version) for _ in range(n)],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version != 0:
            bad_version("StreamsGroupHeartbeatResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        w.compact_string(self.member_id)
        w.i32(self.member_epoch)
        w.i32(self.heartbeat_interval_ms)
        w.i32(self.acceptable_recovery_lag)
        w.i32(self.task_offset_interval_ms)
        if self.status is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.status))
            for status_item in self.status:
                status_item.encode(w, version)
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
        w.i32(self.endpoint_information_epoch)
        if self.partitions_by_user_endpoint is None:
            w.compact_array(-1)
        else:
            w.compact_array(len(self.partitions_by_user_endpoint))
            for partitions_by_user_endpoint_item in self.partitions_by_user_endpoint:
                partitions_by_user_endpoint_item.encode(w, version)
        w.uvarint(0)
