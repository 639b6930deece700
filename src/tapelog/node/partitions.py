"""The partitions this node holds follow the metadata image: created, deleted, led, followed.

The image is the truth: a directory that no topic of the image claims (by name and id) is removed once the image is
complete, a partition without a directory is created. An image may change the role of thousands of partitions: each is
brought to what the newest image says, a bounded number per wake-up, and creating many costs one sync.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log import names
from tapelog.log.config import LogConfig
from tapelog.log.directories import LogDirectories
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.metadata.image import RESOURCE_BROKER, RESOURCE_TOPIC, ConfigKey, PartitionImage, TopicImage
from tapelog.node import twins
from tapelog.node.assignments import Assignments
from tapelog.node.fetchers import Fetchers
from tapelog.node.homes import Absent, Homes
from tapelog.node.roles import Roles
from tapelog.replication.partition import Partition
from tapelog.server.node_api import TopicState
from tapelog.wire.errors import ErrorCode

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

CLUSTER_METADATA: Final = "__cluster_metadata"
PARTITIONS_PER_STEP: Final = 500
PROGRESS_MS: Final = 2_000
"""A start that takes longer says so often how far it is."""
COMPLAIN_MS: Final = 10_000

Key = tuple[bytes, int]
"""Topic id and partition."""


class Partitions:
    """Keeps `node.topics` and the log directories in step with the image."""

    def __init__(self, node: NodeCore, directory: LogDirectories) -> None:
        self.node = node
        self.directory = directory
        node.hub.node_id = node.node_id
        self.fetchers = Fetchers(node)
        self.roles = Roles(node, directory, self.fetchers)
        self.assignments = Assignments(node)
        self.homes = Homes(node)
        self.missing: list[TopicImage] = []
        """Topics whose logs could not be created for want of space; tried again until there is some."""
        self._complain_ms = 0
        self._loaded = False
        self._following = False
        self._seen: dict[bytes, tuple[PartitionImage, ...]] = {}
        self._pending: dict[Key, None] = {}
        self._armed = False

    def open_metadata(self) -> Partition:
        """The log of the cluster's metadata, always there."""
        config = LogConfig(
            {"cleanup.policy": "compact,delete", "retention.ms": "-1", "max.message.bytes": str(8 << 20)}
        )
        config.compact = False
        directory = self.directory
        known = (CLUSTER_METADATA, 0) in directory.logs
        assert not known, "opened twice"
        opened = directory.metadata.open_log(CLUSTER_METADATA, 0, config, _METADATA_TOPIC_ID)
        return Partition(self.node.hub, opened, CLUSTER_METADATA, _METADATA_TOPIC_ID, 0, 0)

    def load(self) -> None:
        """At start, before anybody can reach us: open every log there is, which after a crash reads their tails."""
        self._loaded = True
        self.roles.begin()
        for directory in list(self.directory.items):
            over: Callable[[], None] | None = None
            try:
                keys = [key for key in directory.partitions() if key not in self.directory.twins]
                over = directory.disk.expect([f"{directory.path}/{names.partition_dir(*key)}" for key in keys])
                directory.open_all(self._told(directory, keys), self.roles.config_of)
            except DiskError as error:
                if directory is self.directory.metadata:
                    raise
                self.node.storage_broke(error, directory.disk)
            finally:
                if over is not None:
                    over()
        if self.node.failure is not None:
            raise self.node.failure

    def _told(self, directory: LogDirectory, keys: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        """Its partitions, one by one as they are opened. Where that takes long, it is told how far it is."""
        clock = self.node.clock
        began_ms = told_ms = clock.monotonic_ms()
        for number, key in enumerate(keys):
            now_ms = clock.monotonic_ms()
            if now_ms - told_ms >= PROGRESS_MS:
                told_ms = now_ms
                doing = "opening" if directory.clean else "recovering"
                log.info(
                    "%s %s: %d of %d partitions after %d s",
                    doing,
                    directory.path,
                    number,
                    len(keys),
                    (now_ms - began_ms) // 1000,
                )
            yield key

    def open_all(self) -> None:
        """The image is complete: everything it says this node holds gets its role, everything else goes."""
        if not self._loaded:
            self.load()
        self.fetchers.configured()
        if self.directory.twins:
            twins.settle(self.node, self.roles.config_of)
        if self.directory.offline:
            twins.withhold(self.node)
        self._remove_strays()
        self._mark(self.node.image.topics.values())
        while self._pending:
            self._step(len(self._pending))
        self._following = True

    def create(self, topics: list[TopicImage]) -> None:
        """These topics are new or changed: follow the image, the first of them at once."""
        self._mark(topics)
        if not self._armed:
            self._go_on()

    def again(self, topic: TopicImage, index: int) -> None:
        """Look at a partition once more: what kept it from its role is done."""
        self._pending[topic.id, index] = None
        if not self._armed:
            self._armed = True
            self.node.timers.after(0, self._go_on)

    def retry_missing(self) -> None:
        """Create what a full disk kept from being created, if the topics still exist."""
        missing, self.missing = self.missing, []
        known = [self.node.image.topics_by_id.get(topic.id) for topic in missing]
        self.create([topic for topic in known if topic is not None])

    def remove(self, topics: list[TopicImage]) -> None:
        """Topics that were deleted: everybody who waits is told, the files go."""
        node = self.node
        gone: list[tuple[str, int]] = []
        for topic in topics:
            state = node.topics.pop(topic.name, None)
            node.topics_by_id.pop(topic.id, None)
            self._seen.pop(topic.id, None)
            for partition in state.partitions if state is not None else []:
                if partition is not None:
                    self.roles.end(partition, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            for index in range(len(topic.partitions)):
                held = self.directory.logs.get((topic.name, index))
                if held is not None and held.topic_id in (None, topic.id):
                    gone.append((topic.name, index))
        self._delete(gone)

    def configure(self, changed: Mapping[ConfigKey, None]) -> None:
        """Settings changed: tell the logs they concern."""
        node = self.node
        everything = any(kind == RESOURCE_BROKER for kind, _ in changed)
        self.roles.begin()
        for name, state in node.topics.items():
            if everything or (RESOURCE_TOPIC, name) in changed:
                config = self.roles.config_of(name)
                for partition in state.partitions:
                    if partition is not None:
                        partition.log.update_config(config)
                        partition.use_config()
                        if node.tier is not None:
                            node.tier.configured(partition)
        self.fetchers.configured()

    def all(self) -> list[Partition]:
        """Every partition held here, topics by name."""
        return [
            partition
            for name in sorted(self.node.topics)
            for partition in self.node.topics[name].partitions
            if partition is not None
        ]

    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """For the checkpoint; of logs that have no role yet, what the last one said."""
        held = [partition for partition in self.all() if not partition.offline]
        return self.with_unheld({(partition.topic, partition.index): partition.high_watermark for partition in held})

    def with_unheld(self, marks: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """These high watermarks, and what the last checkpoint said of logs that have no role yet."""
        logs = self.directory.logs
        if len(marks) < len(logs):
            for key, offset in self.directory.high_watermarks.items():
                if key in logs:
                    marks.setdefault(key, offset)
        return marks

    # --- following the image -----------------------------------------------------------------------------------------

    def _mark(self, topics: Iterable[TopicImage]) -> None:
        """Note which partitions changed: images share what did not."""
        for topic in topics:
            seen = self._seen.get(topic.id, ())
            for index, part in enumerate(topic.partitions):
                if index >= len(seen) or part is not seen[index]:
                    self._pending[topic.id, index] = None
            self._seen[topic.id] = topic.partitions
            self._state(topic)

    def _go_on(self) -> None:
        self._armed = False
        self._step(PARTITIONS_PER_STEP)
        if self._pending:
            self._armed = True
            self.node.timers.after(0, self._go_on)

    def _step(self, count: int) -> None:
        """Bring some partitions to what the newest image says of them."""
        self.roles.begin()
        image, me = self.node.image, self.node.node_id
        work: list[tuple[TopicImage, int, PartitionImage]] = []
        for key in list(self._pending)[:count]:
            del self._pending[key]
            topic = image.topics_by_id.get(key[0])
            part = topic.partition(key[1]) if topic is not None else None
            if topic is not None and part is not None:
                work.append((topic, key[1], part))
        self._delete_replaced(work)
        self._create_absent([(topic, index, part) for topic, index, part in work if me in part.replicas])
        gone: list[tuple[str, int]] = []
        for topic, index, part in work:
            state = self._state(topic)
            if me in part.replicas:
                self.roles.take(state, topic, index, part)
                self.assignments.look(topic.id, index, part)
            else:
                held = state.partitions[index]
                state.partitions[index] = None
                if held is not None:
                    self.roles.end(held, int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
                if (topic.name, index) in self.directory.logs:
                    gone.append((topic.name, index))
        self._delete(gone)

    def _state(self, topic: TopicImage) -> TopicState:
        node = self.node
        state = node.topics.get(topic.name)
        if state is None or state.topic_id != topic.id:
            state = node.topics[topic.name] = node.topics_by_id[topic.id] = TopicState(topic.name, topic.id, [])
        while len(state.partitions) < len(topic.partitions):
            state.partitions.append(None)
        return state

    def _delete_replaced(self, work: list[tuple[TopicImage, int, PartitionImage]]) -> None:
        """A log of that name may be left from a topic that was deleted while we were away."""
        logs = self.directory.logs
        keys = [(topic.name, index) for topic, index, _ in work if (topic.name, index) in logs]
        ids = {topic.name: topic.id for topic, _, _ in work}
        self._delete([key for key in keys if logs[key].topic_id not in (None, ids[key[0]])])

    def _create_absent(self, held: list[Absent]) -> None:
        node, config_of = self.node, self.roles.config_of
        absent = [one for one in held if (one[0].name, one[1]) not in self.directory.logs]
        if not absent:
            return
        for directory, wanted in self.homes.plan(absent, starting=not self._following):
            try:
                directory.create_many(NewLog(topic.name, n, topic.id, config_of(topic.name)) for topic, n, _ in wanted)
            except DiskFullError as error:
                self._complain_of_room(error)
                self._create_later(wanted)
            except DiskError as error:
                node.storage_broke(error, directory.disk)
                self._create_later(wanted)

    def _complain_of_room(self, error: DiskFullError) -> None:
        """Not at every one of the attempts, several a second, until there is some."""
        now_ms = self.node.clock.monotonic_ms()
        if now_ms >= self._complain_ms:
            self._complain_ms = now_ms + COMPLAIN_MS
            self.node.dispatcher.complain(f"no room for the logs of new partitions: {error}. Free some space")

    def _create_later(self, wanted: list[Absent]) -> None:
        for topic, _, _ in wanted:
            self._seen.pop(topic.id, None)
            if topic not in self.missing:
                self.missing.append(topic)

    def _remove_strays(self) -> None:
        image, me = self.node.image, self.node.node_id
        strays: list[tuple[str, int]] = []
        for (name, index), held in self.directory.logs.items():
            topic = image.topics.get(name)
            part = topic.partition(index) if topic is not None else None
            if name == CLUSTER_METADATA:
                continue
            if topic is None or part is None or held.topic_id not in (None, topic.id) or me not in part.replicas:
                log.warning("removing %s-%d: the cluster knows no such partition here", name, index)
                strays.append((name, index))
        self._delete(strays)

    def _delete(self, keys: list[tuple[str, int]]) -> None:
        for directory, gone in self.directory.grouped(keys):
            try:
                directory.delete_many(gone)
            except DiskError as error:
                self.node.storage_broke(error, directory.disk)


_METADATA_TOPIC_ID: Final = b"\0" * 15 + b"\1"
