"""ShareAcknowledgeResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID
from tapelog.wire.writer import Writer


class LeaderIdAndEpoch(Message):
    """Part of ShareAcknowledgeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_id",
        "leader_epoch",
    )

    def __init__(self, leader_id: int = 0, leader_epoch: int = 0) -> None:
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


class PartitionData(Message):
    """Part of ShareAcknowledgeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
        "current_leader",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            LeaderIdAndEpoch.decode(r, version),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        self.current_leader.encode(w, version)
        w.uvarint(0)


class ShareAcknowledgeTopicResponse(Message):
    """Part of ShareAcknowledgeResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_id",
        "partitions",
    )

    def __init__(self, topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> ShareAcknowledgeTopicResponse:
        made = ShareAcknowledgeTopicResponse(
            r.uuid(),
            [PartitionData.decode(r, version) for _ in range(r.compact_array(17))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.uuid(self.topic_id)
        w.compact_array(len(self.partitions))
        for partitions_item in self.partitions:
            partitions_item.encode(w, version)
        w.uvarint(0)


class NodeEndpoint(Message):
    """Part of ShareAcknowledgeResponse."""

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


class ShareAcknowledgeResponse(Message):
    """Versions 1 to 2."""

    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.acquisition_lock_timeout_ms: int = acquisition_lock_timeout_ms
        self.responses: list[ShareAcknowledgeTopicResponse] = [] if responses is EMPTY else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> ShareAcknowledgeResponse:
        if version < 1 or version > 2:
            bad_version("ShareAcknowledgeResponse", version)
        made = ShareAcknowledgeResponse(
            r.i32(),
            r.i16(),
            r.compact_nullable_string(),
            r.i32() if version >= 2 else 0,
            [ShareAcknowledgeTopicResponse.decode(r, version) for _ in range(r.compact_array(18))],
            [NodeEndpoint.decode(r, version) for _ in range(r.compact_array(11))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 2:
            bad_version("ShareAcknowledgeResponse", version)
        w.i32(self.throttle_time_ms)
        w.i16(self.error_code)
        w.compact_nullable_string(self.error_message)
        if version >= 2:
            w.i32(self.acquisition_lock_timeout_ms)
        w.compact_array(len(self.responses))
        for responses_item in self.responses:
            responses_item.encode(w, version)
        w.compact_array(len(self.node_endpoints))
        for node_endpoints_item in self.node_endpoints:
            node_endpoints_item.encode(w, version)
        w.uvarint(0)
