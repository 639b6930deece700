"""Writing records: gathered into batches per partition, sent to their leaders, several requests in flight, no threads.

`send` only gathers; requests leave when batches are full and there is room in flight, and answers are taken when they
are there. `flush` returns when everything has been acknowledged. Idempotent with an identity (transactions.py), so
that trying again never writes twice. What cannot be delivered raises, and the producer is of no use afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError, DeadlineError, Retriable, refusal
from tapelog.client.gather import Gatherer
from tapelog.client.link import Link, Ticket
from tapelog.client.metadata import TopicInfo, TopicPartition
from tapelog.client.producer_settings import NOBODY, ProducerIdentity, ProducerSettings
from tapelog.client.sequence import AGAIN, FAILED, IN_FLIGHT_MAX, Batch, PartitionQueue
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tapelog.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse
from tapelog.wire.record_batch import batch_of, build_batch

REQUEST_BYTES_MAX: Final = 16 * 1024 * 1024
"""Batches that leave in one request, together; a single one may be larger."""
_NAMES_MOST: Final = 12
_EXPLICIT_MOST: Final = 11
"""Up to this version a transaction's partitions are added beforehand; from the next on, by writing to them."""


@dataclass(slots=True)
class _Flight:
    """A request on its way, and whose batches it carries."""

    link: Link
    ticket: Ticket[ProduceResponse] | None
    batches: list[tuple[PartitionQueue, Batch]]
    names: dict[bytes, str]


