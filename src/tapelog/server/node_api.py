"""What a handler may ask of the node it runs in. The node core implements it; handlers know nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from tapelog.base.config import BrokerSettings
from tapelog.base.ports import Clock, Disk, DiskError
from tapelog.base.timers import Timers
from tapelog.replication.hub import Hub
from tapelog.replication.throttle import Throttle
from tapelog.server.tier import TierReading
from tapelog.wire.errors import KafkaError

if TYPE_CHECKING:
    from tapelog.coordinators.gate import TransactionGate
    from tapelog.coordinators.groups import GroupCoordinator
    from tapelog.coordinators.transactions.coordinator import TransactionCoordinator
    from tapelog.coordinators.transactions.marker import MarkerWriter
    from tapelog.metadata.controller import Controller
    from tapelog.metadata.image import MetadataImage
    from tapelog.metadata.outcome import Outcome
    from tapelog.raft.machine import Raft
    from tapelog.replication.partition import Partition
    from tapelog.server.fetch_sessions import FetchSessions
    from tapelog.wire.message import Message
    from tapelog.wire.messages.create_topics_response import CreateTopicsResponse
    from tapelog.wire.messages.describe_log_dirs_response import PartitionTier

R = TypeVar("R")

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")


class TopicState:
    """A topic as the hot path needs it: its partitions by index (None where this node holds no replica)."""

    def __init__(self, name: str, topic_id: bytes, partitions: list[Partition | None]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.internal = name in INTERNAL_TOPICS


class LogDir:
    """A log directory as DescribeLogDirs tells it; bytes are -1 where unknown, disk is None where it never worked."""

    def __init__(
        self, path: str, disk: Disk | None, total_bytes: int, usable_bytes: int, cordoned: bool, offline: bool
    ) -> None:
        self.path = path
        self.disk = disk
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.cordoned = cordoned
        self.offline = offline


class FutureReplica:
    """A copy of a replica that is to take its place in another log directory, as DescribeLogDirs tells it."""

    def __init__(self, topic: str, index: int, size_bytes: int, lag: int) -> None:
        self.topic = topic
        self.index = index
        self.size_bytes = size_bytes
        self.lag = lag
        """Offsets that it lacks."""


class CleaningState:
    """How clean a compacted log is, as DescribeLogDirs tells it."""

    def __init__(
        self,
        cleaned_offset: int,
        clean_bytes: int,
        dirty_bytes: int,
        cleaned_ms: int,
        under_way: bool,
        uncleanable: str,
    ) -> None:
        self.cleaned_offset = cleaned_offset
        self.clean_bytes = clean_bytes
        self.dirty_bytes = dirty_bytes
        self.cleaned_ms = cleaned_ms
        """When it was last cleaned, by the wall clock; -1: not since the node began."""
        self.under_way = under_way
        self.uncleanable = uncleanable
        """Why it cannot be cleaned; empty if it can."""


class NodeApi:
    """The node as its handlers see it."""

    def __init__(self, clock: Clock, timers: Timers) -> None:
        self.clock = clock
        self.timers = timers
        self.hub = Hub()
        self.topics: dict[str, TopicState] = {}
        self.topics_by_id: dict[bytes, TopicState] = {}
        self.node_id = 1
        self.leader_throttle = Throttle()
        """What replicas that catch up may take of this node."""
        self.rack_aware = False
        """Whether consumers are sent to the replica in their rack (`replica.selector.class`)."""
        self.tier_reads: TierReading | None = None
        """Reads what is in the tier alone; None where a node has no tier."""
        self.controls = True
        """Whether the active controller is this node; else requests that change metadata are carried to it."""

    @property
    def raft(self) -> Raft:
        """This node's share in the metadata quorum."""
        raise NotImplementedError

    @property
    def image(self) -> MetadataImage:
        """The committed cluster metadata."""
        raise NotImplementedError

    @property
    def groups(self) -> GroupCoordinator:
        """The group coordinator."""
        raise NotImplementedError

    @property
    def transactions(self) -> TransactionCoordinator:
        """The transaction coordinator."""
        raise NotImplementedError

    @property
    def markers(self) -> MarkerWriter:
        """Writes transaction markers to the partitions this node leads."""
        raise NotImplementedError

    @property
    def gate(self) -> TransactionGate:
        """Asked before something is written on behalf of a transaction, wherever its coordinator is."""
        raise NotImplementedError

    def to_broker(
        self,
        node_id: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """Send a request to another broker; done gets the answer, or None if it never came.

        Requests on one lane are answered in order: what may be parked there has a lane of its own.
        """
        raise NotImplementedError

    def to_controller(
        self, request: Message, version: int, timeout_ms: int, done: Callable[[Message | KafkaError], None]
    ) -> None:
        """Send a request to the active controller, wherever it is, again and again until the timeout; done gets its
        answer, or why there is none."""
        raise NotImplementedError

    def tier_status(self, partition: Partition) -> PartitionTier | None:
        """How a partition that is led here does in the tier; None for others."""
        return None

    def tier_failure(self) -> tuple[str, int]:
        """Why the tier cannot be used, and since when by the wall clock; empty and -1 while it can."""
        return "", -1

    def heartbeat_came(self, broker_id: int, connection: int) -> None:
        """A broker's heartbeat came on the connection of that number."""

    def hung_up(self, broker_id: int, connection: int) -> None:
        """A connection that a broker's heartbeats came on has ended."""

    @property
    def fetch_sessions(self) -> FetchSessions:
        """The incremental fetch sessions of this node."""
        raise NotImplementedError

    @property
    def settings(self) -> BrokerSettings:
        """What the operator set when this node was started."""
        raise NotImplementedError

    def nearest_replica(self, partition: Partition, offset: int, rack: str) -> int:
        """The follower that a consumer in that rack should read from this offset from; -1: we ourselves."""
        raise NotImplementedError

    def setting_int(self, name: str) -> int:
        """The effective broker setting of a Kafka name (dynamic, static or default), as a whole number."""
        raise NotImplementedError

    def setting_bool(self, name: str) -> bool:
        """The same, as a truth value."""
        raise NotImplementedError

    def metadata_offsets(self) -> tuple[int, int]:
        """High watermark and end of the metadata log."""
        raise NotImplementedError

    @property
    def unclean_elections(self) -> int:
        """How many elections this node has heard of whose winner may have lacked acknowledged records."""
        raise NotImplementedError

    @property
    def controller(self) -> Controller:
        """Proposes metadata changes, for `change_metadata`."""
        raise NotImplementedError

    def change_metadata(
        self, operation: Callable[[MetadataImage], Outcome[R]], done: Callable[[R | KafkaError], None]
    ) -> None:
        """Run a controller operation; done gets its response once the records are committed and applied here.

        done gets a KafkaError instead when they could not be committed.
        """
        raise NotImplementedError

    def create_topics(self, names: list[str], done: Callable[[CreateTopicsResponse | KafkaError], None]) -> None:
        """Have topics created that a client named, with the defaults; done once the image here has them."""
        raise NotImplementedError

    def ensure_internal_topic(self, name: str, done: Callable[[KafkaError | None], None]) -> None:
        """Create an internal topic if it does not exist; done gets None once the image here has it."""
        raise NotImplementedError

    def next_producer_id(self, done: Callable[[int | KafkaError], None]) -> None:
        """A producer id that was never given out before."""
        raise NotImplementedError

    def start_offsets_moved(self, done: Callable[[list[Disk]], None]) -> None:
        """Make moved start offsets durable, then call done; with the disks on which they could not be."""
        raise NotImplementedError

    def disk_failed(self, partition: Partition, error: DiskError) -> None:
        """Reading a partition's files failed: its directory is tested, and goes offline if it does not work."""
        raise NotImplementedError

    def cleaning_of(self, partition: Partition) -> CleaningState | None:
        """How clean its log is; None if it is not compacted."""
        raise NotImplementedError

    def disk_trouble(self, error: DiskError) -> None:
        """Some disk failed, nobody knows which: all are tested."""
        raise NotImplementedError

    def move_replica(self, topic: str, index: int, path: str) -> None:
        """Begin to move a replica of this node to another of its log directories. KafkaError if it cannot be."""
        raise NotImplementedError

    def future_replicas(self, path: str) -> list[FutureReplica]:
        """The replicas that are on their way into that log directory."""
        return []

    @property
    def log_dirs(self) -> list[LogDir]:
        """Where the logs are: each directory, in the order of the configuration."""
        raise NotImplementedError
