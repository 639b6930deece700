"""The quorum's machine on this node: its log is a partition, its vote a file, its messages go by the node's peers.

`quorum_of` wires it; NodeMetadata is its listener. The partition is only a log with flush rounds here: what is
committed, the machine decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.config_values import split_list
from tapelog.base.ports import Disk, DiskError, DiskFullError
from tapelog.log.log import COORDINATOR, REPLICATION
from tapelog.log.trim import Cut
from tapelog.metadata.snapshot import DiskSnapshots
from tapelog.raft.machine import Raft
from tapelog.raft.ports import Listener
from tapelog.raft.values import Endpoint, OffsetEpoch, ReplicaKey, raft_config
from tapelog.raft.voters import LISTENER, Voter, VoterSet, parse_voters
from tapelog.replication.partition import Partition
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchRequest

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.raft")

LANE: Final = "raft"
FETCH_LANE: Final = "raft-fetch"
"""Fetches park at the leader: votes must not wait behind them."""
QUORUM_STATE: Final = "quorum-state"


class PartitionLog:
    """`RaftLog` on the partition that holds the metadata log."""

    def __init__(self, node: NodeCore, partition: Partition, snapshots: DiskSnapshots) -> None:
        self.node = node
        self.partition = partition
        self.log = partition.log
        self._before = OffsetEpoch(0, 0)
        for offset, epoch in snapshots.list():
            if offset <= self.log.start_offset:
                self._before = OffsetEpoch(offset, epoch)

    @property
    def start_offset(self) -> int:
        """The first offset there is."""
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        """The next offset."""
        return self.log.end_offset

    @property
    def written_end(self) -> int:
        """Below this, reads find it."""
        return self.log.written_end

    @property
    def durable_end(self) -> int:
        """Below this, the disk has it."""
        return self.log.durable_end

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the snapshot before an empty log."""
        latest = self.log.leader_epoch_cache.latest
        return latest if latest >= 0 else self._before.epoch

    def append(self, batch: bytes, epoch: int) -> int:
        """Queue one batch of the leader."""
        self.partition.leader_epoch = epoch
        self.partition.append(batch, 0, len(batch), COORDINATOR)
        return self.log.end_offset

    def append_replicated(self, data: bytes, epoch: int) -> int:
        """Queue the leader's batches."""
        self.partition.leader_epoch = epoch
        self.partition.append(data, 0, len(data), REPLICATION)
        return self.log.end_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds offset."""
        if offset >= self.log.written_end:
            return b""
        try:
            region = self.log.read(offset, max_bytes, self.log.written_end, True)
            return b"" if region is None else region.read()
        except DiskError as error:
            _trouble(self.node, error)
            return b""

    def end_of_epoch(self, epoch: int) -> OffsetEpoch:
        """The largest known epoch <= epoch and where it ended."""
        found = OffsetEpoch(self.log.start_offset, min(epoch, self._before.epoch))
        entries = self.log.leader_epoch_cache.entries()
        for number, (known, _) in enumerate(entries):
            if known <= epoch:
                end = entries[number + 1][1] if number + 1 < len(entries) else self.log.end_offset
                found = OffsetEpoch(end, known)
        return found

    def truncate(self, offset: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]) -> None:
        """Cut off everything from offset on."""
        self._cut(Cut(self.log, offset, wanted=wanted), done)

    def restart_at(
        self, offset: int, epoch: int, wanted: Callable[[], bool], done: Callable[[DiskError | None], None]
    ) -> None:
        """Begin anew behind a snapshot."""

        def begun(error: DiskError | None) -> None:
            if self.log.start_offset == offset == self.log.end_offset:
                self._before = OffsetEpoch(offset, epoch)
            done(error)

        self._cut(Cut(self.log, offset, start_anew=True, wanted=wanted), begun)

    def _cut(self, cut: Cut, done: Callable[[DiskError | None], None]) -> None:
        def after(error: DiskError | None) -> None:
            self.partition.truncated()
            done(error)

        self.node.directory.metadata.truncate_many([cut], after)

    def advance_start(self, offset: int) -> None:
        """Everything below is in a snapshot."""
        epochs = [epoch for epoch, start in self.log.leader_epoch_cache.entries() if start < offset]
        if self.log.increment_start_offset(offset) and epochs:
            self._before = OffsetEpoch(offset, epochs[-1])


class MetadataPort:
    """`MetadataLogPort`: what is proposed goes through the quorum."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.raft: Raft

    @property
    def start_offset(self) -> int:
        """The first offset there is."""
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        """The next offset."""
        return self.log.end_offset

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Queue one batch, as leader."""
        assert leader_epoch == self.raft.epoch
        return self.raft.append(batch)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds offset. DiskError if the disk is broken."""
        data = self.log.read(offset, max_bytes)
        if not data and self.log.node.failure is not None:
            raise self.log.node.failure
        return data

    def advance_start(self, offset: int) -> None:
        """Everything below is in a snapshot."""
        self.log.advance_start(offset)


