"""Storage quotas: what topics, and all topics of a prefix, may hold; counted by the clock, over all nodes.

`tapelog.max.bytes` bounds a topic, `tapelog.max.bytes.prefixes` all topics that begin alike (the longest prefix
counts). What leaders here hold is counted every second, a bounded number of partitions per wake-up; what leaders on
other nodes hold is asked for with DescribeLogDirs. Beyond a bound clients' batches are refused, or the oldest segments
go, each node dropping its share. Coordinators' topics have no bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.base.storage_bounds import DROP_OLDEST, Bound, longest_prefix, parse_prefix_bounds
from tapelog.log.config import LONG_MAX
from tapelog.log.segment import Segment
from tapelog.node.quota_sizes import ASK_MS, HASTE_MS, QuotaSizes
from tapelog.replication.partition import Partition
from tapelog.replication.quota import Quota

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

COUNT_MS: Final = 1_000
SILENT_MS: Final = 30_000
"""More than the time after which a broker that has gone leads nothing any more."""
PARTITIONS_PER_STEP: Final = 500
PARTS: Final = 8
"""Where the oldest go, an active segment is rolled at one in so many parts of its partition's share of the bound, and
by what is appended, between two looks at the clock, at one in so many of the whole."""
ROLL_BYTES_LEAST: Final = 1 << 20
SETTING: Final = "tapelog.max.bytes"
PREFIXES: Final = "tapelog.max.bytes.prefixes"


class StorageQuotas:
    """The bounds in force on this node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.sizes = QuotaSizes(node)
        self.quotas: dict[str, Quota] = {}
        """By topic, and for prefixes by prefix and `*`."""
        self._prefixes: dict[str, Bound] = {}
        self._steps: Iterator[None] | None = None
        self._armed = False
        self._told: dict[str, int] = {}
        self._grown: dict[str, int] = {}
        """What each bound has taken here since others were asked."""
        self._haste = False
        self._dropped: dict[str, int] = {}
        """When the oldest went for a bound, until it is kept: what others hold is asked for anew before more go."""

    def configured(self) -> None:
        """Settings have changed, or it begins: which bounds there are, and whom they bind."""
        self._prefixes = parse_prefix_bounds(self.node.metadata.text(PREFIXES))
        before, self.quotas, self._dropped = self.quotas, {}, {}
        for state in self.node.topics.values():
            for partition in state.partitions:
                if partition is not None:
                    self._bind(partition, before)
        self._arm()

    def bind(self, partition: Partition) -> None:
        """A partition is new here."""
        self._bind(partition, self.quotas)
        self._arm()

    def _bind(self, partition: Partition, before: Mapping[str, Quota]) -> None:
        name, config = partition.topic, partition.log.config
        bounds: list[Quota] = []
        if not name.startswith("__"):
            if config.max_bytes >= 0:
                own = Quota(f"the topic {name}", SETTING, config.max_bytes, rejects=not config.drop_oldest)
                bounds.append(self._quota(name, own, before))
            prefix = longest_prefix(self._prefixes, name) if self._prefixes else None
            if prefix is not None:
                bound = self._prefixes[prefix]
                drops = bound.policy == DROP_OLDEST and config.may_drop
                shared = Quota(f"topics that begin with {prefix!r}", PREFIXES, bound.limit, rejects=not drops)
                bounds.append(self._quota(f"{prefix}*", shared, before))
        for quota in bounds:
            quota.topics[name] = None
        if bounds or partition.quotas:
            partition.bound_by(tuple(bounds))
            parts = [max(ROLL_BYTES_LEAST, quota.limit // PARTS) for quota in bounds if not quota.rejects]
            partition.log.roll_beyond(min(parts, default=LONG_MAX))

    def _quota(self, key: str, wanted: Quota, before: Mapping[str, Quota]) -> Quota:
        """The one of that key, as it is wanted; what it has counted so far stays."""
        known = self.quotas.get(key)
        if known is None:
            known = self.quotas[key] = before.get(key, wanted)
            known.limit, known.rejects = wanted.limit, wanted.rejects
        elif wanted.rejects:
            known.rejects = True  # one of its topics must not lose its oldest records
        return known

    def _arm(self) -> None:
        if self.quotas and not self._armed:
            self._armed = True
            self.node.timers.after(0, self._step)

    # --- by the clock ------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """Count on; when everything is counted, again in a while."""
        if not self.quotas or self.node.parted:
            self._armed, self._steps = False, None
            return
        if self._steps is None:
            self._steps = self._count()
        done = next(self._steps, self) is self
        if done:
            self._steps = None
        pause_ms = HASTE_MS if self._haste else COUNT_MS
        self.node.timers.after(pause_ms if done else 1, self._step)

    def _hasty(self) -> bool:
        """Whether a bound that refuses may soon be full without this node's knowledge: if each of the others takes as
        much as this one has since they were asked, half of what is left would be gone before they are asked again."""
        if self.node.alone:
            return False
        nodes, since_ms, hasty = len(self.node.image.brokers), self.sizes.since_ms(), False
        for key, quota in self.quotas.items():
            self._grown[key] = grown = self._grown.get(key, 0) + quota.appended
            if quota.rejects and grown and 2 * nodes * grown * ASK_MS >= (quota.limit - quota.total) * since_ms:
                hasty = True
        return hasty

    def _count(self) -> Iterator[None]:
        """Count all of them, a number of partitions at a time, and make room where there is too much."""
        quotas = list(self.quotas.items())
        self._haste = self._hasty()
        patience_ms = HASTE_MS if self._haste else COUNT_MS if self._dropped else ASK_MS
        if self.sizes.ask([name for _, quota in quotas for name in quota.topics], patience_ms):
            self._grown = {}
        for key, quota in quotas:
            names = [name for name in quota.topics if name in self.node.topics]
            quota.topics = dict.fromkeys(names)
            if not names:
                self.quotas.pop(key, None)
                self._dropped.pop(key, None)
                continue
            quota.begin_count()
            size, led = 0, []
            for name in names:
                self._follow(name)
                for partition in self._led(name):
                    size += partition.log.size_bytes
                    led.append(partition)
                    if len(led) % PARTITIONS_PER_STEP == 0:
                        yield
            quota.counted(size)
            quota.elsewhere = self.sizes.elsewhere(names)
            if quota.total > quota.limit - quota.limit // PARTS:
                yield from self._retain(led, quota.limit // max(1, len(led)))
                if quota.total > quota.limit and not quota.rejects and self._know(key, quota):
                    self._drop(quota, led)
                    self._dropped[key] = self.node.clock.monotonic_ms()
            if quota.total <= quota.limit:
                self._dropped.pop(key, None)
            self._tell(key, quota)
            yield

    def _know(self, key: str, quota: Quota) -> bool:
        """Whether it is known what others hold now: they have dropped their share, too, since this node did. Who says
        nothing for long is not waited for."""
        dropped_ms = self._dropped.get(key)
        if dropped_ms is None or not quota.elsewhere:
            return True
        told = self.sizes.told_ms >= dropped_ms + COUNT_MS
        return told or self.node.clock.monotonic_ms() >= dropped_ms + SILENT_MS

    def _follow(self, topic: str) -> None:
        """What leaders have let go of goes here, too, before retention would look."""
        state = self.node.topics.get(topic)
        for partition in state.partitions if state is not None else ():
            if partition is None or partition.leading or partition.closed or partition.offline:
                continue
            held = partition.log
            items = held.segments.items
            if len(items) > 1 and items[1].base_offset <= held.start_offset:
                try:
                    self.node.housekeeping.retain((topic, partition.index))
                except DiskFullError:
                    pass
                except DiskError as error:
                    self.node.storage_broke(error, held.disk)

    def _led(self, topic: str) -> list[Partition]:
        state = self.node.topics.get(topic)
        found = state.partitions if state is not None else []
        return [one for one in found if one is not None and one.leading and not one.closed and not one.offline]

    def _tell(self, key: str, quota: Quota) -> None:
        """Once when it begins to refuse."""
        if quota.refused == 0 or quota.total < quota.limit - quota.limit // PARTS:
            self._told.pop(key, None)
            quota.refused = 0
        elif key not in self._told:
            self._told[key] = quota.refused
            self.node.dispatcher.complain(
                f"{quota.subject}: {quota.total} of {quota.limit} bytes are used ({quota.setting}); producers get "
                "POLICY_VIOLATION until records are deleted or the bound is raised"
            )

    # --- making room -------------------------------------------------------------------------------------------------

    def _retain(self, led: list[Partition], share: int) -> Iterator[None]:
        """Near the bound retention does not wait for its turn. Active segments are rolled early, so that something can
        go without everything going; and at once where all that is in them was deleted."""
        at = max(ROLL_BYTES_LEAST, share // PARTS)
        for number, partition in enumerate(led):
            held = partition.log
            deleted = held.active.size > 0 and held.start_offset == held.end_offset
            drops = held.active.size >= at and not all(quota.rejects for quota in partition.quotas)
            try:
                if (deleted or drops) and held.written_end == held.end_offset:
                    held.roll()
                    partition.flush_soon()
                self.node.housekeeping.retain((partition.topic, partition.index))
            except DiskFullError:
                pass
            except DiskError as error:
                self.node.storage_broke(error, held.disk)
            if number % PARTITIONS_PER_STEP == PARTITIONS_PER_STEP - 1:
                yield

    def _drop(self, quota: Quota, led: list[Partition]) -> None:
        """Drop this node's share of what is too much: the oldest segments, by their newest record."""
        quota.counted(sum(partition.log.size_bytes for partition in led))
        excess = (quota.total - quota.limit) * quota.used // max(1, quota.total)
        heap: list[tuple[int, int]] = []
        for number, partition in enumerate(led):
            self._offer(heap, number, partition)
        while heap and excess > 0:
            number = heappop(heap)[1]
            partition = led[number]
            oldest = droppable(partition)
            assert oldest is not None
            try:
                partition.log.delete_segments([oldest])
            except DiskFullError:
                return
            except DiskError as error:
                self.node.storage_broke(error, partition.log.disk)
                return
            excess -= oldest.size
            quota.used -= oldest.size
            partition.wake_fetches()
            self._offer(heap, number, partition)

    def _offer(self, heap: list[tuple[int, int]], number: int, partition: Partition) -> None:
        """Its oldest segment is one that could go; not if nobody can tell how old it is."""
        oldest = droppable(partition)
        if oldest is None:
            return
        try:
            heappush(heap, (oldest.newest_timestamp(), number))
        except DiskError as error:
            self.node.storage.suspect(error, partition.log.disk)


def droppable(partition: Partition) -> Segment | None:
    """Its oldest segment, if that is not the one being written and everything in it is committed."""
    items = partition.log.segments.items
    if len(items) > 1 and items[1].base_offset <= partition.high_watermark:
        return items[0]
    return None
