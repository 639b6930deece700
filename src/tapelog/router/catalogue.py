"""What the router knows of the cluster: nodes, who leads which partition, who coordinates which group, who serves what.

Everything here is learned from answers of the cluster and may be out of date: then a node refuses, the client asks for
metadata or for its coordinator again, and those answers pass through here and are learned.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from functools import reduce

from tapelog.router.frames import decoded, request_frame
from tapelog.router.upstream import Lane, NodeLostError
from tapelog.wire.api_keys import ApiKey
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tapelog.wire.values import ZERO_UUID

CLIENT_ID = "tape-router"
METADATA_VERSION = 12
FIND_VERSION = 4
ASK_S_MAX = 3.0
"""How long a node may take to answer the router itself; then the next one is asked."""
FRESH_S = 0.1
"""A topic that was asked for so recently is not asked for again."""
COORDINATORS_MAX = 100_000
GROUP, TRANSACTION = 0, 1

Address = tuple[str, int]
Key = str | bytes
"""A topic by name, or by id in versions that name it so."""


class ClusterLostError(Exception):
    """No node of the cluster answers."""


class Catalogue:
    """One per router; sessions share it."""

    def __init__(self, bootstrap: Sequence[Address]) -> None:
        self.bootstrap = list(bootstrap)
        self.cluster_id: str | None = None
        self.nodes: dict[int, Address] = {}
        self.versions: dict[int, tuple[int, int]] = {}
        self.features = ApiVersionsResponse()
        self._leaders: dict[str, dict[int, tuple[int, int]]] = {}
        self._names: dict[bytes, str] = {}
        self._ids: dict[str, bytes] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._asked: dict[Key, float] = {}
        self._lane: Lane | None = None
        self._lock = asyncio.Lock()
        self._correlation = 0

    # -- asking

    async def ask(self, request: Message, version: int) -> Message:
        """Ask any node. ClusterLostError if none answers."""
        async with self._lock:
            for address in [*self.nodes.values(), *self.bootstrap]:
                try:
                    if self._lane is None or self._lane.closed:
                        self._lane = await Lane.open(*address)
                    return await self._ask(self._lane, request, version)
                except (NodeLostError, TimeoutError):
                    if self._lane is not None:
                        self._lane.close()
                    self._lane = None
        raise ClusterLostError

    async def _ask(self, lane: Lane, request: Message, version: int) -> Message:
        self._correlation += 1
        frame = request_frame(request, version, self._correlation, CLIENT_ID)
        payload = await asyncio.wait_for(lane.send(frame), ASK_S_MAX)
        answer = decoded(payload, request.API_KEY, version)
        assert isinstance(answer, Message)
        return answer

    async def refresh(self) -> None:
        """Nodes, and when there are others than before what all of them serve. ClusterLostError if none answers."""
        before = list(self.nodes) if self.versions else []
        told = await self.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False), METADATA_VERSION)
        assert isinstance(told, MetadataResponse)
        self.learn(told)
        if any(node not in before for node in self.nodes):
            await self._refresh_versions()

    async def _refresh_versions(self) -> None:
        found = [await self._served_by(address) for address in list(self.nodes.values())]
        answered = [offered for offered in found if offered is not None]
        if answered:
            self.versions = reduce(_intersection, answered)

    async def _served_by(self, address: Address) -> dict[int, tuple[int, int]] | None:
        """What a node serves; None if it does not answer. The features of the cluster come along."""
        try:
            lane = await Lane.open(*address)
        except NodeLostError:
            return None
        try:
            answer = await self._ask(lane, ApiVersionsRequest(), 0)
            assert isinstance(answer, ApiVersionsResponse)
            offered = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            _, high = offered.get(ApiKey.API_VERSIONS, (0, 0))
            if high >= 3:
                features = await self._ask(lane, ApiVersionsRequest(CLIENT_ID, "1"), min(high, 4))
                assert isinstance(features, ApiVersionsResponse)
                self.features = features
            return offered
        except (NodeLostError, TimeoutError):
            return None
        finally:
            lane.close()

    # -- nodes and leaders

    def learn(self, told: MetadataResponse) -> None:
        """Nodes and leaders of a Metadata answer."""
        if told.brokers:
            self.nodes = {one.node_id: (one.host, one.port) for one in told.brokers}
            self.cluster_id = told.cluster_id or self.cluster_id
        for topic in told.topics:
            self._learn_topic(topic)

    def _learn_topic(self, topic: MetadataResponseTopic) -> None:
        name = topic.name
        if not name or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if name:
                self._forget(name)
            return
        if topic.error_code:
            return
        if topic.topic_id != ZERO_UUID and self._ids.get(name) != topic.topic_id:
            self._forget(name)
            self._ids[name], self._names[topic.topic_id] = topic.topic_id, name
        known = self._leaders.setdefault(name, {})
        for part in topic.partitions:
            epoch, _ = known.get(part.partition_index, (-1, -1))
            if part.leader_epoch < 0 or part.leader_epoch >= epoch:  # nodes that lag behind tell old news
                known[part.partition_index] = part.leader_epoch, part.leader_id

    def _forget(self, name: str) -> None:
        self._leaders.pop(name, None)
        self._names.pop(self._ids.pop(name, b""), None)

    def leader(self, topic: Key, partition: int) -> int:
        """Who leads it, as far as known; -1 otherwise."""
        name = self._names.get(topic, "") if isinstance(topic, bytes) else topic
        return self._leaders.get(name, {}).get(partition, (-1, -1))[1]

    def knows(self, topic: Key) -> bool:
        """Whether the topic exists, as far as known."""
        return topic in (self._names if isinstance(topic, bytes) else self._leaders)

    async def locate(self, wanted: Iterable[tuple[Key, int]]) -> None:
        """Learn about partitions whose leader is not known; those asked for a moment ago are left alone."""
        now = time.monotonic()
        missing = list(dict.fromkeys(key for key, part in wanted if self.leader(key, part) not in self.nodes))
        asked = [key for key in missing if now - self._asked.get(key, -FRESH_S) >= FRESH_S]
        if not asked:
            return
        if len(self._asked) > COORDINATORS_MAX:
            self._asked.clear()
        self._asked |= dict.fromkeys(asked, now)
        topics = [
            MetadataRequestTopic(topic_id=key, name=None) if isinstance(key, bytes) else MetadataRequestTopic(name=key)
            for key in asked
        ]
        told = await self.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), METADATA_VERSION)
        assert isinstance(told, MetadataResponse)
        self.learn(told)

    def learn_leader(self, topic: Key, partition: int, epoch: int, leader: int) -> None:
        """A node that refused has named the leader (KIP-951)."""
        name = self._names.get(topic, "") if isinstance(topic, bytes) else topic
        known = self._leaders.get(name)
        if known is not None and leader in self.nodes and epoch >= known.get(partition, (-1, -1))[0]:
            known[partition] = epoch, leader

    def doubt(self, topic: Key, partition: int) -> None:
        """A node says it does not lead this: ask again before the next request."""
        name = self._names.get(topic, "") if isinstance(topic, bytes) else topic
        known = self._leaders.get(name)
        if known is not None and partition in known:
            known[partition] = known[partition][0], -1

    def doubt_node(self, node: int) -> None:
        """A node does not answer: its partitions may be led by others now, its groups coordinated by others."""
        for known in self._leaders.values():
            for partition, (epoch, leader) in known.items():
                if leader == node:
                    known[partition] = epoch, -1
        self._coordinators = {key: found for key, found in self._coordinators.items() if found != node}

    # -- coordinators

    def learn_coordinators(self, kind: int, told: FindCoordinatorResponse, key: str) -> None:
        """Coordinators of a FindCoordinator answer; `key` is what older versions asked for."""
        if len(self._coordinators) > COORDINATORS_MAX:
            self._coordinators.clear()
        if told.coordinators:
            for one in told.coordinators:
                self._learn_coordinator(kind, one.key, one.node_id, one.error_code, (one.host, one.port))
        else:
            self._learn_coordinator(kind, key, told.node_id, told.error_code, (told.host, told.port))

    def _learn_coordinator(self, kind: int, key: str, node: int, error: int, address: Address) -> None:
        if error or node < 0:
            self._coordinators.pop((kind, key), None)
        else:
            self._coordinators[kind, key] = node
            self.nodes.setdefault(node, address)

    async def coordinator(self, kind: int, key: str) -> int:
        """Who coordinates it; -1 if that is not known at the moment."""
        if (kind, key) not in self._coordinators:
            told = await self.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), FIND_VERSION)
            assert isinstance(told, FindCoordinatorResponse)
            self.learn_coordinators(kind, told, key)
        return self._coordinators.get((kind, key), -1)

    def close(self) -> None:
        """Close the catalogue's own connection."""
        if self._lane is not None:
            self._lane.close()


def _intersection(one: dict[int, tuple[int, int]], other: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    found = {}
    for key, (low, high) in one.items():
        if key in other and max(low, other[key][0]) <= min(high, other[key][1]):
            found[key] = max(low, other[key][0]), min(high, other[key][1])
    return found
