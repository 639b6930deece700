"""The options of a read as one frozen value: `read_options` checks everything before anything is asked of a cluster.

Names, defaults, order of preference and refusals are those of Spark's Kafka source; what differs is told in the guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from tapelog.client.settings import ConnectionSettings
from tapelog.spark.plan.connection import connection_settings
from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.formats import CORRUPT, Chosen, ReadFormats, read_formats
from tapelog.spark.plan.given import INT_MAX, Given
from tapelog.spark.plan.limits import (
    Latest,
    Limit,
    check_ends_fit,
    check_stay,
    ending_limit,
    starting_limit,
)
from tapelog.spark.plan.names import check_source_option
from tapelog.spark.plan.offsets import PARTITIONS_EXAMPLE, partitions_from_json
from tapelog.spark.plan.pattern import compile_pattern
from tapelog.spark.plan.tier import TierSettings, tier_settings
from tapelog.spark.plan.values import TopicPartition
from tapelog.spark.plan.view import Isolation
from tapelog.wire.compression import DECOMPRESSED_MAX

COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
"""The columns of a row, in the order of the schema; headers only when asked for."""

FETCH_BYTES: Final = 4 * 1024 * 1024
"""What one Fetch asks for unless told otherwise; measured as the best for Spark."""

STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
TRIGGER_OPTIONS: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "limitFirstTrigger",
)


@dataclass(frozen=True, slots=True)
class Assign:
    """These partitions."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """All partitions of these topics."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    """All partitions of the topics in whose names this Java regular expression is found."""

    pattern: str


Subscription: TypeAlias = Assign | Subscribe | SubscribePattern


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything that a read was told; picklable, and it prints no secret."""

    connection: ConnectionSettings
    subscription: Subscription
    streaming: bool
    starting: Limit
    ending: Limit
    columns: tuple[str, ...]
    isolation: Isolation = "read_uncommitted"
    fail_on_data_loss: bool = True
    poll_timeout_ms: int | None = None
    """How long a task waits for records; None: as for everything else, by the connection's settings."""
    offset_attempts: int = 3
    offset_retry_ms: int = 10
    partition_cache_ms: int = -1
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_trigger_delay_ms: int = 900_000
    max_bytes: int | None = None
    limit_first: bool = False
    """Before PySpark 4.2: whether limits hold in a run's first trigger, which may be its only one."""
    min_partitions: int | None = None
    max_records: int | None = None
    repeatable: bool = False
    """A batch whose tasks are the same whenever it is repeated."""
    group_id: str | None = None
    group_id_prefix: str | None = None
    fetch_bytes: int = FETCH_BYTES
    fetch_wait_ms: int = 500
    max_decompressed_bytes: int = DECOMPRESSED_MAX
    """The most that one record batch may be when it is decompressed."""
    tier: TierSettings | None = None
    """Where history lies that is read straight from storage; None: everything by Fetch."""
    progress_group: str | None = None
    """The consumer group to which the source itself publishes how far a stream has come."""
    formats: ReadFormats | None = None
    """How keys and values are decoded; None: they stay bytes."""
    chosen: tuple[Chosen, ...] = ()
    """The schemas of the columns that are decoded, once they are known."""
    warnings: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that a row has in the end."""
        return self.columns if self.formats is None else shown_columns(self.columns, self.formats)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that are read: those of a row, and what decoding needs besides."""
        if self.formats is None:
            return self.columns
        more = ["offset"] + ["headers"] * self.formats.ids_in_headers
        if self.formats.on_corrupt == "deadLetter":
            more += ["key", "value", "timestamp", "headers"]
        return tuple(name for name in COLUMNS if name in self.columns or name in more)

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics that are read, in order; None: a pattern chooses them."""
        return topics_of(self.subscription)

    @property
    def include_headers(self) -> bool:
        """Whether rows have headers."""
        return "headers" in self.columns


def read_options(options: Mapping[str, str], *, streaming: bool) -> ReadOptions:
    """The options of a batch or streaming read. OptionError for the first thing that is wrong with them."""
    given = Given(options)
    for name in given.names():
        check_source_option(name)
    warnings = _refuse_or_warn(given, streaming)
    starting = starting_limit(given, streaming=streaming)
    ending = Latest() if streaming else ending_limit(given)
    check_ends_fit(starting, ending)
    repeatable = given.flag("repeatable", False) and not streaming
    if repeatable:
        check_stay(starting, ending)
    subscription = _subscription(given)
    connection, unused = connection_settings(given)
    max_offsets = given.maybe_number("maxOffsetsPerTrigger", least=1)
    min_offsets = given.maybe_number("minOffsetsPerTrigger")
    if max_offsets is not None and min_offsets is not None and min_offsets > max_offsets:
        raise OptionError(
            f"minOffsetsPerTrigger ({min_offsets}) is higher than maxOffsetsPerTrigger ({max_offsets}).",
            "A trigger could never begin: lower the first or raise the second.",
        )
    return ReadOptions(
        connection=connection,
        subscription=subscription,
        streaming=streaming,
        starting=starting,
        ending=ending,
        columns=_columns(given),
        isolation=_isolation(given),
        fail_on_data_loss=given.flag("failOnDataLoss", True),
        poll_timeout_ms=given.maybe_number("kafkaConsumer.pollTimeoutMs", least=1),
        offset_attempts=given.number("fetchOffset.numRetries", 3, least=1, most=INT_MAX),
        offset_retry_ms=given.number("fetchOffset.retryIntervalMs", 10),
        partition_cache_ms=_partition_cache_ms(given),
        max_offsets=max_offsets,
        min_offsets=min_offsets,
        max_trigger_delay_ms=given.duration_ms("maxTriggerDelay", 900_000),
        max_bytes=given.maybe_bytes("maxBytesPerTrigger"),
        limit_first=given.flag("limitFirstTrigger", False),
        min_partitions=given.maybe_number("minPartitions", least=1, most=INT_MAX),
        max_records=given.maybe_number("maxRecordsPerPartition", least=1),
        repeatable=repeatable,
        group_id=given.text("kafka.group.id"),
        group_id_prefix=given.text("groupIdPrefix"),
        fetch_bytes=_fetch_bytes(given),
        fetch_wait_ms=given.number("kafka.fetch.max.wait.ms", 500, most=INT_MAX),
        max_decompressed_bytes=given.maybe_bytes("maxDecompressedBytes") or DECOMPRESSED_MAX,
        tier=tier_settings(given),
        progress_group=given.text("progressGroup") or None,
        formats=read_formats(given),
        warnings=warnings + unused,
    )


def columns_asked(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of a read, of either kind; nothing else is looked at."""
    return _columns(Given(options))


