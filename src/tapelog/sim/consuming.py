"""A member of a consumer group in the simulator by the protocol of KIP-848: one heartbeat says and tells everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.sim.membership import LATER, SESSION_MS, Ledger, Member, Part
from tapelog.sim.routing import Router
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

FENCED: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
LEAVES: Final = -1


class Consuming(Member):
    """See the module."""

    def __init__(self, ledger: Ledger, id: str, router: Router, ids: Callable[[str], bytes]) -> None:
        """`ids` knows the id of a topic."""
        super().__init__(ledger, id, router)
        self._ids = ids
        self._say = True
        """What it owns has changed since it last said so, or it does not know whether that was heard."""

    def beat(self) -> None:
        """A heartbeat: what it wants when it joins, what it owns when that is news."""
        joins = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(self.ledger.name, self.id, self.epoch)
        if joins:
            request.rebalance_timeout_ms = SESSION_MS
            request.subscribed_topic_names = sorted({topic for topic, _ in self.ledger.parts})
        if joins or self._say:
            request.topic_partitions = self._owned()
        said, self._say = dict(self.owned), True
        turn = self.epoch

        def done(response: ConsumerGroupHeartbeatResponse) -> None:
            if self.epoch == turn:
                self._answered(response, said)

        self.ask(request, 1, done)

    def leave(self) -> None:
        """The last heartbeat."""
        if self.epoch > 0:
            request = ConsumerGroupHeartbeatRequest(self.ledger.name, self.id, LEAVES)
            self.ask(request, 1, lambda _: None)
        super().leave()

    def _owned(self) -> list[TopicPartitions]:
        topics: dict[str, list[int]] = {}
        for topic, index in self.owned:
            topics.setdefault(topic, []).append(index)
        return [TopicPartitions(self._ids(topic), sorted(indexes)) for topic, indexes in sorted(topics.items())]

    def _answered(self, response: ConsumerGroupHeartbeatResponse, said: dict[Part, None]) -> None:
        code = response.error_code
        if code in FENCED:
            self.fenced()
        elif code == 0:
            parts = list(self.owned)
            if response.assignment is not None:
                names = {self._ids(topic): topic for topic, _ in self.ledger.parts}
                parts = [
                    (names[topic.topic_id], index)
                    for topic in response.assignment.topic_partitions
                    for index in topic.partitions
                ]
            self.given(response.member_epoch, parts)
            self._say = list(said) != parts
            if self._say:
                self.soon()
        else:
            assert code in LATER, f"{self.ledger.name}: a heartbeat got {ErrorCode(code).name}"
