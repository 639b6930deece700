"""A transactional producer for the simulator: one instance of an application with a transactional id.

It writes a transaction's batches over several partitions, several at a time, perhaps an offset with them, and commits
or aborts, with version 1 or 2 of the protocol. What is not answered is sent again, as clients do; whoever is told that
it is fenced begins anew, or stops if another instance has taken its place. `sim.payments` drives it and checks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from tapelog.sim.client import Client
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tapelog.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.end_txn_response import EndTxnResponse
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import ProduceResponse
from tapelog.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tapelog.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from tapelog.wire.record_batch import Record, build_batch

IN_FLIGHT_MAX: Final = 5
BEHIND_MS: Final = 4 * 3_600_000
"""Its clock is behind the broker's: a wall clock that jumps back meanwhile must not make a record of the future."""
AGAIN: Final = frozenset(
    (
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
OVER: Final = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTION_ABORTABLE,
    )
)
"""The transaction cannot go on: it was aborted for its age, or by another instance."""


class Txn:
    """One transaction as its application remembers it."""

    def __init__(
        self, name: str, number: int, batches: list[tuple[int, list[bytes]]], offset: int, commit: bool, sent: int
    ) -> None:
        self.name = name
        self.number = number
        self.batches = batches
        self.offset = offset
        self.commit = commit
        self.sent = sent
        """So many batches are sent before the end; the others of an aborted one are under way while it ends."""
        self.asked = False
        """Whether the coordinator was asked to commit it."""
        self.told: bool | None = None
        """Whether it is committed, as the coordinator said; None if it has not said."""


