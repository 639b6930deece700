"""An idempotent producer for the simulator, and the ledger of what it was promised.

It keeps up to five batches in flight, resends what was not acknowledged with the same sequence numbers after every
failure, and remembers exactly which records were acknowledged: those must be in the log, once and in order, for ever.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tapelog.sim.client import Client
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import ProduceResponse
from tapelog.wire.record_batch import Record, build_batch

IN_FLIGHT_MAX: Final = 5
REFUSALS_MAX: Final = 5
"""So often in a row the next batch of a weak producer is refused before it believes that others were lost."""
RETRIABLE: Final = (
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
)


class Ledger:
    """What was written to one partition, by producer: values in order, and how many of them were acknowledged."""

    def __init__(self) -> None:
        self.sent: dict[int, list[bytes]] = {}
        self.acknowledged: dict[int, int] = {}
        self.weak: dict[int, bool] = {}
        """Producers to whom nothing was promised but order, since they ask for acks=1 where leaders may fail."""

    def check(self, found: list[tuple[int, bytes]]) -> None:
        """Compare with (producer number, value) as read back from the partition."""
        by_producer: dict[int, list[bytes]] = {}
        for number, value in found:
            by_producer.setdefault(number, []).append(value)
        for number, sent in self.sent.items():
            got = by_producer.get(number, [])
            if number in self.weak:
                _check_weak(number, got)
                continue
            safe = self.acknowledged.get(number, 0)
            assert len(got) >= safe, f"producer {number}: {safe} records acknowledged, only {len(got)} are there"
            assert got == sent[: len(got)], f"producer {number}: records are missing, repeated or out of order"


def _check_weak(number: int, got: list[bytes]) -> None:
    """What one producer id has written is there in order and once; what is there of another id may repeat it."""
    last: dict[bytes, int] = {}
    for value in got:
        _, index, generation, _ = value.split(b":")
        assert last.get(generation, -1) < int(index), f"producer {number}: records are repeated or out of order"
        last[generation] = int(index)


class SimProducer:
    """One producer of one partition. A weak one may lose what was acknowledged, and begins anew then; a patient one
    sends a batch when the one before is acknowledged."""

    def __init__(
        self,
        number: int,
        topic: str,
        partition: int,
        ledger: Ledger,
        acks: int,
        *,
        weak: bool = False,
        patient: bool = False,
    ) -> None:
        self.weak = weak
        self.patient = patient
        self.generation = 0
        self._refused = 0
        if weak:
            ledger.weak[number] = True
        self.number = number
        self.topic = topic
        self.partition = partition
        self.ledger = ledger
        self.acks = acks
        self.client: Client | None = None
        self.producer_id = -1
        self.starting = False
        self._epoch_of_client = 0
        self._batches: deque[tuple[int, list[bytes]]] = deque()  # (first sequence, values), not acknowledged
        self._in_flight = 0
        self._next_sequence = 0
        self._known = False
        ledger.sent[number] = []

    def connected(self, client: Client) -> None:
        """A new connection: everything not acknowledged goes again."""
        self.client = client
        self._epoch_of_client += 1
        self._in_flight = 0
        self.starting = False

    def disconnected(self) -> None:
        """The node is gone."""
        self.client = None

    @property
    def idle(self) -> bool:
        """Whether everything sent was acknowledged."""
        return not self._batches

    def add(self, values: list[bytes]) -> None:
        """Another batch to be sent."""
        self._batches.append((self._next_sequence, values))
        self._next_sequence += len(values)
        self.ledger.sent[self.number] += values

    def push(self) -> None:
        """Send what may be sent."""
        client = self.client
        if client is None:
            return
        if self.producer_id < 0:
            if not self.starting:
                self.starting = True
                client.send(
                    InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4, self._started
                )
            return
        epoch = self._epoch_of_client  # changes when an answer says: again from the first
        # A partition that does not know the producer takes any sequence as the first, in Kafka as well: one at a time
        limit = IN_FLIGHT_MAX if self._known and not self.patient else 1
        while epoch == self._epoch_of_client and self._in_flight < min(limit, len(self._batches)):
            sequence, values = self._batches[self._in_flight]
            self._in_flight += 1
            self._send(client, sequence, values)

    def _started(self, response: InitProducerIdResponse) -> None:
        self.starting = False
        if response.error_code == 0:
            self.producer_id = response.producer_id

    def _send(self, client: Client, sequence: int, values: list[bytes]) -> None:
        if self.weak:
            values = [b"%b:%d:%b" % (value[: value.index(b":x")], self.generation, b"x") for value in values]
        records = [self.record(value) for value in values]
        batch = build_batch(records, producer_id=self.producer_id, producer_epoch=0, base_sequence=sequence)
        data = PartitionProduceData(index=self.partition, records=batch)
        request = ProduceRequest(acks=self.acks, timeout_ms=30_000)
        request.topic_data = [TopicProduceData(name=self.topic, partition_data=[data])]
        epoch = self._epoch_of_client
        client.send(request, 9, lambda response: self._answered(epoch, sequence, response))

    def record(self, value: bytes) -> Record:
        """As it goes into the log."""
        return Record(offset=0, timestamp=0, key=None, value=value, headers=[])

    def _answered(self, epoch: int, sequence: int, response: ProduceResponse) -> None:
        if epoch != self._epoch_of_client:
            return
        code = response.responses[0].partition_responses[0].error_code
        if code and code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            if self.weak and code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and sequence == self._batches[0][0]:
                self._refused += 1
                if self._refused > REFUSALS_MAX:
                    self._begin_anew()
                    return
            assert code in RETRIABLE, f"producer {self.number} got {ErrorCode(code).name}"
            self._in_flight = 0  # send again from the first that is not acknowledged
            self._epoch_of_client += 1
            return
        first, values = self._batches[0]
        assert first == sequence, "acknowledgements must come in order"
        self._batches.popleft()
        self._in_flight -= 1
        self._known = True
        self._refused = 0
        acknowledged = self.ledger.acknowledged
        acknowledged[self.number] = acknowledged.get(self.number, 0) + len(values)

    def _begin_anew(self) -> None:
        """What was acknowledged is lost: another producer id, and sequences from zero."""
        self.producer_id, self.generation, self._refused, self._known = -1, self.generation + 1, 0, False
        self._epoch_of_client += 1
        self._in_flight = self._next_sequence = 0
        batches, self._batches = self._batches, deque()
        for _, values in batches:
            self._batches.append((self._next_sequence, values))
            self._next_sequence += len(values)
