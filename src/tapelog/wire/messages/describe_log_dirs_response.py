"""DescribeLogDirsResponse. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import ClassVar

from tapelog.wire.message import EMPTY, Message, bad_version
from tapelog.wire.reader import Reader
from tapelog.wire.writer import Writer


class PartitionTier(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "state",
        "hold",
        "start_offset",
        "end_offset",
        "segments",
        "bytes",
        "lag_segments",
        "lag_bytes",
        "error",
        "failing_since_ms",
    )

    def __init__(
        self,
        state: str = "",
        hold: bool = False,
        start_offset: int = 0,
        end_offset: int = 0,
        segments: int = 0,
        bytes: int = 0,
        lag_segments: int = 0,
        lag_bytes: int = 0,
        error: str = "",
        failing_since_ms: int = 0,
    ) -> None:
        self.state: str = state
        self.hold: bool = hold
        self.start_offset: int = start_offset
        self.end_offset: int = end_offset
        self.segments: int = segments
        self.bytes: int = bytes
        self.lag_segments: int = lag_segments
        self.lag_bytes: int = lag_bytes
        self.error: str = error
        self.failing_since_ms: int = failing_since_ms

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionTier:
        made = PartitionTier(
            r.compact_string(),
            r.boolean(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.compact_string(),
            r.i64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.compact_string(self.state)
        w.boolean(self.hold)
        w.i64(self.start_offset)
        w.i64(self.end_offset)
        w.i64(self.segments)
        w.i64(self.bytes)
        w.i64(self.lag_segments)
        w.i64(self.lag_bytes)
        w.compact_string(self.error)
        w.i64(self.failing_since_ms)
        w.uvarint(0)


class TrafficRate(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "span_seconds",
        "bytes_in",
        "records_in",
        "bytes_out",
        "replica_bytes_out",
        "requests",
    )

    def __init__(
        self,
        span_seconds: int = 0,
        bytes_in: float = 0.0,
        records_in: float = 0.0,
        bytes_out: float = 0.0,
        replica_bytes_out: float = 0.0,
        requests: float = 0.0,
    ) -> None:
        self.span_seconds: int = span_seconds
        self.bytes_in: float = bytes_in
        self.records_in: float = records_in
        self.bytes_out: float = bytes_out
        self.replica_bytes_out: float = replica_bytes_out
        self.requests: float = requests

    @staticmethod
    def decode(r: Reader, version: int) -> TrafficRate:
        made = TrafficRate(
            r.i32(),
            r.f64(),
            r.f64(),
            r.f64(),
            r.f64(),
            r.f64(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.span_seconds)
        w.f64(self.bytes_in)
        w.f64(self.records_in)
        w.f64(self.bytes_out)
        w.f64(self.replica_bytes_out)
        w.f64(self.requests)
        w.uvarint(0)


class PartitionTraffic(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "bytes_in",
        "records_in",
        "bytes_out",
        "replica_bytes_out",
        "requests",
        "rates",
    )

    def __init__(
        self,
        bytes_in: int = 0,
        records_in: int = 0,
        bytes_out: int = 0,
        replica_bytes_out: int = 0,
        requests: int = 0,
        rates: list[TrafficRate] = EMPTY,
    ) -> None:
        self.bytes_in: int = bytes_in
        self.records_in: int = records_in
        self.bytes_out: int = bytes_out
        self.replica_bytes_out: int = replica_bytes_out
        self.requests: int = requests
        self.rates: list[TrafficRate] = [] if rates is EMPTY else rates

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionTraffic:
        made = PartitionTraffic(
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            [TrafficRate.decode(r, version) for _ in range(r.compact_array(45))],
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.bytes_in)
        w.i64(self.records_in)
        w.i64(self.bytes_out)
        w.i64(self.replica_bytes_out)
        w.i64(self.requests)
        w.compact_array(len(self.rates))
        for rates_item in self.rates:
            rates_item.encode(w, version)
        w.uvarint(0)


class PartitionCleaning(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "cleaned_offset",
        "clean_bytes",
        "dirty_bytes",
        "cleaned_ms",
        "under_way",
        "uncleanable",
    )

    def __init__(
        self,
        cleaned_offset: int = 0,
        clean_bytes: int = 0,
        dirty_bytes: int = 0,
        cleaned_ms: int = 0,
        under_way: bool = False,
        uncleanable: str = "",
    ) -> None:
        self.cleaned_offset: int = cleaned_offset
        self.clean_bytes: int = clean_bytes
        self.dirty_bytes: int = dirty_bytes
        self.cleaned_ms: int = cleaned_ms
        self.under_way: bool = under_way
        self.uncleanable: str = uncleanable

    @staticmethod
    def decode(r: Reader, version: int) -> PartitionCleaning:
        made = PartitionCleaning(
            r.i64(),
            r.i64(),
            r.i64(),
            r.i64(),
            r.boolean(),
            r.compact_string(),
        )
        r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i64(self.cleaned_offset)
        w.i64(self.clean_bytes)
        w.i64(self.dirty_bytes)
        w.i64(self.cleaned_ms)
        w.boolean(self.under_way)
        w.compact_string(self.uncleanable)
        w.uvarint(0)


class DescribeLogDirsPartition(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "partition_size",
        "offset_lag",
        "is_future_key",
        "tier",
        "traffic",
        "cleaning",
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        traffic: PartitionTraffic | None = None,
        tier: PartitionTier | None = None,
        cleaning: PartitionCleaning | None = None,
    ) -> None:
        self.partition_index: int = partition_index
        self.partition_size: int = partition_size
        self.offset_lag: int = offset_lag
        self.is_future_key: bool = is_future_key
        self.tier: PartitionTier | None = tier
        self.traffic: PartitionTraffic | None = traffic
        self.cleaning: PartitionCleaning | None = cleaning

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeLogDirsPartition:
        made = DescribeLogDirsPartition(
            r.i32(),
            r.i64(),
            r.i64(),
            r.boolean(),
        )
        if version >= 2:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 10000:
                    made.traffic = PartitionTraffic.decode(r, version)
                elif tag == 10001:
                    made.tier = PartitionTier.decode(r, version)
                elif tag == 10002:
                    made.cleaning = PartitionCleaning.decode(r, version)
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i32(self.partition_index)
        w.i64(self.partition_size)
        w.i64(self.offset_lag)
        w.boolean(self.is_future_key)
        if version >= 2:
            tags = 0
            if self.traffic is not None:
                tags += 1
            if self.tier is not None:
                tags += 1
            if self.cleaning is not None:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.traffic is not None:
                    field = Writer()
                    self.traffic.encode(field, version)
                    w.tagged(10000, field)
                if self.tier is not None:
                    field = Writer()
                    self.tier.encode(field, version)
                    w.tagged(10001, field)
                if self.cleaning is not None:
                    field = Writer()
                    self.cleaning.encode(field, version)
                    w.tagged(10002, field)


class DescribeLogDirsTopic(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )

    def __init__(self, name: str = "", partitions: list[DescribeLogDirsPartition] = EMPTY) -> None:
        self.name: str = name
        self.partitions: list[DescribeLogDirsPartition] = [] if partitions is EMPTY else partitions

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeLogDirsTopic:
        made = DescribeLogDirsTopic(
            r.compact_string() if version >= 2 else r.string(),
            [DescribeLogDirsPartition.decode(r, version) for _ in range(r.compact_array(21))]
            if version >= 2
            else [DescribeLogDirsPartition.decode(r, version) for _ in range(r.array(21))],
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version >= 2:
            w.compact_string(self.name)
            w.compact_array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        else:
            w.string(self.name)
            w.array(len(self.partitions))
            for partitions_item in self.partitions:
                partitions_item.encode(w, version)
        if version >= 2:
            w.uvarint(0)


class DescribeLogDirsResult(Message):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "log_dir",
        "topics",
        "total_bytes",
        "usable_bytes",
        "is_cordoned",
    )

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code: int = error_code
        self.log_dir: str = log_dir
        self.topics: list[DescribeLogDirsTopic] = [] if topics is EMPTY else topics
        self.total_bytes: int = total_bytes
        self.usable_bytes: int = usable_bytes
        self.is_cordoned: bool = is_cordoned

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeLogDirsResult:
        made = DescribeLogDirsResult(
            r.i16(),
            r.compact_string() if version >= 2 else r.string(),
            [DescribeLogDirsTopic.decode(r, version) for _ in range(r.compact_array(3))]
            if version >= 2
            else [DescribeLogDirsTopic.decode(r, version) for _ in range(r.array(3))],
            r.i64() if version >= 4 else -1,
            r.i64() if version >= 4 else -1,
            r.boolean() if version >= 5 else False,
        )
        if version >= 2:
            r.skip_tags()
        return made

    def encode(self, w: Writer, version: int) -> None:
        w.i16(self.error_code)
        if version >= 2:
            w.compact_string(self.log_dir)
            w.compact_array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        else:
            w.string(self.log_dir)
            w.array(len(self.topics))
            for topics_item in self.topics:
                topics_item.encode(w, version)
        if version >= 4:
            w.i64(self.total_bytes)
            w.i64(self.usable_bytes)
        if version >= 5:
            w.boolean(self.is_cordoned)
        if version >= 2:
            w.uvarint(0)


class DescribeLogDirsResponse(Message):
    """Versions 1 to 5."""

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    STABLE_MAX: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "results",
        "counted_ms",
        "tier_error",
        "tier_failing_since_ms",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = EMPTY,
        counted_ms: int = -1,
        tier_error: str = "",
        tier_failing_since_ms: int = -1,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.results: list[DescribeLogDirsResult] = [] if results is EMPTY else results
        self.counted_ms: int = counted_ms
        self.tier_error: str = tier_error
        self.tier_failing_since_ms: int = tier_failing_since_ms

    @staticmethod
    def decode(r: Reader, version: int) -> DescribeLogDirsResponse:
        if version < 1 or version > 5:
            bad_version("DescribeLogDirsResponse", version)
        made = DescribeLogDirsResponse(
            r.i32(),
            r.i16() if version >= 3 else 0,
            [DescribeLogDirsResult.decode(r, version) for _ in range(r.compact_array(5))]
            if version >= 2
            else [DescribeLogDirsResult.decode(r, version) for _ in range(r.array(5))],
        )
        if version >= 2:
            for _ in range(r.uvarint()):
                tag = r.uvarint()
                stop = r.tag_end()
                if tag == 10000:
                    made.counted_ms = r.i64()
                elif tag == 10001:
                    made.tier_error = r.compact_string()
                elif tag == 10002:
                    made.tier_failing_since_ms = r.i64()
                else:
                    r.pos = stop
                r.end_tag(stop)
        return made

    def encode(self, w: Writer, version: int) -> None:
        if version < 1 or version > 5:
            bad_version("DescribeLogDirsResponse", version)
        w.i32(self.throttle_time_ms)
        if version >= 3:
            w.i16(self.error_code)
        if version >= 2:
            w.compact_array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        else:
            w.array(len(self.results))
            for results_item in self.results:
                results_item.encode(w, version)
        if version >= 2:
            tags = 0
            if self.counted_ms != -1:
                tags += 1
            if self.tier_error != "":
                tags += 1
            if self.tier_failing_since_ms != -1:
                tags += 1
            w.uvarint(tags)
            if tags > 0:
                if self.counted_ms != -1:
                    field = Writer()
                    field.i64(self.counted_ms)
                    w.tagged(10000, field)
                if self.tier_error != "":
                    field = Writer()
                    field.compact_string(self.tier_error)
                    w.tagged(10001, field)
                if self.tier_failing_since_ms != -1:
                    field = Writer()
                    field.i64(self.tier_failing_since_ms)
                    w.tagged(10002, field)
