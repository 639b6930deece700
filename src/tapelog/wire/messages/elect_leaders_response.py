"""ElectLeadersResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version, lost_field
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class PartitionResult(Message):
    """Part of ElectLeadersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "error_code",
        "error_message",
    )

    def __init__(self, partition_id: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_id: int = partition_id
        self.error_code: int = error_code
        self.error_message: str | None = error_message

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionResult:
        made = PartitionResult(
            r.i32(),
            r.i16(),
            r.compact_nullable_string() if version >= 2 else r.nullable_string(),
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_id)
        w.i16(self.error_code)
        if version >= 2:
            w.compact_nullable_string(self.error_message)
        else:
            w.nullable_string(self.error_message)
        if version >= 2:
            w.uvarint(0)


class ReplicaElectionResult(Message):
    """Part of ElectLeadersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partition_result",
    )

    def __init__(self, topic: str = "", partition_result: list[PartitionResult] = EMPTY) -> None:
        self.topic: str = topic
        self.partition_result: list[PartitionResult] = [] if partition_result is EMPTY else partition_result

    @staticmethod
    def decode(r: Reader, version: int) -> ReplicaElectionResult:
        made = ReplicaElectionResult(
            r.compact_string() if version >= 2 else r.string(),
            [PartitionResult.decode(r, version) for _ in range(r.compact_array(8))]
            if version >= 2
            else [PartitionResult.decode(r, version) for _ in range(r.array(8))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.topic)
            w.compact_array(len(self.partition_result))
            for partition_result_item in self.partition_result:
                partition_result_item.encode(w, version)
        else:
            w.string(self.topic)
            w.array(len(self.partition_result))
            for partition_result_item in self.partition_result:
                partition_result_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class ElectLeadersResponse(Message):
    """Versions 0 to 2."""

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    STABLE_MAX: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "replica_election_results",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.replica_election_results: list[ReplicaElectionResult] = (
            [] if replica_election_results is EMPTY else replica_election_results
        )

    @staticmethod
    def decode(r: Reader, version: int) -> ElectLeadersResponse:
        if version < 0 or version > 2:
            bad_version("ElectLeadersResponse", version)
        made = ElectLeadersResponse(
            r.i32(),
            r.i16() if version >= 1 else 0,
            [ReplicaElectionResult.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [ReplicaElectionResult.decode(r, version) for _ in range(r.array(3))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 0 or version > 2:
            bad_version("ElectLeadersResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 1:
            w.i16(self.error_code)
        else:
            if self.error_code != 0:
                lost_field("ElectLeadersResponse.error_code", version)
        if version >= 2:
            w.compact_array(len(self.replica_election_results))
            for replica_election_results_item in self.replica_election_results:
                replica_election_results_item.encode(w, version)
        else:
            w.array(len(self.replica_election_results))
            for replica_election_results_item in self.replica_election_results:
                replica_election_results_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)
