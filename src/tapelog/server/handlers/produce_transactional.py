"""Produce with a transactional id: a producer's first batch in a partition waits for the transaction coordinator.

Where the producer has a transaction open already, its batch is appended like any other. Where it has not, the batch is
held behind a guard of that partition (`replication.guards`) until the coordinator says that the partition is part of
the transaction: up to version 11 the client must have added it (transaction version 1), from version 12 on asking adds
it (version 2). Batches of the same producer wait behind it, in order. Other partitions of the request do not wait.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from tapelog.replication.guards import Guard, HeldBatch
from tapelog.replication.partition import Partition
from tapelog.server.call import Call
from tapelog.server.handlers.produce_batch import (
    PendingProduce,
    append_batch,
    is_transactional,
    looks_right,
    no_batch,
    partition_for,
)
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.produce_request import ProduceRequest
from tapelog.wire.messages.produce_response import PartitionProduceResponse, TopicProduceResponse
from tapelog.wire.primitives import Slice
from tapelog.wire.record_batch import BASE_SEQUENCE_AT, PRODUCER_EPOCH_AT, PRODUCER_ID_AT

ADDS_FROM: Final = 12
"""From this version on a Produce adds its partitions to the transaction (transaction version 2)."""
ABORTABLE_FROM: Final = 11
"""From this version on clients know TRANSACTION_ABORTABLE."""
VERIFICATION: Final = "transaction.partition.verification.enable"
_NOT_ENOUGH: Final = int(ErrorCode.NOT_ENOUGH_REPLICAS)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_UNASKED: Final = "the transaction coordinator could not be asked: "
_REFUSALS: Final = {
    ErrorCode.INVALID_TXN_STATE: "the partition is not part of an ongoing transaction",
    ErrorCode.TRANSACTION_ABORTABLE: "the partition is not part of an ongoing transaction",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "the producer id is not the one of this transactional id",
    ErrorCode.INVALID_PRODUCER_EPOCH: "another producer has taken over this transactional id",
}
_RETRIED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Ready:
    """A batch that looks right, and the partition it is for."""

    def __init__(self, partition: Partition, records: Slice, slot: int) -> None:
        self.partition = partition
        self.records = records
        self.slot = slot


class HeldProduce(HeldBatch):
    """A batch of a Produce that waits behind a guard."""

    def __init__(self, ready: Ready, pending: PendingProduce) -> None:
        super().__init__(ready.records.end - ready.records.start)
        self.ready = ready
        self.pending = pending

    def admitted(self) -> None:
        """Append it; from now on it waits like any other."""
        pending, ready = self.pending, self.ready
        if ready.partition.closed or not ready.partition.leading:
            pending.failed(ready.slot, _NOT_LEADER)
            return
        append_batch(ready.partition, ready.records, pending, pending.partitions[ready.slot], ready.slot)
        pending.committed(ready.slot)  # the wait behind the guard is over; append_batch counted its own

    def refused(self, code: int) -> None:
        """Tell the client in words of its version."""
        known, message = told_to_clients(ErrorCode(code), self.pending.call.version)
        self.pending.partitions[self.ready.slot].error_message = message
        self.pending.failed(self.ready.slot, known)


def told_to_clients(code: ErrorCode, version: int) -> tuple[int, str | None]:
    """The coordinator's code as producers of that version understand it, and a message.

    What may be tried again becomes NOT_ENOUGH_REPLICAS: every client retries that, without asking for metadata.
    """
    if code in _RETRIED or (code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_FROM):
        return _NOT_ENOUGH, _UNASKED + code.name
    if code == ErrorCode.PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    elif code == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_FROM:
        code = ErrorCode.INVALID_TXN_STATE
    return int(code), _REFUSALS.get(code)


def start(node: NodeApi, call: Call, request: ProduceRequest, pending: PendingProduce) -> None:
    """Append what may be appended, hold what must be asked for; answer when all of it is decided and committed."""
    ready = _look(node, call.version, request, pending)
    producers = {_producer_of(one.records) for one in ready if is_transactional(one.records)}
    if len(producers) > 1:
        for part in pending.partitions:
            part.error_code = int(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            part.error_message = "a Produce carries the batches of one transactional producer"
        ready = []
    unasked: dict[tuple[str, int], tuple[Partition, Guard]] = {}
    for one in ready:
        guard = _guard_for(node, one, call.version) if is_transactional(one.records) else None
        if guard is None:
            append_batch(one.partition, one.records, pending, pending.partitions[one.slot], one.slot)
            continue
        if not guard.held:
            unasked[one.partition.topic, one.partition.index] = (one.partition, guard)
        if one.partition.guards.hold(guard, HeldProduce(one, pending)):
            pending.waiting += 1
        else:
            pending.partitions[one.slot].error_code = _NOT_ENOUGH
            pending.partitions[one.slot].error_message = "too much waits for the transaction coordinator"
    if unasked:
        assert request.transactional_id is not None
        _ask(node, request.transactional_id, producers.pop(), unasked, call.version)
    pending.started = True
    if pending.waiting == 0 and not call.done:
        pending.finish()


def _look(node: NodeApi, version: int, request: ProduceRequest, pending: PendingProduce) -> list[Ready]:
    """The batches that look right; for the others the response says what is wrong."""
    ready: list[Ready] = []
    for topic in request.topic_data:
        state = node.topics_by_id.get(topic.topic_id) if version >= 13 else node.topics.get(topic.name)
        answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        pending.response.responses.append(answer)
        for data in topic.partition_data:
            part = PartitionProduceResponse(index=data.index, error_code=0, base_offset=-1)
            answer.partition_responses.append(part)
            pending.partitions.append(part)
            partition = partition_for(state, data, pending, part)
            if partition is None:
                continue
            records = data.records
            if isinstance(records, Slice) and looks_right(records, version, True, part):
                ready.append(Ready(partition, records, len(pending.partitions) - 1))
            else:
                no_batch(part)
    return ready


def _producer_of(records: Slice) -> tuple[int, int]:
    """Producer id and epoch of a batch."""
    buf, start = records.buf, records.start
    return int(read_i64_be(buf, start + PRODUCER_ID_AT)), int(read_i16_be(buf, start + PRODUCER_EPOCH_AT))


def _guard_for(node: NodeApi, one: Ready, version: int) -> Guard | None:
    """The guard behind which the batch must wait, perhaps a new one; None if it may be appended now."""
    producer_id, epoch = _producer_of(one.records)
    partition = one.partition
    producers = partition.log.producers
    if producers.in_transaction(producer_id, epoch):
        return None
    adds = version >= ADDS_FROM
    if not adds and not node.setting_bool(VERIFICATION):
        return None
    sequence: int = read_i32_be(one.records.buf, one.records.start + BASE_SEQUENCE_AT)
    if producer_id not in producers.entries:
        producers.beginnings.note(producer_id, epoch, 0 if adds else sequence, partition.log.clock.wall_ms())
    return partition.guards.find(producer_id, epoch) or partition.guards.begin(producer_id, epoch)


def _ask(
    node: NodeApi,
    transactional_id: str,
    producer: tuple[int, int],
    unasked: dict[tuple[str, int], tuple[Partition, Guard]],
    version: int,
) -> None:
    """Ask the coordinator for all of them at once."""
    node.gate.admit(
        transactional_id,
        producer[0],
        producer[1],
        list(unasked),
        version >= ADDS_FROM,
        lambda codes: _answer_guards(unasked, codes),
    )


def _answer_guards(
    unasked: dict[tuple[str, int], tuple[Partition, Guard]], codes: dict[tuple[str, int], ErrorCode]
) -> None:
    for key, (partition, guard) in unasked.items():
        partition.guards.answer(guard, int(codes[key]))
