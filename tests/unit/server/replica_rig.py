"""A leader without sockets whose followers are clients: they fetch, and so they claim."""

from __future__ import annotations

from typing import Any

from tapelog.sim.client import SimClient
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tests.support.rig import TOPIC, Rig, produce_request, values_of

ME, OTHER, THIRD = 1, 2, 3
EPOCHS = {ME: 11, OTHER: 12, THIRD: 13}


class Follower:
    """One follower: a session of its own, as a broker would keep it."""

    def __init__(self, rig: LeaderRig, id: int, version: int = 18) -> None:
        self.rig = rig
        self.id = id
        self.version = version
        self.client: SimClient = rig.connect()
        self.session_id = 0
        self.session_epoch = 0

    def request(self, *parts: FetchPartition, **fields: Any) -> FetchRequest:
        """Its next fetch."""
        defaults: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 24}
        request = FetchRequest(**(defaults | fields), session_id=self.session_id, session_epoch=self.session_epoch)
        if self.version >= 15:
            request.replica_state = ReplicaState(replica_id=self.id, replica_epoch=EPOCHS[self.id])
        else:
            request.replica_id = self.id
        if parts:
            named: dict[str, Any] = {"topic_id": self.rig.topic_id()} if self.version >= 13 else {"topic": TOPIC}
            request.topics = [FetchTopic(partitions=list(parts), **named)]
        return request

    def send(self, *parts: FetchPartition, **fields: Any) -> list[FetchResponse]:
        """Fetch; the answer appears in the list."""
        answers = self.rig.later(self.request(*parts, **fields), self.version, self.client)
        if self.session_epoch >= 0:
            self.session_epoch += 1
        return answers

    def fetch(self, *parts: FetchPartition, **fields: Any) -> FetchResponse:
        """Fetch and wait for the answer."""
        answers = self.send(*parts, **fields)
        for _ in range(2000):
            if answers:
                self.session_id = answers[0].session_id
                return answers[0]
            self.rig.node.pass_time(1)
        raise AssertionError("no answer")

    def one(self, offset: int, index: int = 0, **fields: Any) -> PartitionData:
        """Fetch from one partition, naming it; what is told of it."""
        response = self.fetch(at(offset, index, **fields))
        assert response.error_code == 0, response.error_code
        return response.responses[0].partitions[0]

    def forgets(self, index: int) -> FetchRequest:
        """Its next fetch, without that partition."""
        request = self.request()
        request.forgotten_topics_data = [ForgottenTopic(topic_id=self.rig.topic_id(), partitions=[index])]
        return request


class LeaderRig(Rig):
    """A node that leads partitions of a topic whose other replicas are 2 and 3."""

    def __init__(self, partitions: int = 1, isr: tuple[int, ...] = (ME, OTHER, THIRD), **configs: str) -> None:
        super().__init__()
        self.create(partitions=partitions, **configs)
        assert self.node.core is not None
        self.hub = self.node.core.hub
        self.hub.alive = dict(EPOCHS)
        for index in range(partitions):
            self.partition(index=index).lead(1, 1, (ME, OTHER, THIRD), isr, self.clock.monotonic_ms())

    def send(self, *values: bytes, index: int = 0, acks: int = -1) -> list[Any]:
        """Produce without waiting for the answer."""
        request = produce_request((TOPIC, index, self.batch(*values)), acks=acks)
        answers = self.later(request, 9, self.connect())
        self.node.pass_time(20)
        return answers


def at(offset: int, index: int = 0, epoch: int = 1, last: int = -1, max_bytes: int = 1 << 20) -> FetchPartition:
    """One partition of a follower's fetch."""
    return FetchPartition(
        partition=index,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last,
        partition_max_bytes=max_bytes,
        log_start_offset=0,
    )


def told(response: FetchResponse) -> dict[int, tuple[int, list[bytes | None]]]:
    """Of each partition named: high watermark and values."""
    return {
        part.partition_index: (part.high_watermark, values_of(part))
        for topic in response.responses
        for part in topic.partitions
    }