def formats_asked(options: Mapping[str, str]) -> tuple[ReadFormats | None, tuple[str, ...] | None]:
    """The formats of a read, of either kind, and the topics that it names; None: a pattern chooses them."""
    given = Given(options)
    formats = read_formats(given)
    return formats, None if formats is None else topics_of(_subscription(given))


def topics_of(subscription: Subscription) -> tuple[str, ...] | None:
    """The topics that a subscription names, in order; None: a pattern chooses them."""
    match subscription:
        case Subscribe():
            return subscription.topics
        case Assign():
            return tuple(dict.fromkeys(one.topic for one in subscription.partitions))
        case SubscribePattern():
            return None


def shown_columns(columns: tuple[str, ...], formats: ReadFormats) -> tuple[str, ...]:
    """These columns, and the one for corrupt records where it is asked for."""
    return (*columns, CORRUPT) if formats.on_corrupt == "column" else columns


def _refuse_or_warn(given: Given, streaming: bool) -> tuple[str, ...]:
    """Options of the other kind of query: refused where Spark refuses them, told where it passes them over."""
    if not streaming:
        return tuple(f"{name} is ignored in batch queries." for name in TRIGGER_OPTIONS if given.has(name))
    for name in ("endingOffsets", "endingOffsetsByTimestamp"):
        if given.has(name):
            raise OptionError(
                f"Option {name} is for batch queries: a stream has no end.",
                "Leave it out; to read what is there and stop, use trigger(availableNow=True).",
            )
    warnings = ["endingTimestamp is ignored in streaming queries."] if given.has("endingTimestamp") else []
    if given.has("repeatable"):
        warnings.append("repeatable is ignored in streaming queries: their batches are, whatever it says.")
    if given.has("kafka.group.id") and given.has("groupIdPrefix"):
        warnings.append("groupIdPrefix is ignored: kafka.group.id is set.")
    return tuple(warnings)


def _subscription(given: Given) -> Subscription:
    chosen = [name for name in STRATEGIES if given.has(name)]
    if len(chosen) != 1:
        said = "None of them was." if not chosen else f"Here are {' and '.join(chosen)}."
        raise OptionError(
            f"One of {', '.join(STRATEGIES)} must be given. {said}", "E.g. option('subscribe', 'orders')."
        )
    if chosen[0] == "assign":
        try:
            return Assign(partitions_from_json(given.text("assign") or ""))
        except ValueError as error:
            raise OptionError(
                f"Option assign cannot be read: {error}.", f"Expected e.g. {PARTITIONS_EXAMPLE}."
            ) from None
    if chosen[0] == "subscribe":
        topics = given.words("subscribe")
        if not topics:
            raise given.wrong("subscribe", "names of topics, separated by commas")
        return Subscribe(topics)
    pattern = given.text("subscribePattern")
    if not pattern:
        raise given.wrong("subscribePattern", "a regular expression")
    compile_pattern(pattern)
    return SubscribePattern(pattern)


def _columns(given: Given) -> tuple[str, ...]:
    headers = given.flag("includeHeaders", False)
    if not given.has("columns"):
        return COLUMNS if headers else COLUMNS[:-1]
    known = {name.lower(): name for name in COLUMNS}
    wanted = {word.lower(): word for word in given.words("columns")}
    unknown = [word for lower, word in wanted.items() if lower not in known]
    if unknown or not wanted:
        raise given.wrong("columns", f"some of {', '.join(COLUMNS)}")
    if given.has("includeHeaders") and headers != ("headers" in wanted):
        raise OptionError(
            f"Options columns and includeHeaders disagree: columns is {given.shown('columns')}.",
            f"Leave includeHeaders out: columns alone says what is read. See {DOCS}.",
        )
    return tuple(name for name in COLUMNS if name.lower() in wanted)


def _isolation(given: Given) -> Isolation:
    among = ("read_uncommitted", "read_committed")
    chosen = given.choice("kafka.isolation.level", "read_uncommitted", among)
    return "read_committed" if chosen == "read_committed" else "read_uncommitted"


def _partition_cache_ms(given: Given) -> int:
    found = given.number("partition.metadata.cache.ttl.ms", -1, least=-1)
    if found == 0:
        raise given.wrong("partition.metadata.cache.ttl.ms", "milliseconds above 0, or -1 for no cache")
    return found


def _fetch_bytes(given: Given) -> int:
    """Of one Fetch: what a job was tuned to, else what is best here."""
    asked = [
        given.maybe_number(f"kafka.{name}", most=INT_MAX) for name in ("max.partition.fetch.bytes", "fetch.max.bytes")
    ]
    known = [number for number in asked if number]
    return min(known) if known else FETCH_BYTES
