"""A consumer of the simulated cluster that follows a topic all its life and remembers everything it saw."""

from __future__ import annotations

from typing import Any, Final

from tapelog.sim.reading import READ_COMMITTED, take
from tapelog.sim.routing import Router
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic

FETCH_BYTES: Final = 5000
WAIT_MS: Final = 500
PATIENCE: Final = frozenset(
    int(code)
    for code in (
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)


class Follower:
    """One consumer of either isolation level, over all partitions of a topic; one fetch per leader at a time."""

    def __init__(self, topic: str, partitions: int, router: Router, *, committed: bool) -> None:
        self.topic = topic
        self.router = router
        self.committed = committed
        self.seen: list[list[tuple[int, bytes]]] = [[] for _ in range(partitions)]
        self.positions = [0] * partitions
        self._busy: dict[int, bool] = {}

    def push(self) -> None:
        """Ask every leader for more, unless that is under way."""
        by_leader: dict[int, list[int]] = {}
        for index in range(len(self.positions)):
            leader = self.router.leader_of(self.topic, index)
            if leader is not None:
                by_leader.setdefault(leader, []).append(index)
        for leader, indexes in by_leader.items():
            if leader not in self._busy:
                self._busy[leader] = True
                self._fetch(leader, indexes)

    def disconnected(self) -> None:
        """Nothing to do: the router knows."""

    def _fetch(self, leader: int, indexes: list[int]) -> None:
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20, session_epoch=-1)
        request.isolation_level = READ_COMMITTED if self.committed else 0
        asked = {index: self.positions[index] for index in indexes}
        parts = [
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
            for index, offset in asked.items()
        ]
        request.topics = [FetchTopic(topic=self.topic, partitions=parts)]

        def done(response: Any) -> None:
            self._busy.pop(leader, None)
            if response is None:
                for index in asked:
                    self.router.forget(("leader", self.topic, index))
                return
            for data in response.responses[0].partitions if response.responses else []:
                self._take(data, asked[data.partition_index])

        self.router.send(request, 12, done)

    def _take(self, data: Any, asked: int) -> None:
        index = data.partition_index
        if data.error_code:
            assert data.error_code in PATIENCE, (
                f"a consumer of {self.topic}-{index} at {self.positions[index]} got {ErrorCode(data.error_code).name}"
            )
            self.router.forget(("leader", self.topic, index))
        elif data.records is not None and asked == self.positions[index]:
            self.positions[index] = take(data.records.tobytes(), asked, data, self.seen[index])
