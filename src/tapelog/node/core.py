"""The node without its shell: what happens when bytes arrive, time passes, or a disk has finished.

Owns the connections, the partitions this node leads, the flush rounds, the metadata and the coordinators, and the
order in which things happen at the end of a wake-up (`settle`). Plain synchronous Python over the ports: the
simulator runs exactly this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from tapelog.base.config import BrokerSettings
from tapelog.base.node_config import NodeConfig
from tapelog.base.ports import Clock, Disk, DiskError, DiskFullError, Entropy, Net
from tapelog.base.timers import Timers
from tapelog.log.compaction.order import CleaningWorker
from tapelog.log.directories import LogDirectories
from tapelog.metadata.controller import Controller
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import Endpoint, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.node import moved_starts
from tapelog.node.belonging import Belonging
from tapelog.node.cleaner import Cleaner
from tapelog.node.coordinators import Coordinators
from tapelog.node.creation import TopicCreation
from tapelog.node.duties import ControllerDuties
from tapelog.node.forwarding import Remote
from tapelog.node.housekeeping import Housekeeping
from tapelog.node.isr import IsrUpdates
from tapelog.node.lifecycle import Lifecycle
from tapelog.node.markers import LocalMarkers
from tapelog.node.metadata import NodeMetadata
from tapelog.node.moves import Moves
from tapelog.node.partitions import CLUSTER_METADATA, Partitions
from tapelog.node.pressure import Pressure
from tapelog.node.producer_ids import ProducerIds
from tapelog.node.quotas import StorageQuotas
from tapelog.node.rounds import DiskRounds
from tapelog.node.scrubbing import Scrubbing
from tapelog.node.storage import Storage
from tapelog.replication.partition import Partition
from tapelog.server.connection import Connection
from tapelog.server.dispatch import Dispatcher
from tapelog.server.fetch_sessions import FetchSessions
from tapelog.server.node_api import CleaningState, FutureReplica, LogDir, NodeApi
from tapelog.server.routes import ON_CONTROLLER
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.create_topics_response import CreateTopicsResponse

if TYPE_CHECKING:
    from tapelog.client.peers import Peers
    from tapelog.coordinators.groups import GroupCoordinator
    from tapelog.coordinators.transactions.coordinator import TransactionCoordinator
    from tapelog.log.tier.store import ObjectStore
    from tapelog.node.gate import ClusterGate
    from tapelog.node.presence import Presence
    from tapelog.node.tier import Tier
    from tapelog.node.tier_reads import TierReads
    from tapelog.raft.machine import Raft
    from tapelog.wire.messages.describe_log_dirs_response import PartitionTier

R = TypeVar("R")

SETTLE_ROUNDS_MAX: Final = 1000
WRITES_PER_LOOK: Final = 16
"""So many wake-ups may write before the room on the disks is looked at again."""


class NodeCore(NodeApi):
    """One broker (and, with a quorum of one, its controller)."""

    def __init__(
        self,
        config: NodeConfig,
        clock: Clock,
        entropy: Entropy,
        disk: Disk,
        timers: Timers,
        net: Net | None = None,
        disks: Mapping[str, Disk | DiskError] | None = None,
        cleaning: Callable[[], CleaningWorker] | None = None,
    ) -> None:
        """disk: of the metadata's directory; disks: of the other log directories, or why there is none; cleaning: makes
        one who compacts logs (without, nobody does)."""
        super().__init__(clock, timers)
        self.config = config
        self.entropy = entropy
        self.disk = disk
        self.node_id = self.hub.node_id = config.node_id
        self.peers = _peers(net, timers, config.node_id)
        """Connections to other nodes; None for a node alone."""
        self.remote = Remote(self)
        self.belonging = Belonging(self)
        self.lifecycle = Lifecycle(self)
        self.producer_ids = ProducerIds(self)
        self.creation = TopicCreation(self)
        self.dispatcher = Dispatcher(self)
        self.storage = Storage(self, disk, disks)
        self.pressure = Pressure(self.hub, self.dispatcher)
        self.rounds = DiskRounds(self.hub, self.storage.working, clock, self.storage_broke, self.pressure.flushed)
        self.opened = False
        """Whether the partitions follow the image."""
        self.parted = False
        self.failure: DiskError | None = None
        self.halt: Callable[[DiskError], None] = _ignore
        """What the shell does when the last log directory fails, or the metadata's: the node stops."""
        self.refused: Callable[[str], None] = _ignore
        """What the shell does when the cluster will not have this node: it stops, and says why."""
        self.directory: LogDirectories
        self.partitions: Partitions
        self.metadata = NodeMetadata(self)
        self.duties = ControllerDuties(self)
        self.presence = _presence(self, net)
        if not self.alone:
            self.metadata.active_changed.append(self.duties.changed)
        if self.presence is not None:
            self.metadata.active_changed.append(self.presence.active_changed)
        self.housekeeping = Housekeeping(self)
        self.scrubbing, self.moves = Scrubbing(self), Moves(self)
        self.cleaner = Cleaner(self, cleaning)
        self.isr = IsrUpdates(self)
        self.quotas = StorageQuotas(self)
        self._markers = LocalMarkers(self)
        self.tier: Tier | None = None
        """This node's work in the tier."""
        self.store: ObjectStore | None = None
        """Where old segments go, if anywhere: the shell says so before it boots us."""
        self.coordinators: Coordinators
        self._sessions: FetchSessions
        self._connections = 0
        self._writes = 0

    def boot(self) -> None:
        """Open everything on disk and replay it; afterwards `register` makes the node known."""
        self.pressure.hung_bytes = self.rounds.hung_bytes
        self.directory = self.storage.open()
        self.partitions = Partitions(self, self.directory)
        self.metadata.boot(self.partitions.open_metadata(), f"{self.storage.metadata_path}/{CLUSTER_METADATA}-0")
        self._sessions = FetchSessions(
            self.clock, self.entropy, self.setting_int("max.incremental.fetch.session.cache.slots")
        )
        self.coordinators = Coordinators(self)
        if self.store is not None:
            self.tier, self.tier_reads = _tier(self, self.store)
        self.partitions.load()
        self.metadata.when_ready(self._open)
        self.settle()

    def _open(self) -> None:
        """Partitions follow the image from now on, if it has caught up with the quorum and with our registration:
        an older one may still say that we lead what we have lost since."""
        if not self.opened and self.metadata.ready and self.lifecycle.known:
            self.opened = True
            self.pressure.bound(self.setting_int("tapelog.unflushed.max.bytes"))
            self.isr.start()
            self.partitions.open_all()
            self.moves.resume()
            self.quotas.configured()
            if self.tier is not None:
                self.tier.start()
            if self.presence is not None:
                self.presence.brokers_changed()

    @property
    def alone(self) -> bool:
        """Whether this node is its whole cluster."""
        return not self.config.voters

    def register(self, endpoints: Sequence[Endpoint], controller: Endpoint | None) -> None:
        """Tell the cluster where this node listens; `lifecycle` says when it may serve."""
        self.lifecycle.start(endpoints, controller)
        self.settle()

    def give_up(self, reason: str) -> None:
        """This node can be of no use here: the shell says why, and stops."""
        self.refused(reason)

    def connect(self, peer_host: str, listener: str) -> Connection:
        """A client connected."""
        self._connections += 1
        limit = self.setting_int("socket.request.max.bytes")
        connection = Connection(self.dispatcher, self._connections, peer_host, listener, limit)
        if self.config.controller_listener is not None and listener == self.config.controller_listener.name:
            connection.side = ON_CONTROLLER
        return connection

    def settle(self) -> None:
        """End of a wake-up: write what was appended, move what became visible, start a flush round."""
        hub, fetchers, later = self.hub, self.partitions.fetchers, False
        for _ in range(SETTLE_ROUNDS_MAX):
            self.coordinators.flush()
            if hub.dirty:
                self._writes += 1
                if self._writes % WRITES_PER_LOOK == 0:
                    self.storage.space.look()
                dirty, hub.dirty = hub.dirty, []
                room = max(0, self.rounds.room())
                later = len(dirty) > room
                if later:  # so many files cannot be open: the others after the round
                    dirty, hub.dirty = dirty[:room], dirty[room:]
                for partition in dirty:
                    self._write(partition)
            if hub.advanced:
                advanced, hub.advanced = hub.advanced, []
                for partition in advanced:
                    self._advanced(partition)
            if hub.ripe:
                ripe, hub.ripe = hub.ripe, []
                for waiter in ripe:
                    waiter.retry()
            if hub.isr_changes:
                self.isr.flush()
            if hub.troubled:
                troubled, hub.troubled = hub.troubled, []
                for held, trouble in troubled:
                    self.storage.suspect(trouble, held.log.disk)
            if fetchers.busy:
                fetchers.settle()
            if not ((hub.dirty and not later) or hub.advanced or hub.ripe or self.coordinators.busy or fetchers.busy):
                break
        self.rounds.start()
        self.pressure.look()

    def part(self) -> None:
        """The first half of a clean stop: name a successor, if leading the quorum. Needs a moment to be sent."""
        if not self.parted:
            self.parted = True
            self.metadata.shutdown()

    def shutdown(self) -> None:
        """Close everything cleanly: the next start reads no more than checkpoints."""
        self.housekeeping.stop()
        self.scrubbing.stop()
        self.moves.stop()
        self.cleaner.stop()
        if self.tier is not None:
            self.tier.stop()
        self.isr.stop()
        self.lifecycle.stop()
        self.part()
        self.settle()
        if self.peers is not None:
            self.peers.close()
        if self.failure is None:
            self.directory.close(self.partitions.high_watermarks(), self.metadata.broker_epoch)

    # -- what the metadata tells

    def follow(self, delta: ImageDelta) -> None:
        """A new image was published: partitions, settings and groups follow it before anybody is answered."""
        if self.opened:
            self._follow(delta)
        else:
            self._open()
        self.lifecycle.image_published()
        self.creation.image_published()

    def _follow(self, delta: ImageDelta) -> None:
        if delta.changed_brokers:
            self.remote.brokers_changed(delta.base, delta.changed_brokers)
            self.isr.brokers_changed()
            if self.presence is not None:
                self.presence.brokers_changed()
        if delta.deleted_topics:
            if self.tier is not None:
                self.tier.deleted(delta.deleted_topics)
            self.partitions.remove(delta.deleted_topics)
        if delta.changed_topics:
            self.partitions.create(delta.changed_topics)
            if self.tier is not None:
                self.tier.topics.changed(delta.changed_topics)
        if delta.changed_configs:
            self.partitions.configure(delta.changed_configs)
            self.cleaner.configured()
            self.pressure.bound(self.setting_int("tapelog.unflushed.max.bytes"))
            self.quotas.configured()
        if delta.deleted_topics:
            names = [topic.name for topic in delta.deleted_topics]
            self.coordinators.resign([name for name in names if name not in self.topics])
            self.groups.on_topics_deleted(names)
        if delta.changed_topics or delta.deleted_topics:
            self.groups.on_topics_changed([topic.name for topic in (*delta.deleted_topics, *delta.changed_topics)])
        if delta.changed_brokers:
            self.groups.on_brokers_changed()

    def storage_broke(self, error: DiskError, disk: Disk | None = None) -> None:
        """A disk (the metadata's, if none is named) failed in a way that leaves its contents in doubt: nothing more is
        acknowledged from it."""
        self.storage.broke(error, self.disk if disk is None else disk)

    # -- NodeApi

    @property
    def raft(self) -> Raft:
        return self.metadata.raft

    @property
    def image(self) -> MetadataImage:
        return self.metadata.image

    @property
    def controller(self) -> Controller:
        return self.metadata.controller

    @property
    def groups(self) -> GroupCoordinator:
        return self.coordinators.groups

    @property
    def transactions(self) -> TransactionCoordinator:
        return self.coordinators.transactions

    @property
    def markers(self) -> LocalMarkers:
        return self._markers

    @property
    def gate(self) -> ClusterGate:
        return self.coordinators.gate

    @property
    def fetch_sessions(self) -> FetchSessions:
        return self._sessions

    @property
    def settings(self) -> BrokerSettings:
        return self.metadata.settings

    def nearest_replica(self, partition: Partition, offset: int, rack: str) -> int:
        return self.isr.nearest(partition, offset, rack)

    def setting_int(self, name: str) -> int:
        return self.metadata.number(name)

    def setting_bool(self, name: str) -> bool:
        return self.metadata.flag(name)

    @property
    def unclean_elections(self) -> int:
        return self.metadata.unclean_elections

    def metadata_offsets(self) -> tuple[int, int]:
        return self.metadata.offsets

    def change_metadata(
        self, operation: Callable[[MetadataImage], Outcome[R]], done: Callable[[R | KafkaError], None]
    ) -> None:
        self.metadata.propose(operation, done)

    def to_controller(
        self, request: Message, version: int, timeout_ms: int, done: Callable[[Message | KafkaError], None]
    ) -> None:
        self.remote.to_controller(request, version, timeout_ms, done)

    def to_broker(
        self,
        node_id: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        self.remote.to_broker(node_id, lane, request, version, timeout_ms, done)

    def tier_status(self, partition: Partition) -> PartitionTier | None:
        return None if self.tier is None else self.tier.status(partition)

    def tier_failure(self) -> tuple[str, int]:
        return ("", -1) if self.tier is None else (self.tier.error, self.tier.failing_since_ms)

    def heartbeat_came(self, broker_id: int, connection: int) -> None:
        if self.presence is not None:
            self.presence.heard(broker_id, connection)

    def hung_up(self, broker_id: int, connection: int) -> None:
        if self.presence is not None:
            self.presence.hung_up(broker_id, connection)

    def create_topics(self, names: list[str], done: Callable[[CreateTopicsResponse | KafkaError], None]) -> None:
        self.creation.create(names, done)

    def ensure_internal_topic(self, name: str, done: Callable[[KafkaError | None], None]) -> None:
        self.creation.ensure_internal(name, done)

    def next_producer_id(self, done: Callable[[int | KafkaError], None]) -> None:
        self.producer_ids.next(done)

    def start_offsets_moved(self, done: Callable[[list[Disk]], None]) -> None:
        moved_starts.write(self, done)

    def disk_failed(self, partition: Partition, error: DiskError) -> None:
        self.storage.suspect(error, partition.log.disk)

    def cleaning_of(self, partition: Partition) -> CleaningState | None:
        return self.cleaner.state_of(partition)

    def disk_trouble(self, error: DiskError) -> None:
        for directory in self.directory.every:
            self.storage.suspect(error, directory.disk)

    def move_replica(self, topic: str, index: int, path: str) -> None:
        self.moves.want(topic, index, path)

    def future_replicas(self, path: str) -> list[FutureReplica]:
        return self.moves.futures(path)

    @property
    def log_dirs(self) -> list[LogDir]:
        return self.storage.described()

    # -- inside

    def write_queued(self, partition: Partition) -> None:
        """Write what is queued in that partition now; the rest of the wake-up comes later."""
        if partition in self.hub.dirty:
            self._write(partition)

    def _write(self, partition: Partition) -> None:
        if partition.offline:
            partition.fail_parked_above(-1, int(ErrorCode.KAFKA_STORAGE_ERROR))
            return
        try:
            partition.write()
            if partition.topic == CLUSTER_METADATA:
                self.metadata.written()
        except DiskError as error:
            if partition.topic == CLUSTER_METADATA:
                self.metadata.write_failed(error)
            else:
                self.coordinators.taken_back(partition)
                self.partitions.fetchers.taken_back(partition)
            if isinstance(error, DiskFullError):
                self.dispatcher.complain(
                    f"the disk is full: {error}. Producers get KAFKA_STORAGE_ERROR; free some space"
                )
            else:
                self.storage_broke(error, partition.log.disk)

    def _advanced(self, partition: Partition) -> None:
        if partition.topic == CLUSTER_METADATA:
            self.metadata.durable()
        else:
            self.coordinators.committed(partition)


def _tier(node: NodeCore, store: ObjectStore) -> tuple[Tier, TierReads]:
    from tapelog.node.tier import Tier
    from tapelog.node.tier_reads import TierReads

    tier = Tier(node, store)
    return tier, TierReads(node, store, tier.manifest_of)


def _presence(node: NodeCore, net: Net | None) -> Presence | None:
    if net is None:
        return None
    from tapelog.node.presence import Presence

    return Presence(node, net)


def _peers(net: Net | None, timers: Timers, node_id: int) -> Peers | None:
    if net is None:
        return None
    from tapelog.client.peers import Peers

    return Peers(net, timers, timers.clock, f"node-{node_id}")


def _ignore(_: object) -> None:
    pass
