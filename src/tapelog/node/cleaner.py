"""Compaction in a running node: looks at the compacted logs now and then, has the filthiest cleaned, swaps it in.

The passes run elsewhere (`compaction.order.CleaningWorker`); only what touches a log happens here, on the loop, a few
renames at a time. Leaders and followers clean alike, each its own copy. What interferes — truncation, deletion,
retention, a new topic of the same name — makes a cleaning come to nothing, and it is tried again. ADR 0014.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timer
from tapelog.log.checkpoints import TopicPartition
from tapelog.log.compaction.order import CleaningWorker
from tapelog.log.compaction.plan import Bounds, CleaningPlan, plan, sources
from tapelog.log.compaction.schedule import CleanerSettings, Schedule, filthiest_first
from tapelog.node.cleaner_courtesy import Courtesies
from tapelog.node.cleaner_lane import Lane
from tapelog.replication.partition import Partition
from tapelog.server.node_api import CleaningState

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

LOGS_PER_STEP: Final = 50
AGAIN_MS: Final = 100
"""After something was cleaned the next look comes that soon, instead of after log.cleaner.backoff.ms."""
IDLE_MS: Final = 60_000
"""A worker without work ends."""


class Cleaner:
    """See the module. Without `make_worker` nothing is ever cleaned."""

    def __init__(self, node: NodeCore, make_worker: Callable[[], CleaningWorker] | None) -> None:
        self.node = node
        self.schedule = Schedule()
        self.lanes: list[Lane] = []
        self.courtesies = Courtesies(self)
        self._make_worker = make_worker
        self._due: list[TopicPartition] = []
        self._cleaned = False
        self._timer: Timer | None = None
        self._started = False
        self._looking = False
        self.stopped = False

    @property
    def settings(self) -> CleanerSettings:
        """As they are now."""
        return CleanerSettings.of(self.node.metadata.layers.text)

    def start(self) -> None:
        """Begin; called once the node serves."""
        if self._make_worker is not None and self.settings.enabled:
            self._started = True
            self._look_after(min(AGAIN_MS, self.settings.backoff_ms))

    def stop(self) -> None:
        """No more work after this; what is under way is thrown away."""
        self.stopped = True
        for lane in self.lanes:
            lane.worker.stop()
        self.lanes = []

    def configured(self) -> None:
        """Broker settings may have changed."""
        settings = self.settings
        for lane in self.lanes:
            lane.worker.throttle(settings.rate_share)
        if self._started and not self._looking:
            self._look_after(AGAIN_MS)

    # --- who is next ---------------------------------------------------------------------------------------------

    def _look_after(self, delay_ms: int) -> None:
        if self._timer is not None:
            if self._timer.due_ms <= self.node.clock.monotonic_ms() + delay_ms:
                return
            self._timer.cancel()
        self._timer = self.node.timers.after(delay_ms, self._look)

    def _look(self) -> None:
        """Plan for every compacted log, a few at a time; then let the filthiest begin."""
        self._timer = None
        if self.stopped or self._looking:
            return
        self._looking, self._cleaned = True, False
        for lane in list(self.lanes):
            lane.look()
        self._end_idle()
        held = self._compacted()
        self.schedule.forget_others({(one.topic, one.index): one.log for one in held})
        held.reverse()
        due: dict[TopicPartition, CleaningPlan] = {}

        def step() -> None:
            if self.stopped:
                return
            for _ in range(min(LOGS_PER_STEP, len(held))):
                partition = held.pop()
                found = self._plan(partition)
                if found is not None:
                    due[partition.topic, partition.index] = found
            if held:
                self.node.timers.after(1, step)
                return
            self._looking = False
            self._due = filthiest_first(due)
            self._assign()

        step()

    def _compacted(self) -> list[Partition]:
        """Every partition of a compacted topic, in order; the others cost a look at their topic."""
        found: list[Partition] = []
        for state in self.node.topics.values():
            for partition in state.partitions:
                if partition is None:
                    continue
                if not partition.log.config.compact:
                    break
                found.append(partition)
        found.sort(key=lambda partition: (partition.topic, partition.index))
        return found

    def _plan(self, partition: Partition) -> CleaningPlan | None:
        """What is to be cleaned of a log now, if anything."""
        held, key = partition.log, (partition.topic, partition.index)
        now_ms = self.node.clock.monotonic_ms()
        if partition.closed or partition.offline or len(held.segments.items) < 2:
            return None
        if held.moving:
            return None
        if held.config.hold or held.config.remote:  # compacted by a default of the cluster: it keeps what it has
            return None
        if not self.schedule.may_clean(key, held, held.config, now_ms) or any(lane.key == key for lane in self.lanes):
            return None
        try:
            return self.plan_of(partition)
        except (DiskError, FileNotFoundError) as error:
            self.schedule.put_off(self.schedule.record_of(key, held, held.config), now_ms)
            self.node.storage.suspect(DiskError(str(error)), held.disk)
        return None

    def plan_of(self, partition: Partition) -> CleaningPlan | None:
        """What is to be cleaned, whether or not that may begin now."""
        held = partition.log
        home = self.node.directory.of(held.disk)
        if home is None:
            return None
        checkpoint = home.cleaned_offsets.get((partition.topic, partition.index))
        believed = checkpoint is not None and held.start_offset <= checkpoint <= held.end_offset
        if believed and checkpoint is not None and held.active.base_offset <= checkpoint:
            return None
        bounds = Bounds(
            held.start_offset,
            held.end_offset,
            held.last_stable_offset(partition.high_watermark),
            held.checkpointed_end,
        )
        return plan(sources(held, brief=True), held.config, bounds, checkpoint, self.node.clock.wall_ms())

    def state_of(self, partition: Partition) -> CleaningState | None:
        """What an operator wants to know of a log; None if it is not compacted."""
        held, key = partition.log, (partition.topic, partition.index)
        home = self.node.directory.of(held.disk)
        if not held.config.compact or home is None:
            return None
        cleaned = max(home.cleaned_offsets.get(key, 0), held.start_offset)
        sealed = held.segments.items[:-1]
        clean_bytes = sum(segment.size for segment in sealed if segment.base_offset < cleaned)
        dirty_bytes = sum(segment.size for segment in sealed) - clean_bytes
        record = self.schedule.records.get(key)
        if record is None or record.owner is not held:
            return CleaningState(cleaned, clean_bytes, dirty_bytes, -1, False, "")
        return CleaningState(cleaned, clean_bytes, dirty_bytes, record.cleaned_ms, record.under_way, record.uncleanable)

    def _assign(self) -> None:
        """Let those that are due begin, as far as there are workers; look again when none is left."""
        settings = self.settings
        while self._due and settings.enabled:
            lane = self._free_lane(settings)
            if lane is None:
                break
            key = self._due.pop(0)
            state = self.node.topics.get(key[0])
            partition = state.partitions[key[1]] if state is not None and key[1] < len(state.partitions) else None
            found = self._plan(partition) if partition is not None and partition.log.config.compact else None
            if partition is not None and found is not None:
                lane.begin(partition, found, settings)
        soon = self._cleaned and not self._due
        self._look_after(AGAIN_MS if soon else max(AGAIN_MS, settings.backoff_ms))

    def _free_lane(self, settings: CleanerSettings) -> Lane | None:
        for lane in self.lanes[: settings.workers]:
            if lane.held is None:
                return lane
        if self._make_worker is None or len(self.lanes) >= settings.workers:
            return None
        self.lanes.append(Lane(self, self._make_worker()))
        return self.lanes[-1]

    def _end_idle(self) -> None:
        """Workers without work for long, or too many of them, end."""
        now_ms, workers = self.node.clock.monotonic_ms(), self.settings.workers
        for number, lane in reversed(list(enumerate(self.lanes))):
            if lane.held is None and (number >= workers or now_ms - lane.since_ms >= IDLE_MS):
                lane.worker.stop()
                del self.lanes[number]

    def lane_ended(self, cleaned: bool) -> None:
        """A lane is free again."""
        self._cleaned = self._cleaned or cleaned
        if self._due:
            self._assign()
        elif cleaned and not self._looking:
            self._look_after(AGAIN_MS)
