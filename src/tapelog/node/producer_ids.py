"""Producer ids of this node: a block at a time from the controller, one at a time to whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

Done = Callable[[int | KafkaError], None]

TIMEOUT_MS: Final = 10_000
LATER: Final = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED, ErrorCode.REQUEST_TIMED_OUT)
"""What passes by itself, and is told to producers as such."""


class ProducerIds:
    """Asks for the next block when the last id of one is given out; ids of a block that a crash ends are lost."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._next = 0
        self._end = 0
        self._waiting: list[Done] = []

    def next(self, done: Done) -> None:
        """An id that was never given out before."""
        if self._next < self._end:
            self._next += 1
            done(self._next - 1)
            return
        self._waiting.append(done)
        if len(self._waiting) == 1:
            from tapelog.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest

            request = AllocateProducerIdsRequest(
                broker_id=self.node.node_id, broker_epoch=self.node.metadata.broker_epoch
            )
            self.node.to_controller(request, 0, TIMEOUT_MS, self._allocated)

    def _allocated(self, response: Message | KafkaError) -> None:
        from tapelog.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse

        waiting, self._waiting = self._waiting, []
        if isinstance(response, AllocateProducerIdsResponse) and not response.error_code:
            self._next = response.producer_id_start
            self._end = response.producer_id_start + response.producer_id_len
            for done in waiting:
                self.next(done)
            return
        for done in waiting:
            done(_refusal(response))


def _refusal(response: Message | KafkaError) -> KafkaError:
    refusal = response if isinstance(response, KafkaError) else KafkaError(ErrorCode(_code(response)), "")
    if refusal.code in LATER:
        return KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "no block of producer ids yet")
    return refusal


def _code(response: Message) -> int:
    return int(getattr(response, "error_code", -1))
