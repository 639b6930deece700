"""Fetches and snapshots that others ask the leader for. A fetch that finds nothing new is parked until there is.

A fetch's offset is the fetcher's claim that it has everything below on disk, provided that its log is a prefix of
ours; if it is not, it is told where the logs part, or which snapshot to begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.timers import Timer
from tapelog.raft import requests
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Role
from tapelog.raft.values import NO_NODE, OffsetEpoch, ReplicaKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest
from tapelog.wire.messages.fetch_response import EpochEndOffset, FetchResponse, PartitionData, SnapshotId
from tapelog.wire.messages.fetch_snapshot_request import FetchSnapshotRequest
from tapelog.wire.messages.fetch_snapshot_request import PartitionSnapshot as WantedSnapshot
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot
from tapelog.wire.messages.fetch_snapshot_response import SnapshotId as AnsweredId

PARKED_MAX: Final = 1000
WAIT_MS_MAX: Final = 30_000

Reply = Callable[[FetchResponse], None]


class ParkedFetch:
    """A fetch that waits for records or for the high watermark."""

    __slots__ = ("bytes_max", "done", "end", "high_watermark", "key", "timer")

    def __init__(self, key: ReplicaKey, end: OffsetEpoch, high_watermark: int, bytes_max: int, done: Reply) -> None:
        self.key = key
        self.end = end
        self.high_watermark = high_watermark
        self.bytes_max = bytes_max
        self.done = done
        self.timer: Timer | None = None


class Serving:
    """The leader's answers."""

    def __init__(self, quorum: Quorum, count: Callable[[], None]) -> None:
        self.quorum = quorum
        self.count = count
        self._parked: dict[ReplicaKey, ParkedFetch] = {}
        self._snapshot: tuple[tuple[int, int], bytes] | None = None

    def entered(self, role: Role) -> None:
        """The role changed: whoever waited hears of it."""
        self._snapshot = None
        for parked in list(self._parked.values()):
            self._finish(parked, self._refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def look(self) -> None:
        """There may be something new for those who wait."""
        for parked in list(self._parked.values()):
            if self._parked.get(parked.key) is parked and self._news(parked):
                self._finish(parked, self._read(parked))

    def fetch(self, request: FetchRequest, partition: FetchPartition, done: Reply) -> None:
        """A replica asks for what follows its log."""
        quorum = self.quorum
        problem = self._check(partition.current_leader_epoch)
        if problem != ErrorCode.NONE:
            done(self._refuse(problem))
            return
        replica = request.replica_state.replica_id if request.replica_state is not None else request.replica_id
        key = ReplicaKey(replica, partition.replica_directory_id)
        end = OffsetEpoch(partition.fetch_offset, partition.last_fetched_epoch)
        if end.offset < 0 or end.epoch < 0:
            done(self._refuse(ErrorCode.INVALID_REQUEST))
            return
        parts = self._parts(end)
        if parts is not None:
            done(self._answer(parts))
            return
        leader = quorum.leading
        assert leader is not None
        if replica >= 0 and key != quorum.me:
            now_ms, wall_ms = quorum.clock.monotonic_ms(), quorum.clock.wall_ms()
            leader.progress.fetched(key, end.offset, quorum.log.end_offset, now_ms, wall_ms)
            self.count()
            if quorum.role is not leader:
                done(self._refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER))
                return
        bytes_max = min(partition.partition_max_bytes, request.max_bytes, quorum.config.fetch_bytes_max)
        parked = ParkedFetch(key, end, partition.high_watermark, bytes_max, done)
        if self._news(parked) or request.max_wait_ms <= 0 or len(self._parked) >= PARKED_MAX:
            done(self._read(parked))
            return
        before = self._parked.get(key)
        if before is not None:
            self._finish(before, self._read(before))
        self._parked[key] = parked
        parked.timer = quorum.timers.after(min(request.max_wait_ms, WAIT_MS_MAX), lambda: self._expired(parked))

    def fetch_snapshot(self, request: FetchSnapshotRequest, wanted: WantedSnapshot) -> FetchSnapshotResponse:
        """A replica asks for a part of a snapshot."""
        quorum = self.quorum
        data = PartitionSnapshot(index=wanted.partition)
        data.error_code = int(self._check(wanted.current_leader_epoch))
        asked = wanted.snapshot_id
        id = (asked.end_offset, asked.epoch) if asked is not None else (-1, -1)
        data.snapshot_id = AnsweredId(end_offset=id[0], epoch=id[1])
        if data.error_code == 0:
            content = self._snapshot_bytes(id)
            if content is None:
                data.error_code = int(ErrorCode.SNAPSHOT_NOT_FOUND)
            elif not 0 <= wanted.position < len(content):
                data.error_code = int(ErrorCode.POSITION_OUT_OF_RANGE)
            else:
                room = max(1, min(request.max_bytes, quorum.config.snapshot_bytes_max))
                data.size, data.position = len(content), wanted.position
                data.unaligned_records = content[wanted.position : wanted.position + room]
                leader, key = quorum.leading, ReplicaKey(request.replica_id, wanted.replica_directory_id)
                if leader is not None and key in leader.progress.replicas:
                    leader.progress.replicas[key].fetched_ms = quorum.clock.monotonic_ms()
        return requests.snapshot_answer(data, quorum.vouched_leader, quorum.epoch, quorum.leader_endpoint())

    # -- inside

    def _check(self, epoch: int) -> ErrorCode:
        quorum = self.quorum
        if quorum.leading is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if epoch <= quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        if NO_NODE < epoch < quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > quorum.epoch else ErrorCode.NONE

    def _parts(self, end: OffsetEpoch) -> PartitionData | None:
        """Where the fetcher's log parts from ours; None if it does not."""
        log = self.quorum.log
        if end.offset == 0 and log.start_offset == 0:
            return None
        data = PartitionData(high_watermark=self.quorum.high_watermark, records=b"", log_start_offset=log.start_offset)
        snapshots = self.quorum.snapshots.list() if log.start_offset > 0 else []
        if snapshots:
            before_start = [id for id in snapshots if id[0] <= log.start_offset]
            first = before_start[-1] if before_start else snapshots[0]
            at_first = end.offset == log.start_offset == first[0] and end.epoch != first[1]
            if end.offset < log.start_offset or at_first or end.epoch < first[1]:
                newest = snapshots[-1]
                data.snapshot_id = SnapshotId(end_offset=newest[0], epoch=newest[1])
                return data
        ours = log.end_of_epoch(end.epoch)
        if ours.epoch != end.epoch or ours.offset < end.offset:
            data.diverging_epoch = EpochEndOffset(epoch=ours.epoch, end_offset=ours.offset)
            return data
        return None

    def _news(self, parked: ParkedFetch) -> bool:
        quorum = self.quorum
        return parked.end.offset < quorum.log.written_end or parked.high_watermark < quorum.high_watermark

    def _read(self, parked: ParkedFetch) -> FetchResponse:
        quorum = self.quorum
        data = PartitionData(high_watermark=quorum.high_watermark, log_start_offset=quorum.log.start_offset)
        data.records = b""
        if parked.end.offset < quorum.log.start_offset:  # a snapshot was taken meanwhile
            return self._answer(self._parts(parked.end) or data)
        if parked.end.offset < quorum.log.written_end:
            data.records = quorum.log.read(parked.end.offset, parked.bytes_max)
        return self._answer(data)

    def _expired(self, parked: ParkedFetch) -> None:
        if self._parked.get(parked.key) is parked:
            self._finish(parked, self._read(parked))

    def _finish(self, parked: ParkedFetch, response: FetchResponse) -> None:
        if self._parked.get(parked.key) is parked:
            del self._parked[parked.key]
        if parked.timer is not None:
            parked.timer.cancel()
        parked.done(response)

    def _refuse(self, code: ErrorCode) -> FetchResponse:
        return self._answer(PartitionData(error_code=int(code), high_watermark=-1, records=b""))

    def _answer(self, data: PartitionData) -> FetchResponse:
        quorum = self.quorum
        return requests.fetch_answer(data, quorum.vouched_leader, quorum.epoch, quorum.leader_endpoint())

    def _snapshot_bytes(self, id: tuple[int, int]) -> bytes | None:
        if self._snapshot is not None and self._snapshot[0] == id:
            return self._snapshot[1]
        if id not in self.quorum.snapshots.list():
            return None
        self._snapshot = (id, self.quorum.snapshots.read(id))
        return self._snapshot[1]
