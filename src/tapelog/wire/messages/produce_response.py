"""ProduceResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class BatchIndexAndErrorMessage(Message):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "batch_index",
        "batch_index_error_message",
    )

    def __init__(self, batch_index: int = 0, batch_index_error_message: str | None = None) -> None:
        self.batch_index: int = batch_index
        self.batch_index_error_message: str | None = batch_index_error_message

    @staticmethod
    def decode(r: Reader, version: int) -> BatchIndexAndErrorMessage:
        made = BatchIndexAndErrorMessage(
            r.i32(),
            r.compact_nullable_string() if version >= 9 else r.nullable_string(),
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.batch_index)
        if version >= 9:
            w.compact_nullable_string(self.batch_index_error_message)
        else:
            w.nullable_string(self.batch_index_error_message)
        if version >= 9:
            w.uvarint(0)


class LeaderIdAndEpoch(Message):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_id",
        "leader_epoch",
    )

    def __init__(self, leader_id: int = -1, leader_epoch: int = -1) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch

    @staticmethod
    def decode(r: Reader, version: int) -> LeaderIdAndEpoch:
        made = LeaderIdAndEpoch(
            r.i32(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.leader_id)
        w.i32(self.leader_epoch)
        w.uvarint(0)


class PartitionProduceResponse(Message):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index: int = index
        self.error_code: int = error_code
        self.base_offset: int = base_offset
        self.log_append_time_ms: int = log_append_time_ms
        self.log_start_offset: int = log_start_offset
        self.record_errors: list[BatchIndexAndErrorMessage] = [] if record_errors is EMPTY else record_errors
        self.error_message: str | None = error_message
        self.current_leader: LeaderIdAndEpoch | None = current_leader

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionProduceResponse:
        made = PartitionProduceResponse(
            r.i32(),
            r.i16(),
            r.i64(),
            r.i64(),
            r.i64() if version >= 5 else -1,
            [BatchIndexAndErrorMessage.decode(r, version) for _ in range(r.compact_array(6))]
            if version >= 9
            else [BatchIndexAndErrorMessage.decode(r, version) for _ in range(r.array(6))]
            if version >= 8
            else [],
            r.compact_nullable_string() if version >= 9 else r.nullable_string() if version >= 8 else None,
        )
        if version >= 9:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0 and version >= 10:
                    made.current_leader = LeaderIdAndEpoch.decode(r, version)
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.index)
        w.i16(self.error_code)
        w.i64(self.base_offset)
        w.i64(self.log_append_time_ms)
        if version >= 5:
            w.i64(self.log_start_offset)
        if version >= 9:
            w.compact_array(len(self.record_errors))
            for record_errors_item in self.record_errors:
                record_errors_item.encode(w, version)
            w.compact_nullable_string(self.error_message)
        elif version >= 8:
            w.array(len(self.record_errors))
            for record_errors_item in self.record_errors:
                record_errors_item.encode(w, version)
            w.nullable_string(self.error_message)
        if version < 10:
            if self.current_leader is not None:
                lost_field("PartitionProduceResponse.current_leader", version)
        if version >= 9:
            tags = 0
            if version >= 10 and self.current_leader is not None:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if version >= 10 and self.current_leader is not None:
                    field = Writer()
                    self.current_leader.encode(field, version)
                    w.tagged(0, field)


class TopicProduceResponse(Message):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "topic_id",
        "partition_responses",
    )

    def __init__(
        self, name: str = "", topic_id: bytes = ZERO_UUID, partition_responses: list[PartitionProduceResponse] = EMPTY
    ) -> None:
        self.name: str = name
        self.topic_id: bytes = topic_id
        self.partition_responses: list[PartitionProduceResponse] = (
            [] if partition_responses is EMPTY else partition_responses
        )

    @staticmethod
    def decode(r: Reader, version: int) -> TopicProduceResponse:
        made = TopicProduceResponse(
            "" if version >= 13 else r.compact_string() if version >= 9 else r.string(),
            r.uuid() if version >= 13 else ZERO_UUID,
            [PartitionProduceResponse.decode(r, version) for _ in range(r.compact_array(22))]
            if version >= 9
            else [PartitionProduceResponse.decode(r, version) for _ in range(r.array(22))],
        )
        if version >= 9:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 13:
            pass
        elif version >= 9:
            w.compact_string(self.name)
        else:
            w.string(self.name)
        if version >= 13:
            w.uuid(self.topic_id)
        if version >= 9:
            w.compact_array(len(self.partition_responses))
            for partition_responses_item in self.partition_responses:
                partition_responses_item.encode(w, version)
        else:
            w.array(len(self.partition_responses))
            for partition_responses_item in self.partition_responses:
                partition_responses_item.encode(w, version)
        if version >= 9:
            w.uvarint(0)


class NodeEndpoint(Message):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "node_id",
        "host",
        "port",
        "rack",
    )

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack

    @staticmethod
    def decode(r: Reader, version: int) -> NodeEndpoint:
        made = NodeEndpoint(
            r.i32(),
            r.compact_string(),
            r.i32(),
            r.compact_nullable_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.node_id)
        w.compact_string(self.host)
        w.i32(self.port)
        w.compact_nullable_string(self.rack)
        w.uvarint(0)


class ProduceResponse(Message):
    """Versions 3 to 13."""

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    STABLE_MAX: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9
    FIELDS: ClassVar[tuple[str, ...]] = (
        "responses",
        "throttle_time_ms",
        "node_endpoints",
    )

    def __init__(
        self,
        responses: list[TopicProduceResponse] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.responses: list[TopicProduceResponse] = [] if responses is EMPTY else responses
        self.throttle_time_ms: int = throttle_time_ms
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> ProduceResponse:
        if version < 3 or version > 13:
            bad_version("ProduceResponse", version)
        made = ProduceResponse(
            [TopicProduceResponse.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 9
            else [TopicProduceResponse.decode(r, version) for _ in range(r.array(3))],
            r.i32(),
        )
        if version >= 9:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0 and version >= 10:
                    made.node_endpoints = [NodeEndpoint.decode(r, version) for _ in range(r.compact_array(11))]
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 3 or version > 13:
            bad_version("ProduceResponse", version)
        if version >= 9:
            w.compact_array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        else:
            w.array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        w.i32(self.throttle_time_ms)
        if version < 10:
            if self.node_endpoints:
                lost_field("ProduceResponse.node_endpoints", version)
        if version >= 9:
            tags = 0
            if version >= 10 and self.node_endpoints:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if version >= 10 and self.node_endpoints:
                    field = Writer()
                    field.compact_array(len(self.node_endpoints))
                    for node_endpoints_item in self.node_endpoints:
                        node_endpoints_item.encode(field, version)
                    w.tagged(0, field)
