"""A cluster as planning sees it, by the client's metadata and offsets. What does not exist is left out of answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from tapelog.client import metadata, offsets
from tapelog.client.cluster import Cluster
from tapelog.client.errors import UnknownTopicError
from tapelog.client.metadata import TopicInfo
from tapelog.client.pool import lend
from tapelog.client.settings import ConnectionSettings
from tapelog.spark.plan.history import cut_by_objects, with_history
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.stored import History
from tapelog.spark.plan.tasks import Task, tasks_beside_stored
from tapelog.spark.plan.values import Offsets, Plan, Range, TopicPartition, Weights, placed
from tapelog.spark.plan.view import Isolation
from tapelog.spark.source.weights import weights_of

LEVELS: Mapping[Isolation, int] = {
    "read_uncommitted": offsets.READ_UNCOMMITTED,
    "read_committed": offsets.READ_COMMITTED,
}

_FIRST_EPOCH: Final = 0


class ClusterView:
    """`plan.View` of a cluster that was lent. Each `partitions` asks about the topics anew, so that new ones show."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ids: dict[str, bytes] = {}
        """What each topic's id was when this view first asked about it."""
        self._has_looked = False

    def topics(self) -> Iterable[str]:
        """The names of all topics that are not internal."""
        return [info.name for info in self._cluster.all_topics() if not info.internal]

    def ids(self, topics: Sequence[str]) -> Mapping[str, bytes]:
        """The ids of those topics that exist. If one is made anew while this view asks, the id is the older one: then
        tasks find another one, and do not read."""
        self._note(self._cluster.existing([name for name in topics if name not in self._ids]))
        return {name: self._ids[name] for name in topics if name in self._ids}

    def partitions(self, topics: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """The partitions of those topics that exist."""
        if self._has_looked:
            self._cluster.forget_topics()
        self._has_looked = True
        found = self._infos(topics)
        return {name: [one.partition for one in info.partitions] for name, info in found.items()}

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """The first offset of each partition."""
        return _planned(offsets.earliest(self._cluster, self._existing(partitions)))

    def latest(self, partitions: Sequence[TopicPartition], isolation: Isolation) -> Offsets:
        """The offset after the last one that may be read."""
        return _planned(offsets.latest(self._cluster, self._existing(partitions), LEVELS[isolation]))

    def uncut_ends(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """Where those partitions end that have had the same leader since they were made."""
        asked = dict.fromkeys(self._existing(partitions), offsets.LATEST)
        found = offsets.list_offsets(self._cluster, asked)
        return _planned({of: one.offset for of, one in found.items() if one.leader_epoch == _FIRST_EPOCH})

    def for_times(self, times: Mapping[TopicPartition, int], isolation: Isolation) -> Offsets:
        """The first offset as young as that; absent where there is none."""
        asked = {of: times[TopicPartition(*of)] for of in self._existing(list(times))}
        found = offsets.for_times(self._cluster, asked, LEVELS[isolation])
        return _planned({of: offset for of, offset in found.items() if offset is not None})

    def weights(self, partitions: Iterable[TopicPartition]) -> Weights:
        """Bytes per offset, as far as the brokers tell."""
        return weights_of(self._cluster, partitions)

    def stocked(self, plan: Plan, options: ReadOptions) -> Sequence[Range]:
        """The plan's ranges with what a tier holds of them; in a stream, each is a task."""
        shelves = self._shelves(plan, options)
        return [with_history(piece, shelves.get(piece.of)) for piece in plan.ranges]

    def tasks(self, plan: Plan, options: ReadOptions, slots: int | None) -> Sequence[Task]:
        """What each task of a batch reads: by bytes, unless the options say how to cut; those did it in the plan."""
        is_cut = options.repeatable or options.min_partitions is not None or options.max_records is not None
        if is_cut or not plan.ranges:
            pieces = placed(self.stocked(plan, options), plan.empty)
            return [() if piece is None else (piece,) for piece in pieces]
        cut = cut_by_objects(self.stocked(plan, options))
        fetched = dict.fromkeys(piece.of for piece in cut if piece.history is None)
        return tasks_beside_stored(cut, self.weights(fetched) if fetched else {}, slots)

    def _shelves(self, plan: Plan, options: ReadOptions) -> Mapping[TopicPartition, History]:
        if options.tier is None:
            return {}
        from tapelog.spark.history.planning import shelves_of  # loads what only a tier needs

        return shelves_of(self._cluster, options, plan.ranges)

    def _infos(self, topics: Sequence[str]) -> dict[str, TopicInfo]:
        try:
            return self._note(self._cluster.topics(topics))
        except UnknownTopicError:
            if len(topics) <= 1:
                return {}
        found: dict[str, TopicInfo] = {}
        for name in topics:
            found |= self._infos([name])
        return found

    def _note(self, told: dict[str, TopicInfo]) -> dict[str, TopicInfo]:
        for info in told.values():
            if info.has_id:
                self._ids.setdefault(info.name, info.topic_id)
        return told

    def _existing(self, partitions: Sequence[TopicPartition]) -> list[metadata.TopicPartition]:
        infos = self._infos(list(dict.fromkeys(of.topic for of in partitions)))
        return [
            metadata.TopicPartition(*of)
            for of in partitions
            if of.topic in infos and infos[of.topic].find(of.partition) is not None
        ]


def _planned(found: Mapping[metadata.TopicPartition, int]) -> dict[TopicPartition, int]:
    return {TopicPartition(*of): offset for of, offset in found.items()}


@contextmanager
def view_of(settings: ConnectionSettings) -> Iterator[ClusterView]:
    """A view for the length of a `with`; connections are kept for the next one, what is known of topics is not."""
    with lend(settings) as cluster:
        cluster.forget_topics()
        yield ClusterView(cluster)
