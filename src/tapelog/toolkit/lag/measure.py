"""Asks a cluster how far groups are behind. Works for every kind of group that commits offsets: classic, consumer
(KIP-848), and simple ones that only commit; offsets from elsewhere (a share group's) can be given.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from tapelog.toolkit.clients import Cluster, cluster_config
from tapelog.toolkit.lag.clients import (
    EARLIEST,
    LATEST,
    ask_offsets,
    existing,
    note_of,
    result,
    told_offsets,
)
from tapelog.toolkit.lag.oldest import READ_S_MAX, OldestReader
from tapelog.toolkit.lag.values import Committed, GroupLag, Isolation, Oldest, PartitionLag, Place
from tapelog.wire.sink_markers import holds_markers, may_hold_markers

TIMEOUT_S = 10.0
GROUPS_AT_ONCE_MAX = 100


class LagReader:
    """Answers lag questions about one cluster over connections that stay open. One thread at a time.

    `isolation` says how the groups read. Every method raises KafkaException when the cluster refuses or is silent.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        isolation: Isolation = "read_committed",
        timeout_s: float = TIMEOUT_S,
        read_s_max: float = READ_S_MAX,
        admin: AdminClient | None = None,
    ) -> None:
        self.admin = AdminClient(cluster_config(cluster)) if admin is None else admin
        self.isolation: Isolation = isolation
        self.timeout_s = timeout_s
        self._read_s_max = read_s_max
        self._oldest = OldestReader(cluster, isolation)

    def __enter__(self) -> LagReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._oldest.close()

    def groups(self, *, markers: bool = False) -> list[str]:
        """The ids of all groups, sorted; those that hold markers of Spark's sink only if they are wanted."""
        listed = result(self.admin.list_consumer_groups(request_timeout=self.timeout_s), self.timeout_s)
        found = sorted(entry.group_id for entry in listed.valid or ())
        held = set() if markers else self.marker_groups(found)
        return [group for group in found if group not in held]

    def marker_groups(self, groups: Iterable[str]) -> set[str]:
        """Which of these hold markers of Spark's exactly-once sink and nothing else: nobody reads through them.

        Groups that are not named like one cost no question.
        """
        asked = self.committed(group for group in groups if may_hold_markers(group))
        return {group for group, offsets in asked.items() if _marks(group, offsets)}

    def committed(self, groups: Iterable[str]) -> dict[str, dict[Place, Committed]]:
        """What groups have committed, by partition, in order. An unknown group has committed nothing."""
        wanted, found = list(dict.fromkeys(groups)), dict[str, dict[Place, Committed]]()
        for begin in range(0, len(wanted), GROUPS_AT_ONCE_MAX):
            futures = {group: self._ask_committed(group) for group in wanted[begin : begin + GROUPS_AT_ONCE_MAX]}
            for group, future in futures.items():
                parts = result(future, self.timeout_s).topic_partitions or ()
                for part in parts:
                    if part.error is not None:
                        raise KafkaException(part.error)
                found[group] = {
                    (part.topic, part.partition): Committed(part.offset, part.leader_epoch, note_of(part))
                    for part in sorted(parts, key=lambda part: (part.topic, part.partition))
                    if part.offset >= 0
                }
        return found

    def _ask_committed(self, group: str) -> Any:
        request = [ConsumerGroupTopicPartitions(group)]
        return self.admin.list_consumer_group_offsets(request, request_timeout=self.timeout_s)[group]

    def measure(
        self, groups: Iterable[str], more: Mapping[str, Collection[Place]] | None = None
    ) -> dict[str, GroupLag]:
        """The lag of these groups; `more` adds partitions by group that are assigned and perhaps never committed."""
        return self.lag_of(self.committed(groups), more)

    def lag_of(
        self, committed: Mapping[str, Mapping[Place, Committed]], more: Mapping[str, Collection[Place]] | None = None
    ) -> dict[str, GroupLag]:
        """The lag of groups whose offsets are given."""
        extra = more or {}
        places = {group: sorted({*offsets, *extra.get(group, ())}) for group, offsets in committed.items()}
        there, _ = existing(self.admin, (place for part in places.values() for place in part), self.timeout_s)
        bounds = self.bounds(there)
        first = {
            group: [self._partition(place, committed[group].get(place), bounds) for place in part if place in bounds]
            for group, part in places.items()
        }
        stamps = self._oldest.read(
            (
                ((lag.topic, lag.partition), lag.next_offset or 0)
                for part in first.values()
                for lag in part
                if lag.records
            ),
            self._read_s_max,
        )
        now_ms = round(time.time() * 1000)
        return {
            group: GroupLag(
                group,
                tuple(with_oldest(lag, stamps, now_ms) for lag in lags),
                tuple(place for place in places[group] if place not in bounds),
                _marks(group, committed[group]),
            )
            for group, lags in first.items()
        }

    def bounds(self, places: Iterable[Place]) -> dict[Place, tuple[int, int, int]]:
        """Partition → (start, end that may be read, high watermark), for partitions that answer."""
        wanted = list(places)
        other: Isolation = "read_uncommitted"
        if not wanted:
            return {}
        asked = [
            ask_offsets(self.admin, dict.fromkeys(wanted, EARLIEST), other, self.timeout_s),
            ask_offsets(self.admin, dict.fromkeys(wanted, LATEST), self.isolation, self.timeout_s),
            ask_offsets(self.admin, dict.fromkeys(wanted, LATEST), other, self.timeout_s)
            if self.isolation != other
            else None,
        ]
        starts, ends, *tops = (told_offsets(one, self.timeout_s) for one in asked if one is not None)
        marks = tops[0] if tops else ends
        return {
            place: (starts[place], ends[place], max(ends[place], marks[place]))
            for place in wanted
            if place in starts and place in ends and place in marks
        }

    @staticmethod
    def _partition(
        place: Place, committed: Committed | None, bounds: Mapping[Place, tuple[int, int, int]]
    ) -> PartitionLag:
        start, end, mark = bounds[place]
        if committed is None:
            return PartitionLag(*place, None, start, end, mark - end)
        return PartitionLag(
            *place,
            committed.offset,
            start,
            end,
            mark - end,
            metadata=committed.metadata,
            leader_epoch=committed.leader_epoch,
        )