class Producer:
    """Writes to any topics of a cluster. Not for two threads at once."""

    def __init__(
        self,
        cluster: Cluster,
        identity: ProducerIdentity = NOBODY,
        settings: ProducerSettings | None = None,
        *,
        transactional_id: str | None = None,
        enter: Callable[[list[TopicPartition]], None] | None = None,
    ) -> None:
        """With a transactional id, batches belong to its transaction; `enter` adds partitions to it before they are
        written to, and is None where the brokers do that by themselves."""
        self.cluster = cluster
        self.identity = identity
        self.settings = settings or ProducerSettings()
        assert self.settings.acks in (-1, 1), "without an acknowledgement nobody knows what arrived"
        self.records = 0
        self.bytes = 0
        self._transactional_id = transactional_id
        self._enter = enter
        self._entered: dict[TopicPartition, None] = {}
        self._gathered = Gatherer(self.settings.batch_bytes, self._partitions_of, cluster.pace.spread)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._flights: deque[_Flight] = deque()
        self._held = 0
        self._trouble: ClientError | None = None

    @property
    def touched(self) -> list[TopicPartition]:
        """The partitions that were written to."""
        return list(self._queues)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int | None = None,
    ) -> None:
        """Take a record. Blocks only where more is waiting than may."""
        full = self._gathered.add(topic, key, value, timestamp_ms, headers, partition)
        if full is not None:
            self._seal(full)
            self._work()

    def send_encoded(self, where: TopicPartition, body: bytes, count: int, first_ms: int, max_ms: int) -> None:
        """Take `count` records of one partition that are encoded already, as one batch; not beside `send` for it.

        `body` is what a batch holds after its header, not compressed; timestamps count from `first_ms`.
        """
        queue = self._queue(where)
        sequence = queue.number(count)
        data = batch_of(
            body,
            count,
            count - 1,
            first_ms,
            max_ms,
            compression=self.settings.compression,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            base_sequence=sequence,
            transactional=self._transactional_id is not None,
        )
        self._enqueue(queue, Batch(data, count, sequence, self.cluster.pace.now()))
        self._work()

    def flush(self) -> None:
        """Send everything, and wait until all of it is acknowledged; the first failure is raised."""
        for where in self._gathered.waiting():
            self._seal(where)
        while any(not queue.idle for queue in self._queues.values()):
            self._send_ready()
            self._wait()

    # -- inside

    def _partitions_of(self, topic: str) -> int:
        return len(self.cluster.topic(topic).partitions)

    def _seal(self, where: TopicPartition) -> None:
        records = self._gathered.take(where)
        queue = self._queue(where)
        sequence = queue.number(len(records))
        data = build_batch(
            records,
            compression=self.settings.compression,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            base_sequence=sequence,
            transactional=self._transactional_id is not None,
        )
        self._enqueue(queue, Batch(data, len(records), sequence, self.cluster.pace.now()))

    def _queue(self, where: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(where)
        if queue is None:
            queue = self._queues[where] = PartitionQueue(where, numbered=self.identity.producer_id >= 0)
        return queue

    def _enqueue(self, queue: PartitionQueue, batch: Batch) -> None:
        queue.ready.append(batch)
        self._held += len(batch.data)

    def _work(self) -> None:
        """Take the answers that are there, send what may be sent; wait only while too much is held."""
        while self._flights and (self._flights[0].ticket is None or self._flights[0].link.ready):
            self._land()
        self._send_ready()
        while self._held > self.settings.buffer_bytes:
            self._wait()
            self._send_ready()

    def _wait(self) -> None:
        """For an answer, or until a partition may be tried again."""
        if self._flights:
            self._land()
            return
        now = self.cluster.pace.now()
        waiting = [queue.not_before for queue in self._queues.values() if queue.ready]
        if waiting:
            self.cluster.pace.sleep(max(0.001, min(waiting) - now))

    def _send_ready(self) -> None:
        now = self.cluster.pace.now()
        loads: dict[Link, list[tuple[PartitionQueue, Batch, TopicInfo]]] = {}
        sizes: dict[Link, int] = {}
        for queue in self._queues.values():
            if not queue.sendable(now):
                continue
            self._check_age(queue, now)
            try:
                self._enter_transaction(queue.where)
                link, info, _ = self.cluster.leader(queue.where, self.cluster.deadline())
            except Retriable as error:
                self._put_off(queue, error)
                continue
            size = sizes.get(link, 0)
            if self._busy(link, queue) or (size and size + len(queue.ready[0].data) > REQUEST_BYTES_MAX):
                continue
            batch = queue.take()
            loads.setdefault(link, []).append((queue, batch, info))
            sizes[link] = size + len(batch.data)
        for link, load in loads.items():
            self._launch(link, load)

    def _busy(self, link: Link, queue: PartitionQueue) -> bool:
        flights = [flight for flight in self._flights if flight.link is link]
        if len(flights) >= IN_FLIGHT_MAX:
            return True
        # after its leader has moved, a partition's answers from the old one are waited for
        return bool(queue.flying) and not any(owner is queue for flight in flights for owner, _ in flight.batches)

    def _launch(self, link: Link, load: list[tuple[PartitionQueue, Batch, TopicInfo]]) -> None:
        most = None if all(info.has_id for _, _, info in load) else _NAMES_MOST
        if self._transactional_id is not None and self._enter is not None:
            most = _EXPLICIT_MOST
        topics: dict[str, TopicProduceData] = {}
        names: dict[bytes, str] = {}
        for queue, batch, info in load:
            topic = topics.setdefault(info.name, TopicProduceData(info.name, info.topic_id))
            topic.partition_data.append(PartitionProduceData(queue.where.partition, batch.data))
            names[info.topic_id] = info.name
        timeout_ms = link.settings.request_timeout_ms
        request = ProduceRequest(self._transactional_id, self.settings.acks, timeout_ms, list(topics.values()))
        flight = _Flight(link, None, [(queue, batch) for queue, batch, _ in load], names)
        self._flights.append(flight)
        try:
            version = link.versions.choose(ProduceRequest, most)
            flight.ticket = link.send(request, ProduceResponse, version, self.cluster.deadline())
        except Retriable as error:
            self._trouble = error

    def _land(self) -> None:
        """The oldest request's answer."""
        flight = self._flights.popleft()
        answers: dict[TopicPartition, PartitionProduceResponse] = {}
        try:
            if flight.ticket is not None:
                answer = flight.link.receive(flight.ticket, self.cluster.deadline())
                for topic in answer.responses:
                    name = topic.name or flight.names.get(topic.topic_id, "")
                    answers.update({TopicPartition(name, one.index): one for one in topic.partition_responses})
        except Retriable as error:
            self._trouble = error
        for queue, batch in flight.batches:
            self._landed(queue, batch, answers.get(queue.where))

    def _landed(self, queue: PartitionQueue, batch: Batch, told: PartitionProduceResponse | None) -> None:
        code = ErrorCode.NETWORK_EXCEPTION if told is None else told.error_code
        outcome = queue.answered(batch, code)
        if outcome == FAILED:
            assert told is not None
            first = told.record_errors[0].batch_index_error_message if told.record_errors else None
            raise refusal(code, f"write to {queue.where}", f"topic {queue.where.topic}", told.error_message or first)
        if outcome == AGAIN and code == ErrorCode.MESSAGE_TOO_LARGE:
            return  # it was split: nothing to wait for
        if outcome == AGAIN:
            error = self._trouble if told is None else None
            self._put_off(queue, error or refusal(code, f"write to {queue.where}", f"topic {queue.where.topic}"))
            return
        self._held -= batch.charge
        self.records += batch.count
        self.bytes += len(batch.data)

    def _put_off(self, queue: PartitionQueue, error: ClientError) -> None:
        self._trouble = error
        self.cluster.forget()
        settings = self.cluster.settings
        pause = min(settings.retry_backoff_ms * 2 ** min(queue.failures, 10), settings.retry_backoff_max_ms) / 1000
        queue.not_before = self.cluster.pace.now() + pause

    def _check_age(self, queue: PartitionQueue, now: float) -> None:
        seconds = self.settings.delivery_timeout_ms / 1000
        if now - queue.ready[0].at > seconds:
            trouble = self._trouble
            raise DeadlineError(
                f"could not write to {queue.where} within {seconds:g} s"
                + (f"; last: {trouble.what}" if trouble else ""),
                f"topic {queue.where.topic}, partition {queue.where.partition}, option kafka.delivery.timeout.ms",
                trouble.do if trouble else "",
            ) from trouble

    def _enter_transaction(self, where: TopicPartition) -> None:
        if self._enter is None or where in self._entered:
            return
        fresh = [queue.where for queue in self._queues.values() if queue.ready and queue.where not in self._entered]
        self._enter(fresh)
        self._entered.update(dict.fromkeys(fresh))
