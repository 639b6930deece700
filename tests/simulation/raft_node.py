"""One replica of the quorum's world: a machine with a disk, on which a process comes and goes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.base import ids
from tapelog.base.timers import Timers
from tapelog.raft import control
from tapelog.raft.machine import Raft
from tapelog.raft.values import Endpoint, RaftConfig, ReplicaKey
from tapelog.wire import record_batch
from tests.simulation.raft_disk import Disk, MemoryLog, SnapshotFiles, VoteFile

if TYPE_CHECKING:
    from tests.simulation.raft_world import World

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
CONFIG = RaftConfig(
    election_timeout_ms=200,
    fetch_timeout_ms=400,
    election_backoff_max_ms=200,
    request_timeout_ms=400,
    retry_backoff_ms=10,
    fetch_max_wait_ms=150,
    fetch_bytes_max=2000,
    snapshot_bytes_max=150,
)


class Node:
    """A machine with a disk; `raft` while its process lives."""

    def __init__(self, world: World, id: int) -> None:
        self.world = world
        self.id = id
        self.disk = Disk(ids.new_id(world.entropy))
        self.raft: Raft | None = None
        self.log: MemoryLog
        self.timers = Timers(world.clock)
        self.paused_until_ms = 0
        self.slow = False
        self.full = False
        self.applied = 0
        self.state = 0
        self.epoch_led = -1
        self._flushing = False
        self._writing_snapshot = False

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.disk.directory_id)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("CONTROLLER", "node", self.id)

    # -- life

    def boot(self) -> None:
        world = self.world
        self.timers = Timers(world.clock)
        timers = self.timers
        booting = [True]

        def soon(action: Callable[[], None]) -> None:
            if booting[0] or world.entropy.chance(50):
                action()
            else:
                timers.after(world.entropy.below(30), action)

        self.log = MemoryLog(self.disk, world.entropy.fork(), soon)
        self._flushing = self._writing_snapshot = False
        self.epoch_led = -1
        newest = max(self.disk.snapshots, default=(0, 0))
        self.applied, self.state = newest[0], world.digests[newest[0]]

        def snapshot_later(finish: Callable[[], None]) -> None:
            timers.after(1 + world.entropy.below(20), finish)

        self.raft = Raft(
            self.id,
            self.disk.directory_id,
            world.cluster_of.get(self.id, CLUSTER),
            world.config,
            self.log,
            VoteFile(self.disk),
            SnapshotFiles(self.disk, snapshot_later),
            lambda *message: world.send(self, timers, *message),
            timers,
            world.clock,
            world.entropy.fork(),
            self,
            world.configured,
            (self.endpoint,),
            tuple(node.endpoint for node in world.nodes),
        )
        self.raft.start()
        booting[0] = False
        self.settle()

    def crash(self) -> None:
        if self.raft is not None:
            self.log.crash()
            self.raft.close()
            self.raft = None
            self.timers = Timers(self.world.clock)

    def wipe(self) -> None:
        self.crash()
        self.disk = Disk(ids.new_id(self.world.entropy))

    def settle(self) -> None:
        """After each step: write what was appended, begin to flush it."""
        raft, world = self.raft, self.world
        if raft is None:
            return
        if self.log.written_end < self.log.end_offset:
            if self.full or (world.disk_full_percent and world.entropy.chance(world.disk_full_percent)):
                world.count("full disk")
                self.log.undo_write()
                raft.write_failed()
            elif self.log.write():
                raft.written()
        if not self._flushing and self.log.durable_end < self.log.written_end:
            self._flushing = True
            flushed = self.log.begin_flush()
            self.timers.after(world.entropy.below(300 if self.slow else 8), lambda: self._flushed(flushed))
        raft.invariants()

    def _flushed(self, flushed: list[tuple[int, int, int, bytes]]) -> None:
        self._flushing = False
        self.log.end_flush(flushed)
        if self.raft is not None:
            self.raft.durable()

    # -- Listener

    def elected(self, epoch: int, start_offset: int) -> None:
        self.epoch_led = epoch
        self.world.elected(self, epoch)

    def resigned(self) -> None:
        self.epoch_led = -1

    def leader_is(self, node_id: int, epoch: int) -> None:
        pass

    def committed(self, high_watermark: int) -> None:
        if self.raft is not None and self.raft.is_leader:
            self.world.check_majority(self, high_watermark)
        for base, end, epoch, batch in self.log.entries:
            if self.applied <= base < high_watermark:
                assert end <= high_watermark, "half a batch is committed"
                self.state = zlib.crc32(batch, self.state)
                self.applied = end
                self.world.committed(self, base, end, epoch, self.state)
        self.check_voters()

    def install_snapshot(self, id: tuple[int, int]) -> None:
        self.world.count("snapshot installed")
        assert id[0] >= self.applied
        data = self.disk.snapshots[id]
        digest = int.from_bytes(list(record_batch.iterate(data, 0, len(data)))[-1].value or b"", "big")
        assert digest == self.world.digests.get(id[0]), (
            f"node {self.id}: the snapshot at {id} is not what was committed"
        )
        self.applied, self.state = id[0], digest
        self.check_voters()

    def check_voters(self) -> None:
        """Who votes as of a committed offset is the same for everybody."""
        if self.raft is not None and self.applied > 0:
            voters = self.raft.voters_at(self.applied)
            known = self.world.voters.setdefault(self.applied, voters)
            assert voters == known, f"node {self.id} has other voters at {self.applied}: {voters}, not {known}"

    def snapshot(self) -> None:
        """Take one of what is applied, then let go of the log below."""
        raft = self.raft
        if raft is None or self._writing_snapshot or self.applied <= self.log.start_offset:
            return
        epoch = max([of for base, end, of, _ in self.log.entries if end <= self.applied], default=-1)
        id = (self.applied, epoch)
        voters = raft.voters_at(self.applied)
        if voters is None or epoch < 0 or id in self.disk.snapshots:
            return
        head = control.control_batch([control.voters_record(voters, 0)], epoch)
        tail = record_batch.build_batch([record_batch.Record(0, 0, None, self.state.to_bytes(8, "big"))])
        self._writing_snapshot = True

        def done(error: Exception | None) -> None:
            self._writing_snapshot = False
            self.log.advance_start(*id)
            for old in sorted(self.disk.snapshots)[:-2]:
                del self.disk.snapshots[old]

        raft.quorum.snapshots.write(id, head + tail, done)
