"""FetchResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.values import ZERO_UUID, RecordBytes
from tapelog.wire.writer import Writer


class EpochEndOffset(Message):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",
        "end_offset",
    )

    def __init__(self, epoch: int = -1, end_offset: int = -1) -> None:
        self.epoch: int = epoch
        self.end_offset: int = end_offset

    @staticmethod
    def decode(r: Reader, version: int) -> EpochEndOffset:
        made = EpochEndOffset(
            r.i32(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.epoch)
        w.i64(self.end_offset)
        w.uvarint(0)


class LeaderIdAndEpoch(Message):
    """Part of FetchResponse."""

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


class SnapshotId(Message):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "end_offset",
        "epoch",
    )

    def __init__(self, end_offset: int = -1, epoch: int = -1) -> None:
        self.end_offset: int = end_offset
        self.epoch: int = epoch

    @staticmethod
    def decode(r: Reader, version: int) -> SnapshotId:
        made = SnapshotId(
            r.i64(),
            r.i32(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.end_offset)
        w.i32(self.epoch)
        w.uvarint(0)


class AbortedTransaction(Message):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "first_offset",
    )

    def __init__(self, producer_id: int = 0, first_offset: int = 0) -> None:
        self.producer_id: int = producer_id
        self.first_offset: int = first_offset

    @staticmethod
    def decode(r: Reader, version: int) -> AbortedTransaction:
        made = AbortedTransaction(
            r.i64(),
            r.i64(),
        )
        if version >= 12:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.producer_id)
        w.i64(self.first_offset)
        if version >= 12:
            w.uvarint(0)


class PartitionData(Message):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: RecordBytes | None = None,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.high_watermark: int = high_watermark
        self.last_stable_offset: int = last_stable_offset
        self.log_start_offset: int = log_start_offset
        self.diverging_epoch: EpochEndOffset | None = diverging_epoch
        self.current_leader: LeaderIdAndEpoch | None = current_leader
        self.snapshot_id: SnapshotId | None = snapshot_id
        self.aborted_transactions: list[AbortedTransaction] | None = (
            [] if aborted_transactions is EMPTY else aborted_transactions
        )
        self.preferred_read_replica: int = preferred_read_replica
        self.records: RecordBytes | None = records

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionData:
        made = PartitionData(
            r.i32(),
            r.i16(),
            r.i64(),
            r.i64(),
            r.i64() if version >= 5 else -1,
            (
                None
                if (n := r.compact_nullable_array(16)) < 0
                else [AbortedTransaction.decode(r, version) for _ in range(n)]
            )
            if version >= 12
            else None
            if (n := r.nullable_array(16)) < 0
            else [AbortedTransaction.decode(r, version) for _ in range(n)],
            r.i32() if version >= 11 else -1,
            r.compact_records() if version >= 12 else r.records(),
        )
        if version >= 12:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0:
                    made.diverging_epoch = EpochEndOffset.decode(r, version)
                elif tag == 1:
                    made.current_leader = LeaderIdAndEpoch.decode(r, version)
                elif tag == 2:
                    made.snapshot_id = SnapshotId.decode(r, version)
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i16(self.error_code)
        w.i64(self.high_watermark)
        w.i64(self.last_stable_offset)
        if version >= 5:
            w.i64(self.log_start_offset)
        if version >= 12:
            if self.aborted_transactions is None:
                w.compact_array(-1)
            else:
                w.compact_array(len(self.aborted_transactions))
                for aborted_transactions_item in self.aborted_transactions:
                    aborted_transactions_item.encode(w, version)
        else:
            if self.diverging_epoch is not None:
                lost_field("PartitionData.diverging_epoch", version)
            if self.current_leader is not None:
                lost_field("PartitionData.current_leader", version)
            if self.snapshot_id is not None:
                lost_field("PartitionData.snapshot_id", version)
            if self.aborted_transactions is None:
                w.array(-1)
            else:
                w.array(len(self.aborted_transactions))
                for aborted_transactions_item in self.aborted_transactions:
                    aborted_transactions_item.encode(w, version)
        if version >= 11:
            w.i32(self.preferred_read_replica)
        else:
            if self.preferred_read_replica != -1:
                lost_field("PartitionData.preferred_read_replica", version)
        if version >= 12:
            w.compact_records(self.records)
        else:
            w.records(self.records)
        if version >= 12:
            tags = 0
            if self.diverging_epoch is not None:
                tags += 1
            if self.current_leader is not None:
                tags += 1
            if self.snapshot_id is not None:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.diverging_epoch is not None:
                    field = Writer()
                    self.diverging_epoch.encode(field, version)
                    w.tagged(0, field)
                if self.current_leader is not None:
                    field = Writer()
                    self.current_leader.encode(field, version)
                    w.tagged(1, field)
                if self.snapshot_id is not None:
                    field = Writer()
                    self.snapshot_id.encode(field, version)
                    w.tagged(2, field)


class FetchableTopicResponse(Message):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "topic_id",
        "partitions",
    )

    def __init__(self, topic: str = "", topic_id: bytes = ZERO_UUID, partitions: list[PartitionData] = EMPTY) -> None:
        self.topic: str = topic
        self.topic_id: bytes = topic_id
        self.partitions: list[PartitionData] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> FetchableTopicResponse:
        made = FetchableTopicResponse(
            "" if version >= 13 else r.compact_string() if version >= 12 else r.string(),
            r.uuid() if version >= 13 else ZERO_UUID,
            [PartitionData.decode(r, version) for _ in range(r.compact_array(30))]
            if version >= 12
            else [PartitionData.decode(r, version) for _ in range(r.array(30))],
        )
        if version >= 12:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 13:
            pass
        elif version >= 12:
            w.compact_string(self.topic)
        else:
            w.string(self.topic)
        if version >= 13:
            w.uuid(self.topic_id)
        if version >= 12:
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 12:
            w.uvarint(0)


class NodeEndpoint(Message):
    """Part of FetchResponse."""

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


class FetchResponse(Message):
    """Versions 4 to 18."""

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    STABLE_MAX: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "session_id",
        "responses",
        "node_endpoints",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.session_id: int = session_id
        self.responses: list[FetchableTopicResponse] = [] if responses is EMPTY else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is EMPTY else node_endpoints

    @staticmethod
    def decode(r: Reader, version: int) -> FetchResponse:
        if version < 4 or version > 18:
            bad_version("FetchResponse", version)
        made = FetchResponse(
            r.i32(),
            r.i16() if version >= 7 else 0,
            r.i32() if version >= 7 else 0,
            [FetchableTopicResponse.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 12
            else [FetchableTopicResponse.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 12:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 0 and version >= 16:
                    made.node_endpoints = [NodeEndpoint.decode(r, version) for _ in range(r.compact_array(11))]
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 4 or version > 18:
            bad_version("FetchResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 7:
            w.i16(self.error_code)
            w.i32(self.session_id)
        else:
            if self.session_id != 0:
                lost_field("FetchResponse.session_id", version)
        if version >= 12:
            w.compact_array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        else:
            w.array(len(self.responses))
            for responses_item in self.responses:
                responses_item.encode(w, version)
        if version < 16:
            if self.node_endpoints:
                lost_field("FetchResponse.node_endpoints", version)
        if version >= 12:
            tags = 0
            if version >= 16 and self.node_endpoints:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if version >= 16 and self.node_endpoints:
                    field = Writer()
                    field.compact_array(len(self.node_endpoints))
                    for node_endpoints_item in self.node_endpoints:
                        node_endpoints_item.encode(field, version)
                    w.tagged(0, field)
