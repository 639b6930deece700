"""The node's share of the metadata: the log behind the quorum of one, and the images it publishes.

`boot` replays what is there, begins a new epoch, and registers this broker; from then on every change goes through
`propose` and comes back as a published image, which the partitions follow before anybody is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tapelog.base.ports import DiskError
from tapelog.log.log import COORDINATOR
from tapelog.metadata.brokers import BrokerRegistration, new_leader_epochs
from tapelog.metadata.config_layers import Layers
from tapelog.metadata.controller import Controller
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import Endpoint, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.producer_ids import ProducerIdBlock
from tapelog.metadata.quorum import MetadataLog, quorum_epoch, quorum_state
from tapelog.metadata.snapshot import DiskSnapshots
from tapelog.replication.partition import Partition
from tapelog.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

R = TypeVar("R")


class PartitionPort:
    """`MetadataLogPort` on the partition that holds the metadata log."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    @property
    def start_offset(self) -> int:
        """The first offset there is."""
        return self.partition.log.start_offset

    @property
    def end_offset(self) -> int:
        """The next offset."""
        return self.partition.log.end_offset

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Queue one batch."""
        self.partition.leader_epoch = leader_epoch
        self.partition.append(batch, 0, len(batch), COORDINATOR)
        return self.partition.log.end_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds offset."""
        log = self.partition.log
        if offset >= log.written_end:
            return b""
        region = log.read(offset, max_bytes, log.written_end, True)
        return b"" if region is None else region.read()

    def advance_start(self, offset: int) -> None:
        """Everything below is in a snapshot."""
        self.partition.log.increment_start_offset(offset)


class NodeMetadata:
    """Image, controller and metadata log of one node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.settings = node.config.broker_settings()
        self.controller = Controller(self.settings, node.entropy)
        self.log: MetadataLog
        self.partition: Partition
        self.image = MetadataImage(cluster_id=node.config.cluster_id)
        self.layers = Layers(self.image, self.settings, node.node_id)
        self.broker_epoch = -1
        self.ready = True
        self.controller_endpoint: tuple[str, int] | None = None
        """Where the active controller listens, when it is another node and known."""
        self._ids: ProducerIdBlock | None = None
        self._next_id = 0
        self._waiting_for_ids: list[Callable[[int | KafkaError], None]] = []
        self._numbers: dict[str, int] = {}

    def boot(self, partition: Partition, directory: str) -> None:
        """Replay the log, then lead it in a new epoch. Nothing of this counts before the first flush."""
        node = self.node
        self.partition = partition
        partition.watched = True
        self.log = MetadataLog(
            PartitionPort(partition),
            DiskSnapshots(node.disk, directory),
            node_id=node.node_id,
            cluster_id=node.config.cluster_id,
            clock=node.clock,
            publish=self._publish,
            snapshot_bytes_max=self.settings.whole("metadata.log.max.record.bytes.between.snapshots"),
        )
        epoch = self.log.load()
        self._take(self.log.image)
        path = f"{directory}/quorum-state"
        if node.disk.exists(path):
            epoch = max(epoch, quorum_epoch(node.disk.read_file(path)))
        node.disk.replace_file(path, quorum_state(node.node_id, epoch + 1))
        self.log.lead(epoch + 1)

    def register(
        self, endpoints: Sequence[Endpoint], controller: Endpoint, log_dir_id: bytes, rack: str | None
    ) -> None:
        """Make this node a broker of its cluster that clients can find."""
        node = self.node
        incarnation = node.entropy.token(16)
        registration = BrokerRegistration(
            node.node_id, node.config.cluster_id, incarnation, endpoints, [log_dir_id], rack, fenced=False
        )
        self.propose(lambda image: self.controller.register_broker(image, registration), self._registered)
        self.propose(
            lambda image: self.controller.register_controller(image, node.node_id, incarnation, [controller]), _ignore
        )

    def lead_anew(self) -> None:
        """After an unclean stop: a new leader epoch for every partition, so that records that page-cache topics may
        have lost are told apart from new ones with the same offsets."""
        self.propose(lambda image: new_leader_epochs(image, self.node.node_id), _ignore)

    def propose(self, operation: Callable[[MetadataImage], Outcome[R]], done: Callable[[R | KafkaError], None]) -> None:
        """Commit a change; done gets the response, or a KafkaError."""

        def failed(error: Exception) -> None:
            if isinstance(error, KafkaError):
                done(error)
            elif isinstance(error, DiskError):
                done(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
            else:
                raise error

        self.log.propose(operation, done, failed)

    def committed(self) -> None:
        """The metadata log's high watermark moved."""
        self.log.on_commit(self.partition.high_watermark)

    def write_failed(self, error: Exception) -> None:
        """What was proposed could not be written."""
        self.log.revert(error)

    def next_producer_id(self, done: Callable[[int | KafkaError], None]) -> None:
        """An id from this node's block; a new block from the controller when it is used up."""
        if self._ids is not None and self._next_id < self._ids.first + self._ids.count:
            self._next_id += 1
            done(self._next_id - 1)
            return
        self._waiting_for_ids.append(done)
        if len(self._waiting_for_ids) == 1:
            self.propose(
                lambda image: self.controller.allocate_producer_ids(image, self.node.node_id, self.broker_epoch),
                self._got_ids,
            )

    def number(self, name: str) -> int:
        """The effective broker setting, as a whole number."""
        found = self._numbers.get(name)
        if found is None:
            text = self.layers.text(name)
            assert text is not None, f"{name} has no default"
            found = self._numbers[name] = int(text)
        return found

    def flag(self, name: str) -> bool:
        """The effective broker setting, as a truth value."""
        return (self.layers.text(name) or "").lower() == "true"

    def _got_ids(self, block: ProducerIdBlock | KafkaError) -> None:
        waiting, self._waiting_for_ids = self._waiting_for_ids, []
        if isinstance(block, KafkaError):
            for done in waiting:
                done(block)
            return
        self._ids, self._next_id = block, block.first
        for done in waiting:
            self.next_producer_id(done)

    def _registered(self, epoch: int | KafkaError) -> None:
        if isinstance(epoch, KafkaError):
            raise epoch
        self.broker_epoch = epoch

    def _take(self, image: MetadataImage) -> None:
        self.image = image
        self.layers = Layers(image, self.settings, self.node.node_id)
        self._numbers = {}

    def _publish(self, image: MetadataImage, delta: ImageDelta) -> None:
        self._take(image)
        self.node.follow(delta)


def _ignore(_: object) -> None:
    pass
