"""Downloading the leader's snapshot when our log ends before its log begins.

The bytes are gathered in memory, written as one file, and only then take the log's place: a crash in between leaves
either the old log or the whole snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import DiskError
from tapelog.raft import control, requests
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Follower
from tapelog.raft.values import OffsetEpoch
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot

SNAPSHOT_BYTES_MAX: Final = 1 << 30


class Download:
    """One download at a time; `done` gets None when the snapshot has taken the log's place."""

    def __init__(self, quorum: Quorum, done: Callable[[Exception | None], None]) -> None:
        self.quorum = quorum
        self.done = done
        self._id: OffsetEpoch | None = None
        self._data = bytearray()

    @property
    def under_way(self) -> bool:
        """Whether one is."""
        return self._id is not None

    def start(self, id: OffsetEpoch) -> None:
        """Begin with the snapshot's first byte."""
        self._id, self._data = id, bytearray()
        self._ask(id)

    def stop(self) -> None:
        """Give it up: the leader changed."""
        self._id, self._data = None, bytearray()

    def _ask(self, id: OffsetEpoch) -> None:
        quorum, role = self.quorum, self.quorum.role
        endpoint = quorum.leader_endpoint()
        if not isinstance(role, Follower) or endpoint is None:
            self._fail("nobody to ask")
            return
        position = len(self._data)
        request = requests.fetch_snapshot(
            quorum.cluster_id, quorum.me, quorum.epoch, id, position, quorum.config.snapshot_bytes_max
        )

        def came(response: Message | None) -> None:
            if self._id is not id or quorum.role is not role or len(self._data) != position:
                return
            try:
                self._answered(id, response)
            except DiskError as error:
                self.stop()
                self.done(error)

        quorum.send_to(
            role.leader_id,
            endpoint,
            request,
            requests.FETCH_SNAPSHOT_VERSION,
            quorum.config.request_timeout_ms,
            came,
        )

    def _answered(self, id: OffsetEpoch, response: Message | None) -> None:
        quorum = self.quorum
        part: PartitionSnapshot | None = None
        if isinstance(response, FetchSnapshotResponse) and response.error_code == 0 and response.topics:
            part = response.topics[0].partitions[0]
            current, role = part.current_leader, quorum.role
            if current is not None:
                quorum.learn(
                    current.leader_epoch, current.leader_id, requests.told_endpoint(response, current.leader_id)
                )
                if quorum.role is not role:
                    return
        if part is None or part.error_code != 0 or part.size > SNAPSHOT_BYTES_MAX or part.position != len(self._data):
            self._fail("the snapshot cannot be had")
            return
        self._data += requests.plain(part.unaligned_records)
        if len(self._data) < part.size:
            if quorum.may_stand:
                quorum.arm(quorum.config.fetch_timeout_ms, self._silent)
            self._ask(id)
            return
        quorum.disarm()  # from here on it is our own disk that takes its time
        data = bytes(self._data)
        if not control.intact(data):
            self._fail("the snapshot is damaged")
            return
        quorum.snapshots.write((id.offset, id.epoch), data, lambda error: self._written(id, data, error))

    def _silent(self) -> None:
        """Nothing came for the fetch timeout: fetch again, which finds out whether the leader is there."""
        self._fail("the leader does not answer")

    def _written(self, id: OffsetEpoch, data: bytes, error: Exception | None) -> None:
        quorum = self.quorum
        if self._id is not id or quorum.closed:
            return
        if error is not None:
            self.stop()
            self.done(error)
            return

        def begun_anew(error: DiskError | None) -> None:
            if self._id is not id or quorum.closed:
                return
            self.stop()
            if error is None:
                quorum.history.install(id.offset, data)
                quorum.high_watermark = max(quorum.high_watermark, id.offset)
                quorum.listener.install_snapshot((id.offset, id.epoch))
            self.done(error)

        quorum.log.restart_at(id.offset, id.epoch, lambda: self._id is id and not quorum.closed, begun_anew)

    def _fail(self, why: str) -> None:
        self.stop()
        self.done(RuntimeError(why))
