"""A consumer group (KIP-848) of many members: each gives up what it is told to give up, and says so at once."""

from __future__ import annotations

import uuid

from bench.swarm.links import Link, Swarm, SwarmError
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

HEARTBEAT_S = 0.3


class ConsumerMember:
    """One member, and what it owns."""

    def __init__(self, swarm: Swarm, link: Link, group: str, topic: str) -> None:
        self.swarm, self.link, self.group, self.topic = swarm, link, group, topic
        self.member_id = str(uuid.uuid4())
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self._beat(joining=True)

    @property
    def count(self) -> int:
        """How many partitions it owns."""
        return sum(len(indexes) for indexes in self.owned.values())

    def _beat(self, *, joining: bool = False, tell: bool = False) -> None:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=60_000 if joining else -1,
            subscribed_topic_names=[self.topic] if joining else None,
            topic_partitions=self._owned() if joining or tell else None,
        )
        self.link.ask(request, 1, self._on_answer)

    def _owned(self) -> list[TopicPartitions]:
        return [TopicPartitions(topic_id=key, partitions=indexes) for key, indexes in self.owned.items()]

    def _on_answer(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        code = error_code(answer.error_code)
        if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self.swarm.after(HEARTBEAT_S, lambda: self._beat(joining=self.epoch == 0))
            return
        if code != ErrorCode.NONE:
            raise SwarmError(f"a heartbeat was answered with {code.name}: {answer.error_message}")
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            self.swarm.after(HEARTBEAT_S, self._beat)
            return
        self.owned = {part.topic_id: list(part.partitions) for part in answer.assignment.topic_partitions}
        self._beat(tell=True)


def is_settled(members: list[ConsumerMember], partitions: int) -> bool:
    """Every partition has an owner, nobody has more than one above another, and all are in the same epoch."""
    counts = [member.count for member in members]
    return (
        sum(counts) == partitions and max(counts) - min(counts) <= 1 and len({member.epoch for member in members}) == 1
    )