def _marks(group: str, offsets: Mapping[Place, Committed]) -> bool:
    """Whether all that a group has committed are markers of Spark's sink."""
    return holds_markers(group, (one.metadata for one in offsets.values()))


def with_oldest(lag: PartitionLag, found: Mapping[tuple[Place, int], Oldest], now_ms: int) -> PartitionLag:
    """The same lag with its oldest unread record. One that was written after the ends were asked does not count."""
    oldest = found.get(((lag.topic, lag.partition), lag.next_offset or 0)) if lag.records else None
    if oldest is not None and oldest.offset >= lag.end:
        oldest = Oldest(lag.end, is_end=True)
    elif oldest is not None and oldest.is_end:
        oldest = None  # an end before the end: the log was truncated meanwhile
    return replace(lag, oldest=oldest, measured_ms=now_ms)


def group_lags(
    cluster: Cluster,
    groups: Iterable[str] | None = None,
    *,
    isolation: Isolation = "read_committed",
    timeout_s: float = TIMEOUT_S,
) -> dict[str, GroupLag]:
    """The lag of several groups, measured together; unless named, of all that read (not of those that hold markers of
    Spark's sink)."""
    with LagReader(cluster, isolation=isolation, timeout_s=timeout_s) as reader:
        return reader.measure(reader.groups() if groups is None else groups)


def group_lag(
    cluster: Cluster, group: str, *, isolation: Isolation = "read_committed", timeout_s: float = TIMEOUT_S
) -> GroupLag:
    """How far one group is behind, by partition, in records and in seconds. KafkaException if the cluster refuses."""
    return group_lags(cluster, [group], isolation=isolation, timeout_s=timeout_s)[group]


async def group_lags_async(
    cluster: Cluster,
    groups: Iterable[str] | None = None,
    *,
    isolation: Isolation = "read_committed",
    timeout_s: float = TIMEOUT_S,
) -> dict[str, GroupLag]:
    """`group_lags` without holding up the event loop."""
    wanted = None if groups is None else list(groups)
    return await asyncio.to_thread(group_lags, cluster, wanted, isolation=isolation, timeout_s=timeout_s)


async def group_lag_async(
    cluster: Cluster, group: str, *, isolation: Isolation = "read_committed", timeout_s: float = TIMEOUT_S
) -> GroupLag:
    """`group_lag` without holding up the event loop."""
    return await asyncio.to_thread(group_lag, cluster, group, isolation=isolation, timeout_s=timeout_s)