class Lane:
    """One partition's batches that are not acknowledged, in order."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, list[bytes]]] = deque()
        self.in_flight = 0
        self.next_sequence = 0

    def add(self, values: list[bytes]) -> None:
        """Another batch, with the sequences that follow."""
        self.waiting.append((self.next_sequence, values))
        self.next_sequence += len(values)


class SimTransactional:
    """One instance."""

    def __init__(
        self, name: str, topic: str, group: str, version: int, timeout_ms: int, connect: Callable[[], Client | None]
    ) -> None:
        self.name = name
        self.topic = topic
        self.group = group
        self.version = version
        self.timeout_ms = timeout_ms
        self.connect = connect
        self.client: Client | None = None
        self.current: Txn | None = None
        self.replaced = False
        self.dead = False
        self._producer = (-1, -1)
        self.ids: dict[int, None] = {}
        """Every producer id it was ever given."""
        self._next: Callable[[Client], None] | None = self._initialise
        """What to ask for next, until it is answered; None while batches are written or nothing is to be done."""
        self._busy = False
        self._turn = 0
        self._lanes: dict[int, Lane] = {}
        self.late: list[ProduceRequest] = []
        """Requests that are still under way although nobody waits for them any more."""

    @property
    def idle(self) -> bool:
        """Whether it could begin a transaction now."""
        return self._next is None and self.current is None and not self.dead

    @property
    def waits_for(self) -> str:
        """What it is at, for those who look for a reason."""
        step = self._next.__name__.strip("_") if self._next is not None else "write" if self.current else "nothing"
        return f"{self.name}: {step}{f' of {self.current.number}' if self.current else ''}"

    def begin(self, txn: Txn) -> None:
        """Begin a transaction."""
        assert self.idle
        self.current = txn
        for partition, values in txn.batches[: txn.sent]:
            self._lanes.setdefault(partition, Lane()).add(values)
        self._next = self._add_partitions if self.version == 1 else None

    def disconnected(self) -> None:
        """The node is gone, and with it whatever was under way."""
        self.client = None
        self._again()

    def push(self) -> None:
        """Send what may be sent."""
        if self.dead:
            return
        if self.client is None or self.client.closed:
            self.client = self.connect()
            self._again()
        if self.client is None or self._busy:
            return
        if self._next is not None:
            self._busy = True
            self._next(self.client)
        elif self.current is not None:
            self._write(self.client, self.current)

    def _again(self) -> None:
        """Nothing is under way any more: what comes late does not count."""
        self._turn += 1
        self._busy = False
        for lane in self._lanes.values():
            lane.in_flight = 0

    def _answered(self, turn: int, code: int) -> bool:
        """Whether the request succeeded; if not, what follows from that is done."""
        if turn != self._turn:
            return False
        self._busy = False
        if code == ErrorCode.NONE:
            return True
        if code in AGAIN:
            self._again()
        else:
            assert code in OVER, f"{self.name} got {ErrorCode(code).name}"
            self._give_up()
        return False

    def _give_up(self) -> None:
        """Fenced, or too slow: begin anew, unless somebody else has."""
        self._again()
        self.current = None
        self._lanes.clear()
        self.dead = self.replaced
        self._next = self._initialise

    # -- one request each

    def _initialise(self, client: Client) -> None:
        turn = self._turn

        def done(response: InitProducerIdResponse) -> None:
            if self._answered(turn, response.error_code):
                self._producer = (response.producer_id, response.producer_epoch)
                self.ids[response.producer_id] = None
                self._lanes.clear()
                self._next = None

        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=self.timeout_ms)
        client.send(request, 5 if self.version == 2 else 3, done)

    def _add_partitions(self, client: Client) -> None:
        turn, txn = self._turn, self.current
        assert txn is not None

        def done(response: AddPartitionsToTxnResponse) -> None:
            results = response.results_by_topic_v3_and_below[0].results_by_partition
            code = max((part.partition_error_code for part in results), default=0)
            if self._answered(turn, code):
                self._next = self._add_offsets if txn.offset >= 0 else None

        partitions = sorted({partition for partition, _ in txn.batches})
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self._producer[0],
            v3_and_below_producer_epoch=self._producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self.topic, partitions=partitions)],
        )
        client.send(request, 3, done)

    def _add_offsets(self, client: Client) -> None:
        turn = self._turn

        def done(response: AddOffsetsToTxnResponse) -> None:
            if self._answered(turn, response.error_code):
                self._next = None

        producer_id, epoch = self._producer
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, group_id=self.group
        )
        client.send(request, 3, done)

    def _write(self, client: Client, txn: Txn) -> None:
        """Up to five batches under way per partition; when all are acknowledged, the offset, then the end."""
        turn = self._turn  # changes when an answer says: again from the first
        for partition, lane in list(self._lanes.items()):
            while turn == self._turn and lane.in_flight < min(IN_FLIGHT_MAX, len(lane.waiting)):
                sequence, values = lane.waiting[lane.in_flight]
                lane.in_flight += 1
                self._produce(client, partition, lane, sequence, values)
        if turn == self._turn and not any(lane.waiting for lane in self._lanes.values()):
            self._next = self._commit_offset if txn.offset >= 0 else self._end

    def _produce(self, client: Client, partition: int, lane: Lane, sequence: int, values: list[bytes]) -> None:
        turn = self._turn

        def done(response: ProduceResponse) -> None:
            busy = self._busy
            if self._answered(turn, response.responses[0].partition_responses[0].error_code):
                self._busy = busy
                assert lane.waiting[0][0] == sequence, "acknowledgements must come in order"
                lane.waiting.popleft()
                lane.in_flight -= 1

        client.send(self._request(client, partition, sequence, values), self.produce_version, done)

    def _request(self, client: Client, partition: int, sequence: int, values: list[bytes]) -> ProduceRequest:
        at_ms = max(0, client.wall_ms() - BEHIND_MS)
        records = [Record(0, at_ms, value.rpartition(b":")[0], value) for value in values]  # no key occurs twice
        producer_id, epoch = self._producer
        batch = build_batch(
            records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True
        )
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=30_000)
        request.topic_data = [TopicProduceData(name=self.topic, partition_data=[data])]
        return request

    @property
    def produce_version(self) -> int:
        """The version of Produce that goes with its transaction version."""
        return 12 if self.version == 2 else 11

    def _commit_offset(self, client: Client) -> None:
        turn, txn = self._turn, self.current
        assert txn is not None

        def done(response: TxnOffsetCommitResponse) -> None:
            if self._answered(turn, response.topics[0].partitions[0].error_code):
                self._next = self._end

        producer_id, epoch = self._producer
        part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=txn.offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name, group_id=self.group, producer_id=producer_id, producer_epoch=epoch
        )
        request.topics = [TxnOffsetCommitRequestTopic(name=self.topic, partitions=[part])]
        client.send(request, 5 if self.version == 2 else 3, done)

    def _end(self, client: Client) -> None:
        turn, txn = self._turn, self.current
        assert txn is not None
        txn.asked = txn.asked or txn.commit
        for partition, values in txn.batches[txn.sent :]:
            lane = self._lanes.setdefault(partition, Lane())
            self.late.append(self._request(client, partition, lane.next_sequence, values))
            lane.next_sequence += len(values)

        def done(response: EndTxnResponse) -> None:
            if self._answered(turn, response.error_code):
                txn.told = txn.commit
                self.current = self._next = None
                if self.version == 2:
                    self._producer = (response.producer_id, response.producer_epoch)
                    self.ids[response.producer_id] = None
                    self._lanes.clear()
                elif txn.sent < len(txn.batches):
                    self._next = self._initialise  # the sequences are in doubt: only a new epoch helps

        producer_id, epoch = self._producer
        request = EndTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, committed=txn.commit
        )
        client.send(request, 5 if self.version == 2 else 4, done)
