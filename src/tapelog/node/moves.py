"""Replicas that move to another log directory of this node (AlterReplicaLogDirs), while they are in use.

A move copies the files of a log in the background, a few partitions at a time and no faster than
`replica.alter.log.dirs.io.max.bytes.per.second`; when next to nothing is missing the log goes on with the copies,
within one wake-up, and the controller is told (`log.relocation`, ADR 0016). Who reads, writes or follows notices
nothing. A log that is cut, or a node that restarts, begins its move anew; a log that is moving is not compacted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log import names
from tapelog.log.manager import LogDirectory
from tapelog.log.relocation import Relocation, Step
from tapelog.metadata.electorate import directory_of
from tapelog.node.registration import cordoned
from tapelog.node.space import reserve_of
from tapelog.replication.partition import Partition
from tapelog.server.node_api import FutureReplica
from tapelog.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

AT_ONCE: Final = 2
"""So many logs are copied at the same time; the others wait."""
LAST_BYTES: Final = 1 << 20
LAST_SEGMENTS: Final = 3
"""So little, and so few segments, may be missing when the rest is copied at once: the loop waits for that."""
PREFERRED_MAX: Final = 10_000
"""So many replicas that are not here yet may have a directory waiting for them."""
SOON_MS: Final = 20
LATER_MS: Final = 10_000
LATER_MS_MAX: Final = 640_000
"""After something has failed: at first, and at most."""
TELL_MS: Final = 2_000
"""So long the controller has to answer where a replica is, before the directory where it was counts as failed."""

Key = tuple[str, int]


class Moves:
    """See the module."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.moved = 0
        """Replicas since the start."""
        self.all: dict[Key, Move] = {}
        self.preferred: dict[Key, str] = {}
        """Directories for replicas that are not here yet."""
        self.hopeless_until_ms: dict[Key, int] = {}
        """Logs that could not be made anew, and until when that is not tried again."""
        self.stopped = False

    def want(self, topic: str, index: int, path: str, *, again: bool = False) -> None:
        """Have a replica moved to that directory; to the one where it is: have it stay. KafkaError if it cannot be."""
        node, key = self.node, (topic, index)
        home = self._destination(topic, index, path, again)
        under_way = self.all.get(key)
        if under_way is not None and under_way.home is not home:
            under_way.end("another directory is wanted")
        self.preferred.pop(key, None)
        partition = self._partition(key, home)
        if partition.log.disk is not home.disk and key not in self.all:
            log.info("%s-%d moves to %s", topic, index, home.path)
            self.all[key] = Move(self, partition, home)
            node.timers.after(0, self.go_on)

    def _destination(self, topic: str, index: int, path: str, again: bool) -> LogDirectory:
        node, wanted = self.node, path.rstrip("/")
        if len(names.future_dir(topic, index, bytes(16))) > names.NAME_LENGTH_MAX:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long")
        if wanted not in [known.rstrip("/") for known in node.config.log_dirs]:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config")
        home = next((one for one in node.directory.items if one.path.rstrip("/") == wanted), None)
        if home is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Log directory {path} is offline")
        if home.directory_id in cordoned(node) and not again:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Log directory {path} is cordoned")
        return home

    def _partition(self, key: Key, home: LogDirectory) -> Partition:
        state = self.node.topics.get(key[0])
        if state is None or not 0 <= key[1] < len(state.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no {key[0]}-{key[1]}")
        partition = state.partitions[key[1]]
        if partition is None:
            if len(self.preferred) < PREFERRED_MAX:
                self.preferred[key] = home.path
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{key[0]}-{key[1]} has no replica here yet")
        if partition.offline or partition.closed:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{key[0]}-{key[1]} is offline")
        return partition

    def resume(self) -> None:
        """What the last run was copying is begun anew."""
        for home in self.node.directory.items:
            names_here, home.futures = home.futures, []
            disk = home.disk
            for name in names_here:
                path = f"{home.path}/{name}"
                disk.start_job(lambda path=path, disk=disk: disk.remove_tree(path), _ignore)  # type: ignore[misc]
                key = names.parse_future_dir(name)
                try:
                    if key is not None:
                        self.want(*key, home.path, again=True)
                except KafkaError as error:
                    log.info("%s-%d does not move to %s any more: %s", *key or ("", 0), home.path, error)

    def stop(self) -> None:
        """No more work after this."""
        self.stopped = True

    def go_on(self) -> None:
        """Let those begin that may."""
        if self.stopped or self.node.failure is not None:
            return
        running = sum(move.running for move in self.all.values())
        for move in list(self.all.values()):
            if running < AT_ONCE and not move.running and not move.resting:
                running += 1
                move.start()

    def rate(self) -> int:
        """Bytes a second for each that is under way: the setting is for all of them together."""
        running = sum(move.running for move in self.all.values())
        return max(1, self.node.setting_int("replica.alter.log.dirs.io.max.bytes.per.second") // max(1, running))

    def futures(self, path: str) -> list[FutureReplica]:
        """The copies in the making in a directory."""
        return [
            FutureReplica(*key, move.copy.copied_bytes, move.lag)
            for key, move in self.all.items()
            if move.home.path == path and not move.in_place
        ]

    def mend(self, partition: Partition) -> bool:
        """Have a compacted log that is damaged made anew with what another replica has; False if that cannot be."""
        from tapelog.node.rebuild import Rebuild

        key, now_ms = (partition.topic, partition.index), self.node.clock.monotonic_ms()
        home = self.node.directory.of(partition.log.disk)
        if key in self.all:
            return self.all[key].in_place
        if home is None or now_ms < self.hopeless_until_ms.get(key, now_ms) or not Rebuild.possible(partition):
            return False
        self.all[key] = Rebuild(self, partition, home)
        self.node.timers.after(0, self.go_on)
        return True


class Move:
    """One replica on its way."""

    in_place = False
    """Whether the copy takes the log's place in the same directory."""

    def __init__(self, owner: Moves, partition: Partition, home: LogDirectory) -> None:
        self.owner = owner
        self.node = owner.node
        self.partition = partition
        self.log = partition.log
        self.home = home
        self.running = False
        self.resting = False
        """Until it is tried again."""
        self.over = False
        self._copying = False
        """Whether a step is under way."""
        self._settled = False
        """Whether what the log has was synced since much was missing."""
        self._failures = 0
        self.copy = self._new_copy()
        self.log.moving = True

    def _new_copy(self) -> Relocation:
        source = self.node.directory.of(self.log.disk)
        assert source is not None
        return Relocation(self.log, source, self.home)

    def _ready(self) -> bool:
        """Whether copying may begin; else it goes on later."""
        return True

    @property
    def needed_bytes(self) -> int:
        """Room that the rest of the copy takes."""
        return self.copy.missing_bytes()

    @property
    def lag(self) -> int:
        """Offsets that are not there yet."""
        return max(0, self.log.end_offset - self.copy.end_offset)

    def start(self) -> None:
        """Begin, or begin again."""
        self.running = True
        self._go_on()

    def _go_on(self) -> None:
        if self.owner.stopped or self.over or not self._stands():
            return
        held, copy = self.log, self.copy
        key = (self.partition.topic, self.partition.index)
        if held.staged >= 0 or any(lane.key == key for lane in self.node.cleaner.lanes):
            self._rest(1000)  # the cleaner will see that it has to leave this log alone
        elif copy.outdated:
            self._anew(SOON_MS, "the log was cut, or mended")
        elif not self._has_room():
            self._anew(LATER_MS, "there is not enough room")
        elif not self._ready():
            return
        elif copy.missing_bytes() <= LAST_BYTES and copy.missing_segments() <= LAST_SEGMENTS:
            if self._settled:
                self._finish()
            else:
                self._settle_source()
        else:
            step = copy.next_step()
            assert step is not None
            self._copying = True
            self.home.disk.start_job(step.run, lambda failure: self._stepped(copy, step, failure))

    def _settle_source(self) -> None:
        """In the background, what the loop would else have to wait for at the end."""
        copy = self.copy

        def settled(failure: Exception | None) -> None:
            if self.owner.stopped or self.over or copy is not self.copy or not self._stands():
                return
            if failure is not None:
                self._source_broke(failure)
                return
            self._settled = True
            self._go_on()

        self.log.disk.start_job(copy.settling(), settled)

    def _source_broke(self, failure: Exception) -> None:
        """What the log has could not be made durable where it is."""
        error = failure if isinstance(failure, DiskError) else DiskError(str(failure))
        self.end(str(error))
        self.node.storage_broke(error, self.copy.source.disk)

    def _stands(self) -> bool:
        """Whether there is something to move, and where to."""
        node, partition = self.node, self.partition
        if self.home not in node.directory.items:
            self.end("its directory is offline")
        elif partition.closed or partition.offline or self.log.closed:
            self.end("it is here no more")
        return not self.over

    def _has_room(self) -> bool:
        node, disk = self.node, self.home.disk
        try:
            reserve = reserve_of(node.setting_int("tapelog.disk.reserve.bytes"), disk.total_bytes())
            fits = disk not in node.hub.full and disk.free_bytes() >= reserve + self.needed_bytes
        except (DiskError, OSError):
            return False
        if not fits:
            node.dispatcher.complain(
                f"no room in {self.home.path} for {self.partition.topic}-{self.partition.index}, which is to move "
                f"there: free some space, or move it elsewhere"
            )
        return fits

    def _stepped(self, copy: Relocation, step: Step, failure: Exception | None) -> None:
        self._copying = False
        if self.over or copy is not self.copy:
            copy.discard()  # not before: it was still being written
        if self.owner.stopped or self.over or copy is not self.copy:
            return
        if failure is None:
            copy.stepped(step)
            size = step.end - step.begin
            self._settled = self._settled and size <= LAST_BYTES
            self.node.timers.after(min(1 + size * 1000 // self.owner.rate(), 60_000), self._go_on)
        elif isinstance(failure, FileNotFoundError) or not self._stands():
            self._rest(SOON_MS)  # retention was quicker
        else:
            self._failed(failure)

    def _failed(self, failure: Exception) -> None:
        """A disk let us down: which one, and how badly, is looked into."""
        error = failure if isinstance(failure, DiskError) else DiskError(str(failure))
        if not isinstance(error, DiskFullError):
            self.node.storage.suspect(error, self.home.disk)
            self.node.storage.suspect(error, self.log.disk)
            self.node.scrubbing.look_at(self.log, self.copy.end_offset)
        self._failures += 1
        self._anew(min(LATER_MS << self._failures - 1, LATER_MS_MAX), str(error))

    def _finish(self) -> None:
        """The rest, at once; then the copy is the log."""
        node, copy, partition = self.node, self.copy, self.partition
        if copy.source.checkpointing or copy.home.checkpointing:
            node.timers.after(SOON_MS, self._go_on)
            return
        node.write_queued(partition)
        if not self._stands():
            return
        try:
            copy.settle_source()
        except DiskError as error:
            self._source_broke(error)
            return
        try:
            copy.complete(partition.high_watermark)
        except (DiskError, FileNotFoundError) as error:
            self._failed(error)
            return
        try:
            failure = copy.install()
        except DiskError as error:
            self.end(str(error), discard=False)
            node.storage_broke(error, copy.home.disk)
            return
        self._done()
        self._installed()
        self._settle()
        if failure is not None:
            self._broke_after_telling(failure, TELL_MS)

    def _installed(self) -> None:
        self.owner.moved += 1
        log.info("%s-%d is in %s now", self.partition.topic, self.partition.index, self.home.path)

    def _settle(self) -> None:
        """Everybody who goes by a log's disk learns that it is another one."""
        node, partition = self.node, self.partition
        node.rounds.moved(partition)
        partition.flush_soon()  # with that round, whoever waits for what is durable now is told
        for damage in self.log.damaged:
            node.scrubbing.repairs.add(self.log, damage)
        image = node.image.partition(partition.topic, partition.index)
        if image is not None:
            node.partitions.assignments.look(partition.topic_id, partition.index, image)

    def _broke_after_telling(self, failure: DiskError, left_ms: int) -> None:
        """The old directory has failed. The controller should know first that this replica is there no more: one whose
        directory has failed may not lead, and is taken for lost."""
        partition, node = self.partition, self.node
        image = node.image.partition(partition.topic, partition.index)
        told = image is not None and directory_of(image, node.node_id) == self.home.directory_id
        if told or left_ms <= 0 or self.owner.stopped:
            node.storage_broke(failure, self.copy.source.disk)
        else:
            node.timers.after(SOON_MS, lambda: self._broke_after_telling(failure, left_ms - SOON_MS))

    def _anew(self, after_ms: int, reason: str) -> None:
        """What was copied is of no use: from the beginning, after a while."""
        log.info("%s-%d begins anew to move: %s", self.partition.topic, self.partition.index, reason)
        self._discard()
        self.copy = self._new_copy()
        self._settled = False
        self._rest(after_ms)

    def _rest(self, for_ms: int) -> None:
        self.running, self.resting = False, True
        self.node.timers.after(for_ms, self._rested)
        self.owner.go_on()

    def _rested(self) -> None:
        self.resting = False
        self.owner.go_on()

    def end(self, reason: str, *, discard: bool = True) -> None:
        """It comes to nothing."""
        log.info("%s-%d does not move: %s", self.partition.topic, self.partition.index, reason)
        if discard:
            self._discard()
        self._done()

    def _discard(self) -> None:
        if not self._copying:
            self.copy.discard()

    def _done(self) -> None:
        self.over, self.running, self.log.moving = True, False, False
        self.owner.all.pop((self.partition.topic, self.partition.index), None)
        self.node.timers.after(0, self.owner.go_on)


def _ignore(failure: Exception | None) -> None:
    """What could not be removed is removed at the next start."""
