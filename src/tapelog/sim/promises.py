"""What must be true of all nodes together after every event, looked at from outside.

One leader per epoch, of the quorum and of each partition; high watermarks that do not go back while a process lives;
the same batches below them on every node, and on as many disks as min.insync.replicas says when a leader calls them
committed; nobody leads, and nobody enters an ISR, without what was committed.
"""

from __future__ import annotations

from collections.abc import Callable

from tapelog.replication.partition import Partition
from tapelog.sim.history import History, Key
from tapelog.sim.machine import Machine
from tapelog.sim.noticing import Noticing
from tapelog.sim.rare import Rare

METADATA_KEY: Key = (b"", 0)


class Seen:
    """What was last seen of a partition on a node."""

    __slots__ = ("boot", "durable", "end", "epoch", "high_watermark", "leading", "partition", "start")

    def __init__(self, boot: int, partition: Partition) -> None:
        self.boot = boot
        self.partition = partition
        self.high_watermark = 0
        self.end = 0
        self.durable = 0
        self.start = 0
        self.epoch = -1
        self.leading = False


class Promises:
    """Checks machines after they did something."""

    def __init__(self, machines: list[Machine], rare: Rare, copies_min: int) -> None:
        self.machines = machines
        self.rare = rare
        self.copies_min = copies_min
        self.histories: dict[Key, History] = {}
        self.quorum: dict[int, int] = {}
        self.noticing = Noticing(rare)
        self.noticing.on_entered = self._entered
        self.compacts = False
        """Replicas are compacted, each for itself: what they have of a compacted log differs."""
        self.fragile: Callable[[], bool] | None = None
        """Whether somebody has lost data and may not have it back yet."""
        self.on_led: Callable[[Machine, str, int, int], None] | None = None
        """Told who begins to lead which partition, and in which epoch."""
        self._seen: dict[tuple[int, Key], Seen] = {}
        self._known: list[dict[Partition, Seen]] = [{} for _ in machines]
        """The same by machine and partition, for a quick look."""

    def committed_end(self, topic: str, index: int) -> int:
        """How far anybody has ever called a partition committed."""
        known = self.noticing.newest.topics.get(topic)
        history = self.histories.get((known.id, index)) if known is not None else None
        return 0 if history is None else history.end

    def after_event(self) -> None:
        """Look at whoever did something."""
        for machine, known in zip(self.machines, self._known, strict=True):
            if machine.touched:
                machine.touched = False
                if machine.core is not None and machine.failure is None:
                    with machine.readable():
                        self._look(machine, known)
                elif machine.core is not None:
                    with machine.readable():
                        self._last_words(machine)

    def _last_words(self, machine: Machine) -> None:
        """Its disk failed: what had reached the disk in the same moment, and was told to others, counts."""
        core = machine.core
        assert core is not None
        partitions = [(METADATA_KEY, core.metadata.partition)]
        for state in core.topics.values():
            partitions += [((state.topic_id, part.index), part) for part in state.partitions if part is not None]
        for key, partition in partitions:
            seen = self._seen.get((machine.node_id, key))
            if seen is not None and seen.partition is partition:
                seen.durable = partition.log.durable_end
                if key != METADATA_KEY and partition.high_watermark > seen.high_watermark:
                    history = self.histories[key]
                    self._committed(machine, key, history, seen, partition.high_watermark, leading=seen.leading)
                    seen.high_watermark = partition.high_watermark

    def _look(self, machine: Machine, known: dict[Partition, Seen]) -> None:
        core = machine.core
        assert core is not None
        image = core.image
        if image is not self.noticing.newest:
            self.noticing.published(image)
        for state in core.topics.values():
            for partition in state.partitions:
                if partition is None or partition.closed:
                    if partition is not None and partition.offline and partition in known:
                        known[partition].durable = partition.log.durable_end  # as in _last_words
                    continue
                seen = known.get(partition)
                if (
                    seen is None
                    or partition.high_watermark != seen.high_watermark
                    or partition.log.end_offset != seen.end
                    or partition.log.durable_end != seen.durable
                    or partition.leader_epoch != seen.epoch
                    or partition.leading is not seen.leading
                ):
                    partition.invariants()
                    key = (state.topic_id, partition.index)
                    epoch, leading = partition.leader_epoch, partition.leading
                    self._look_at(machine, key, partition, partition.high_watermark, epoch, leading=leading)
                    known[partition] = self._seen[machine.node_id, key]
        raft = core.metadata.raft
        partition = core.metadata.partition
        high_watermark, epoch = raft.high_watermark, raft.epoch
        self._look_at(machine, METADATA_KEY, partition, high_watermark, epoch, leading=raft.quorum.leading is not None)

    def _look_at(
        self, machine: Machine, key: Key, partition: Partition, high_watermark: int, epoch: int, *, leading: bool
    ) -> None:
        seen = self._seen.get((machine.node_id, key))
        if seen is None or seen.partition is not partition:  # another process, or a replica that left and came back
            seen = self._seen[machine.node_id, key] = Seen(machine.boots, partition)
        log = partition.log
        end = log.end_offset
        if (
            high_watermark == seen.high_watermark
            and end == seen.end
            and log.durable_end == seen.durable
            and leading == seen.leading
            and epoch == seen.epoch
        ):
            return
        history = self.histories.get(key)
        if history is None:
            history = self.histories[key] = History(f"{partition.topic}-{partition.index}")
        who = f"node {machine.node_id}"
        assert epoch >= seen.epoch, f"{who}: {history.name} goes back from epoch {seen.epoch} to {epoch}"
        empty = seen.start == seen.end  # an empty log may begin within a batch, and again where that batch does
        assert high_watermark >= seen.high_watermark or empty, (
            f"{who}: the high watermark of {history.name} goes back from {seen.high_watermark} to {high_watermark}"
        )
        seen.durable, seen.start = log.durable_end, log.start_offset
        if high_watermark > seen.high_watermark:
            self._committed(machine, key, history, seen, high_watermark, leading=leading)
        if end < seen.end:
            self.rare.count("divergent truncation")
        if leading and (not seen.leading or epoch != seen.epoch):
            history.led(machine.node_id, epoch, log)
            self._zombies(machine, key, epoch)
            if self.on_led is not None:
                self.on_led(machine, partition.topic, partition.index, epoch)
        seen.high_watermark, seen.end, seen.leading, seen.epoch = high_watermark, end, leading, epoch

    def _committed(
        self, machine: Machine, key: Key, history: History, seen: Seen, high_watermark: int, *, leading: bool
    ) -> None:
        """A node calls more committed than before."""
        log = seen.partition.log
        if leading:
            self._copies(machine, key, history, high_watermark)
        if self.compacts and log.config.compact:
            history.end = max(history.end, high_watermark)
        else:
            history.committed(f"node {machine.node_id}", log, seen.high_watermark, high_watermark)

    def _copies(self, leader: Machine, key: Key, history: History, end: int) -> None:
        """A leader calls something committed: enough disks must have it."""
        found = [self._seen.get((machine.node_id, key)) for machine in self.machines]
        copies = sum(seen is not None and seen.durable >= end for seen in found)
        if copies < self.copies_min and end > history.end and not (self.fragile is not None and self.fragile()):
            raise AssertionError(f"{leader.name} calls {history.name} committed up to {end}: {copies} disks have that")

    def _entered(self, id: bytes, index: int, node_id: int) -> None:
        """The controller lets a replica into an ISR."""
        history, machine = self.histories.get((id, index)), self.machines[node_id - 1]
        state = machine.core.topics_by_id.get(id) if machine.core is not None and machine.failure is None else None
        partition = state.partitions[index] if state is not None and index < len(state.partitions) else None
        if history is None or partition is None or partition.closed or (self.fragile is not None and self.fragile()):
            return
        assert partition.log.end_offset >= history.end, (
            f"{machine.name} enters the ISR of {history.name} and ends at {partition.log.end_offset}, "
            f"committed was {history.end}"
        )

    def _zombies(self, leader: Machine, key: Key, epoch: int) -> None:
        """Others that still believe they lead."""
        for machine in self.machines:
            seen = self._seen.get((machine.node_id, key))
            alive = machine is not leader and machine.up and seen is not None and seen.boot == machine.boots
            if alive and seen is not None and seen.leading and seen.epoch < epoch:
                self.rare.count("zombie leader")
