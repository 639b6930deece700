"""A consumer of the simulated cluster that follows a topic all its life and remembers everything it saw.

It may have a rack: then it reads where its leader sends it, for a while or until that goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.sim.reading import READ_COMMITTED, take
from tapelog.sim.routing import Router
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic

FETCH_BYTES: Final = 5000
WAIT_MS: Final = 500
NEAREST_MS: Final = 3000
"""How long a consumer reads from a follower before it asks the leader again."""
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
    """One consumer of either isolation level, over all partitions of a topic; one fetch per node at a time."""

    def __init__(self, topic: str, partitions: int, router: Router, *, committed: bool, rack: str = "") -> None:
        self.topic = topic
        self.router = router
        self.committed = committed
        self.rack = rack
        self.seen: list[list[tuple[int, bytes]]] = [[] for _ in range(partitions)]
        self.positions = [0] * partitions
        self.end_of: Callable[[str, int], int] | None = None
        """What the cluster as a whole has committed of a partition: nobody may see more."""
        self.elsewhere = 0
        """How many records it got from followers."""
        self._busy: dict[int, bool] = {}
        self._nearest: dict[int, tuple[int, int]] = {}
        """By partition: from which node to read, and until when."""

    def push(self) -> None:
        """Ask every node for more that has something, unless that is under way."""
        by_node: dict[int, list[int]] = {}
        for index in range(len(self.positions)):
            node = self._node(index)
            if node is not None:
                by_node.setdefault(node, []).append(index)
        for node, indexes in by_node.items():
            if node not in self._busy:
                self._busy[node] = True
                self._fetch(node, indexes)

    def disconnected(self) -> None:
        """Nothing to do: the router knows."""

    def _node(self, index: int) -> int | None:
        nearest = self._nearest.get(index)
        if nearest is not None:
            if nearest[1] > self.router.world.now_ms:
                return nearest[0]
            del self._nearest[index]
        return self.router.leader_of(self.topic, index)

    def _fetch(self, node: int, indexes: list[int]) -> None:
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20, session_epoch=-1)
        request.isolation_level = READ_COMMITTED if self.committed else 0
        request.rack_id = self.rack
        asked = {index: self.positions[index] for index in indexes}
        parts = [
            FetchPartition(
                partition=index,
                current_leader_epoch=self.router.epochs.get(("leader", self.topic, index), -1),
                fetch_offset=offset,
                partition_max_bytes=FETCH_BYTES,
            )
            for index, offset in asked.items()
        ]
        request.topics = [FetchTopic(topic=self.topic, partitions=parts)]

        def done(response: Any) -> None:
            self._busy.pop(node, None)
            if response is None:
                for index in asked:
                    self._lost(index)
                return
            for data in response.responses[0].partitions if response.responses else []:
                self._take(data, asked[data.partition_index], node)

        self.router.send_to(node, request, 12, done)

    def _lost(self, index: int) -> None:
        """Back to the leader, whoever that is."""
        self._nearest.pop(index, None)
        self.router.forget(("leader", self.topic, index))

    def _take(self, data: Any, asked: int, node: int) -> None:
        index = data.partition_index
        if data.error_code:
            assert data.error_code in PATIENCE, (
                f"a consumer of {self.topic}-{index} at {self.positions[index]} got {ErrorCode(data.error_code).name}"
            )
            self._lost(index)
        elif data.preferred_read_replica >= 0:
            assert self.rack, "nobody asked to be sent elsewhere"
            self._nearest[index] = data.preferred_read_replica, self.router.world.now_ms + NEAREST_MS
        elif data.records is not None and asked == self.positions[index]:
            before = len(self.seen[index])
            self.positions[index] = take(data.records.tobytes(), asked, data, self.seen[index])
            if index in self._nearest:
                self.elsewhere += len(self.seen[index]) - before
            if self.end_of is not None:
                end = self.end_of(self.topic, index)
                assert self.positions[index] <= end, (
                    f"a consumer saw {self.topic}-{index} up to {self.positions[index]}, committed was {end} (n{node})"
                )
