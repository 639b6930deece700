"""The transaction gate of a cluster: asks the transaction coordinator, here or on another node.

Implements `coordinators.gate.TransactionGate`. The coordinator is where the partition of `__transaction_state` is led
that owns the transactional id; elsewhere it is asked by AddPartitionsToTxn, many transactions in one request. A
question whose answer is lost is answered with COORDINATOR_NOT_AVAILABLE: adding a partition twice is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.node.gathering import Gathering
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tapelog.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

Place = tuple[str, int]
Codes = dict[Place, ErrorCode]

STATE_TOPIC: Final = "__transaction_state"
VERSION: Final = 5
GATE_CODES: Final = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""What a producer expects where a coordinator's client would get the code on the left: it did not ask the coordinator
itself, so it must not be told to look for another one."""


class Question:
    """May this producer's transaction write to these partitions?"""

    __slots__ = ("add", "done", "partitions", "producer_epoch", "producer_id", "transactional_id")

    def __init__(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[Place],
        add: bool,
        done: Callable[[Codes], None],
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.partitions = partitions
        self.add = add
        self.done = done

    @property
    def key(self) -> str:
        """Answers are told apart by it."""
        return self.transactional_id

    def all(self, code: ErrorCode) -> None:
        """The same answer for every partition."""
        self.done(dict.fromkeys(self.partitions, code))


class ClusterGate:
    """Asks the coordinator wherever it is."""

    def __init__(self, node: NodeCore) -> None:
        self._node = node
        self._gathering: Gathering[Question] = Gathering("gate", self._send)

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[Place],
        add: bool,
        done: Callable[[Codes], None],
    ) -> None:
        """See `TransactionGate`."""
        node = self._node
        led = node.image.partition(STATE_TOPIC, node.transactions.partition_for(transactional_id))
        if led is None or led.leader < 0:
            done(dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        elif led.leader == node.node_id:
            node.transactions.admit(transactional_id, producer_id, producer_epoch, partitions, add, done)
        else:
            question = Question(transactional_id, producer_id, producer_epoch, partitions, add, done)
            self._gathering.add(led.leader, question)

    def _send(self, node_id: int, lane: str, questions: list[Question], back: Callable[[], None]) -> None:
        request = AddPartitionsToTxnRequest(transactions=[_asked(question) for question in questions])

        def answered(response: Message | None) -> None:
            back()
            codes = _answers(response) if isinstance(response, AddPartitionsToTxnResponse) else {}
            for question in questions:
                _tell(question, codes.get(question.transactional_id, {}))

        timeout_ms = self._node.setting_int("request.timeout.ms")
        self._node.to_broker(node_id, lane, request, VERSION, timeout_ms, answered)


def _tell(question: Question, codes: Codes) -> None:
    told = {place: codes.get(place, ErrorCode.COORDINATOR_NOT_AVAILABLE) for place in question.partitions}
    question.done({place: GATE_CODES.get(code, code) for place, code in told.items()})


def _asked(question: Question) -> AddPartitionsToTxnTransaction:
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for name, index in question.partitions:
        topics.setdefault(name, AddPartitionsToTxnTopic(name=name)).partitions.append(index)
    return AddPartitionsToTxnTransaction(
        transactional_id=question.transactional_id,
        producer_id=question.producer_id,
        producer_epoch=question.producer_epoch,
        verify_only=not question.add,
        topics=list(topics.values()),
    )


def _answers(response: AddPartitionsToTxnResponse) -> dict[str, Codes]:
    if response.error_code:
        return {}
    return {
        result.transactional_id: {
            (topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }
        for result in response.results_by_transaction
    }
