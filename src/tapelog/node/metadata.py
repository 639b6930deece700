"""The node's share of the metadata: the quorum, the log it keeps, and the images that come out of it.

`boot` joins the quorum; alone in it, a node leads at once. Every change goes through `propose` on the active controller
and comes back, on every node, as a published image, which the partitions follow before anybody is answered. Until the
image has caught up with the quorum once (`ready`), nobody follows it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tapelog.base.ports import DiskError
from tapelog.metadata.brokers import new_leader_epochs
from tapelog.metadata.config_layers import Layers
from tapelog.metadata.controller import Controller
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.quorum import MetadataLog
from tapelog.metadata.snapshot import DiskSnapshots, SnapshotId
from tapelog.node import config_notes
from tapelog.node.raft import MetadataPort, PartitionLog, quorum_of
from tapelog.raft import control
from tapelog.raft.machine import Raft
from tapelog.replication.partition import Partition
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.record_batch import Record

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.raft")

R = TypeVar("R")


class NodeMetadata:
    """Image, controller and metadata log of one node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.settings = node.config.broker_settings()
        clock = node.clock if node.config.voters else None  # a node alone sends itself no heartbeats
        self.controller = Controller(self.settings, node.entropy, clock)
        self.log: MetadataLog
        self.raft: Raft
        self.partition: Partition
        self.image = MetadataImage(cluster_id=node.config.cluster_id)
        self.layers = Layers(self.image, self.settings, node.node_id)
        self.broker_epoch = -1
        self.unclean_elections = 0
        """Committed, as far as this node has replayed the log (not what lies before its snapshot)."""
        self.ready = False
        """The image has caught up with the quorum, at least once since the start."""
        self.active_changed: list[Callable[[bool], None]] = []
        """Called when this node becomes the active controller, or stops being it."""
        self._on_ready: Callable[[], None] = _nothing
        self._numbers: dict[str, int] = {}

    def boot(self, partition: Partition, directory: str) -> None:
        """Join the quorum. The only voter replays everything and leads; nothing it does counts before a flush."""
        node = self.node
        self.partition = partition
        partition.watched = True
        snapshots = DiskSnapshots(node.disk, directory)
        own_log = PartitionLog(node, partition, snapshots)
        port = MetadataPort(own_log)
        self.log = MetadataLog(
            port,
            snapshots,
            node_id=node.node_id,
            cluster_id=node.config.cluster_id,
            clock=node.clock,
            publish=self._publish,
            snapshot_bytes_max=self.settings.whole("metadata.log.max.record.bytes.between.snapshots"),
            active_changed=self._active_changed,
            quorum_records=self._quorum_records,
        )
        self.raft = port.raft = quorum_of(node, own_log, snapshots, directory, self)
        self._active_changed(False)
        self.log.load_snapshot()
        self.raft.mend_log()
        self._take(self.log.image)
        self.raft.start()
        self._look_if_ready()

    def when_ready(self, action: Callable[[], None]) -> None:
        """Call action once the image has caught up: now, if it has."""
        if self.ready:
            action()
        else:
            self._on_ready = action

    # -- what is known of the quorum

    @property
    def active(self) -> bool:
        """Whether this node is the active controller."""
        return self.log.active

    @property
    def controller_id(self) -> int:
        """The node that leads the quorum; -1 if unknown."""
        leader = self.raft.leader
        return leader.id if leader is not None else -1

    @property
    def controller_endpoint(self) -> tuple[str, int] | None:
        """Where the active controller listens, when it is another node and known."""
        leader = self.raft.leader
        if leader is None or leader.id == self.node.node_id or leader.endpoint is None:
            return None
        return leader.endpoint.host, leader.endpoint.port

    @property
    def offsets(self) -> tuple[int, int]:
        """High watermark and end of the metadata log."""
        return self.raft.high_watermark, self.partition.log.end_offset

    # -- what the quorum tells (raft.ports.Listener)

    def elected(self, epoch: int, start_offset: int) -> None:
        """This node leads the quorum."""
        log.info("leading the metadata quorum in epoch %d", epoch)
        self.log.elected(epoch, start_offset)

    def resigned(self) -> None:
        """This node leads it no more."""
        log.info("not leading the metadata quorum any more")
        self.log.resigned()

    def leader_is(self, node_id: int, epoch: int) -> None:
        """Another node leads, or nobody does. Whoever is new there wants to hear who lives."""
        if node_id >= 0:
            self.node.lifecycle.controller_changed()
        if node_id != self.node.node_id:
            log.info("the metadata quorum is led by %s in epoch %d", node_id if node_id >= 0 else "nobody", epoch)

    def committed(self, high_watermark: int) -> None:
        """The quorum committed everything below."""
        self.log.on_commit(high_watermark)
        self._look_if_ready()

    def install_snapshot(self, id: SnapshotId) -> None:
        """The leader's snapshot replaced our log."""
        self.log.install_snapshot(id)
        self._look_if_ready()

    # -- what the log's file and disk tell

    def written(self) -> None:
        """More of the metadata log can be read."""
        self.raft.written()

    def durable(self) -> None:
        """More of the metadata log is on disk."""
        self.raft.durable()

    def write_failed(self, error: Exception) -> None:
        """What was proposed could not be written."""
        self.log.revert(error)
        self.raft.write_failed()

    def shutdown(self) -> None:
        """A clean stop: hand over, if leading."""
        self.raft.stop()

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

    def text(self, name: str) -> str:
        """The effective broker setting; empty where it has none."""
        return self.layers.text(name) or ""

    def _take(self, image: MetadataImage) -> None:
        self.image = image
        self.layers = Layers(image, self.settings, self.node.node_id)
        self._numbers = {}

    def _publish(self, image: MetadataImage, delta: ImageDelta) -> None:
        before = self.image
        self._take(image)
        self.unclean_elections += delta.unclean_elections
        if self.ready:
            if delta.changed_configs:
                config_notes.tell_changed(self.node, before, delta.changed_configs)
            self.node.follow(delta)

    def _active_changed(self, active: bool) -> None:
        self.node.controls = active
        for told in self.active_changed:
            told(active)

    def _look_if_ready(self) -> None:
        if not self.ready and 0 <= self.raft.known_high_watermark <= self.log.image.offset:
            self.ready = True
            config_notes.tell_stored(self.node)
            self._on_ready()

    def _quorum_records(self, end_offset: int, timestamp_ms: int) -> list[Record]:
        voters = self.raft.voters_at(end_offset)
        if voters is None:
            return []
        return [control.version_record(timestamp_ms), control.voters_record(voters, timestamp_ms)]


def _ignore(_: object) -> None:
    pass


def _nothing() -> None:
    pass