class VoteFile:
    """`QuorumStore`: the quorum-state file."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.path = f"{directory}/{QUORUM_STATE}"

    def read(self) -> bytes | None:
        """What was written last."""
        return self.disk.read_file(self.path) if self.disk.exists(self.path) else None

    def write(self, data: bytes) -> None:
        """Durably, before anybody is told."""
        self.disk.replace_file(self.path, data)


def quorum_of(node: NodeCore, own_log: PartitionLog, snapshots: DiskSnapshots, directory: str, me: Listener) -> Raft:
    """The node's share in the quorum."""
    config = node.config
    key = ReplicaKey(config.node_id, node.directory.directory_id)
    endpoints: tuple[Endpoint, ...] = ()
    listener = config.controller_listener
    if listener is not None and listener.port > 0:
        configured = [voter for voter in parse_voters(config.voters).voters.values() if voter.key.id == key.id]
        endpoints = configured[0].endpoints if configured else ()
        if not endpoints:
            endpoints = (
                Endpoint(listener.name, "127.0.0.1" if listener.is_wildcard else listener.host, listener.port),
            )
    voters = parse_voters(config.voters) if config.voters else VoterSet([Voter(key, endpoints)])
    return Raft(
        key.id,
        key.directory_id,
        config.cluster_id,
        raft_config(node.settings),
        own_log,
        VoteFile(node.disk, directory),
        snapshots,
        lambda *message: _send(node, *message),
        node.timers,
        node.clock,
        node.entropy,
        me,
        voters,
        endpoints,
        _bootstrap_servers(config.settings.get("controller.quorum.bootstrap.servers", "")),
        lambda error: _trouble(node, error),
        lambda: node.give_up(f"the other voters are not of cluster {config.cluster_id}: this node joins nobody else's"),
    )


def _send(
    node: NodeCore,
    node_id: int,
    endpoint: Endpoint,
    request: Message,
    version: int,
    timeout_ms: int,
    done: Callable[[Message | None], None],
) -> None:
    if node.peers is None:
        node.timers.after(0, lambda: done(None))
        return

    def answered(response: Message | None) -> None:
        node.belonging.heard(endpoint.host, endpoint.port, response)
        done(response)

    lane = FETCH_LANE if isinstance(request, FetchRequest) else LANE
    node.peers.send(endpoint.host, endpoint.port, lane, request, version, timeout_ms, answered)


def _bootstrap_servers(text: str) -> tuple[Endpoint, ...]:
    found = []
    for item in split_list(text):
        host, _, port = item.rpartition(":")
        if host and port.isdigit():
            found.append(Endpoint(LISTENER, host.strip("[]"), int(port)))
    return tuple(found)


def _trouble(node: NodeCore, error: DiskError) -> None:
    if isinstance(error, DiskFullError):
        node.dispatcher.complain(
            f"the disk is full: {error}. The metadata quorum cannot keep its votes; free some space"
        )
    else:
        node.storage_broke(error)
