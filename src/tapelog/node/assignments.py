"""Tells the controller in which directory the replicas held here are, where the image says something else.

The controller mostly knows: a broker with one directory has no choice. It does not where there are several, nor where a
replica was given to a broker that had not registered yet. As long as it does not know, it cannot tell what a failed
directory took with it. Each wake-up's replicas become one AssignReplicasToDirs, one request at a time, asked until it
is answered.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ids import DIR_MIGRATING, DIR_UNASSIGNED
from tapelog.metadata.electorate import directory_of
from tapelog.metadata.image import PartitionImage
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

REPLICAS_PER_REQUEST_MAX: Final = 2250
TIMEOUT_MS: Final = 30_000
RETRY_MS: Final = 500

Key = tuple[bytes, int]
"""Topic id and partition."""


class Assignments:
    """One node's replicas whose directory the image does not have right."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._wanted: dict[Key, None] = {}
        self._asking = False

    def look(self, topic_id: bytes, index: int, partition: PartitionImage) -> None:
        """The image says this of a partition that is held here."""
        own, told = self._own(topic_id, index), directory_of(partition, self.node.node_id)
        if own and told != own:
            only = partition.replicas == (self.node.node_id,) and told not in (DIR_UNASSIGNED, DIR_MIGRATING)
            if only and self.node.directory.named(told) is None:
                self._warn(topic_id, index)
            self._wanted[topic_id, index] = None
            self._later(0)

    def _warn(self, topic_id: bytes, index: int) -> None:
        """The only replica is in another directory than before, which counts as a loss (directories.py)."""
        topic = self.node.image.topics_by_id.get(topic_id)
        held = self.node.directory.logs.get((topic.name, index)) if topic is not None else None
        if topic is not None and held is not None and held.end_offset > held.start_offset:
            log.error(
                "%s-%d is in another log directory than before, and no node has a copy: it gets no leader. If its "
                "files were moved there as they were, elect it: kafka-leader-election.sh --election-type unclean",
                topic.name,
                index,
            )

    def _later(self, delay_ms: int) -> None:
        if not self._asking:
            self._asking = True
            self.node.timers.after(delay_ms, self._ask)

    def _ask(self) -> None:
        from tapelog.wire.messages import assign_replicas_to_dirs_request as asked

        node, self._asking = self.node, False
        keys = [key for key in self._wanted if self._is_wrong(key)][:REPLICAS_PER_REQUEST_MAX]
        if not keys or node.parted:
            self._wanted = {}
            return
        self._asking = True
        where: dict[bytes, dict[bytes, list[asked.PartitionData]]] = {}
        for topic_id, index in keys:
            topics = where.setdefault(self._own(topic_id, index), {})
            topics.setdefault(topic_id, []).append(asked.PartitionData(partition_index=index))
        directories = [
            asked.DirectoryData(
                id=own, topics=[asked.TopicData(topic_id=id, partitions=parts) for id, parts in topics.items()]
            )
            for own, topics in where.items()
        ]
        request = asked.AssignReplicasToDirsRequest(
            broker_id=node.node_id, broker_epoch=node.lifecycle.epoch, directories=directories
        )
        node.to_controller(request, 0, TIMEOUT_MS, lambda told: self._told(keys, told))

    def _told(self, keys: list[Key], response: Message | KafkaError) -> None:
        """What was answered is settled, one way or the other: a later image may bring it up again."""
        self._asking = False
        if isinstance(response, KafkaError):
            self._later(RETRY_MS)
            return
        from tapelog.wire.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse

        assert isinstance(response, AssignReplicasToDirsResponse)
        if response.error_code:
            log.info(
                "the controller does not take the directories of replicas: %s", ErrorCode(response.error_code).name
            )
            self._later(RETRY_MS)
            return
        for key in keys:
            self._wanted.pop(key, None)
        if self._wanted:
            self._later(0)

    def _is_wrong(self, key: Key) -> bool:
        """Whether the image of now still has it wrong: it may have changed while nobody answered."""
        node = self.node
        topic = node.image.topics_by_id.get(key[0])
        partition = topic.partition(key[1]) if topic is not None else None
        if partition is None or node.node_id not in partition.replicas:
            return False
        own = self._own(*key)
        return bool(own) and directory_of(partition, node.node_id) != own

    def _own(self, topic_id: bytes, index: int) -> bytes:
        """The id of the directory that has the replica, or had it when it failed; empty if none has."""
        node = self.node
        topic = node.image.topics_by_id.get(topic_id)
        if topic is None:
            return b""
        home = node.directory.home((topic.name, index))
        return node.storage.lost_homes.get((topic.name, index), b"") if home is None else home.directory_id
