"""Reading a range of a partition: one Fetch ahead, records as slices of the frames they came in.

An answer's batch headers are walked to know where the next Fetch begins; that is sent before the answer is handed
over, so that the broker and the socket work while the caller decodes. What comes out is for a decoder to judge: CRCs,
records before the start, control batches and aborted transactions are still in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tapelog.client.cluster import Cluster
from tapelog.client.errors import (
    LinkError,
    OffsetOutOfRangeError,
    ProtocolError,
    RefusedError,
    Retriable,
    refusal,
)
from tapelog.client.fetched import Fetched, whole_batches
from tapelog.client.link import ANSWER_BYTES_MAX, Link, Ticket
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from tapelog.client.pace import Deadline
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tapelog.wire.record_batch import LOG_OVERHEAD, batch_size
from tapelog.wire.values import Slice

FETCH_BYTES: Final = 4 * 1024 * 1024
FETCH_BYTES_MAX: Final = ANSWER_BYTES_MAX - 1024 * 1024
"""A batch larger than what was asked for is asked for again with more, up to this."""
MAX_WAIT_MS: Final = 500
_GIVE_UP_SECONDS: Final = 0.5  # less is left for one more Fetch than it takes
_NAMES_MOST: Final = 12  # up to this version, Fetch names topics; from the next on, their ids


def fetch_range(
    cluster: Cluster,
    topic: str,
    partition: int,
    start: int,
    until: int,
    *,
    isolation: int = READ_UNCOMMITTED,
    fetch_bytes: int = FETCH_BYTES,
    max_wait_ms: int = MAX_WAIT_MS,
    patience_ms: int | None = None,
    topic_id: bytes = b"",
) -> Iterator[Fetched]:
    """All batches that hold offsets from `start` to `until` (exclusive), in order.

    The last answer may reach beyond `until`. An answer must come within `patience_ms`, or the settings' api_timeout_ms
    where that is None; waiting for records that are not written yet counts, too. OffsetOutOfRangeError where `start` is
    not there (any more). `topic_id` is that of the topic that the offsets count in; without it, the topic is the one
    that gives the first answer. RecreatedTopicError where the name belongs to another topic. Brokers before Kafka 3.1
    fetch by name: then metadata is asked before the first Fetch and before the last answer is handed over.
    """
    where = TopicPartition(topic, partition)
    reading = _Reading(cluster, where, start, until, isolation, fetch_bytes, max_wait_ms, patience_ms, topic_id)
    while reading.position < until:
        yield reading.next()


class _Reading:
    """One range being read: the position, and the Fetch that is under way."""

    def __init__(
        self,
        cluster: Cluster,
        where: TopicPartition,
        start: int,
        until: int,
        isolation: int,
        fetch_bytes: int,
        max_wait_ms: int,
        patience_ms: int | None,
        topic_id: bytes,
    ) -> None:
        self.cluster = cluster
        self.where = where
        self.position = start
        self.until = until
        self.isolation = isolation
        self.fetch_bytes = fetch_bytes
        self.max_wait_ms = max_wait_ms
        self.patience = None if patience_ms is None else patience_ms / 1000
        self._ticket: Ticket[FetchResponse] | None = None
        self._link: Link | None = None
        self._topic_id = topic_id
        """Empty: not known yet. Cached metadata may be of a topic that has been deleted since."""
        self._id_was_given = bool(topic_id)
        self._by_name = False
        """Whether brokers answered, or will, for any topic of that name, though an id was given."""
        self._asked_id = b""
        self._replica: int | None = None
        self._from_replica = False
        self._replica_until = 0.0

    def next(self) -> Fetched:
        """The next answer with something in it."""
        deadline = self.cluster.deadline(self.patience)
        doing = f"read {self.where} from {self.position}"
        found = self.cluster.retry(doing, lambda: self._attempt(deadline), deadline)
        if self._by_name and self.position >= self.until:
            self.cluster.retry(f"compare the id of {self.where}", lambda: self._compare_id(deadline), deadline)
        return found

    def _attempt(self, deadline: Deadline) -> Fetched:
        while True:
            part = self._receive(deadline)
            code = part.error_code
            if code == ErrorCode.NONE:
                self._topic_id = self._topic_id or self._asked_id
                fetched = self._look(part, deadline)
                if fetched is not None:
                    return fetched
            elif self._from_replica:
                self._replica = None  # a follower may lag: its leader knows better
            elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._out_of_range(deadline)
            else:
                raise refusal(code, f"read {self.where}", self._which)

    @property
    def _which(self) -> str:
        return f"topic {self.where.topic}, partition {self.where.partition}, offset {self.position}"

    def _receive(self, deadline: Deadline) -> PartitionData:
        if self._ticket is None:
            self._send(deadline)
        link, ticket = self._link, self._ticket
        assert link is not None and ticket is not None
        self._ticket = None
        answer = link.receive(ticket, deadline)
        if answer.error_code:
            raise refusal(answer.error_code, f"read {self.where}", self._which)
        for topic in answer.responses:
            for part in topic.partitions:
                if part.partition_index == self.where.partition:
                    return part
        raise LinkError(f"{link.address} answered without {self.where}", self._which)

    def _send(self, deadline: Deadline) -> None:
        link, info, leader = self.cluster.leader(self.where, deadline, self._topic_id)
        self._asked_id = info.topic_id if info.has_id else b""
        replica = self._replica_link(deadline)
        self._from_replica = replica is not None
        link = replica or link
        version = link.versions.choose(FetchRequest, None if info.has_id else _NAMES_MOST)
        if version <= _NAMES_MOST and info.has_id and self._id_was_given and not self._by_name:
            self._compare_id(deadline)  # what we know may be older than a topic made anew
            self._by_name = True
            self._send(deadline)
            return
        part = FetchPartition(
            self.where.partition, leader.leader_epoch, self.position, partition_max_bytes=self.fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=self.max_wait_ms,
            min_bytes=1,
            max_bytes=self.fetch_bytes,
            isolation_level=self.isolation,
            topics=[FetchTopic(info.name, info.topic_id, [part])],
            rack_id=link.settings.client_rack,
        )
        self._link = link
        self._ticket = link.send(request, FetchResponse, version, deadline)

    def _compare_id(self, deadline: Deadline) -> None:
        """RecreatedTopicError where the name belongs to another topic now. Inside `retry`."""
        self.cluster.forget_topics()
        self.cluster.leader(self.where, deadline, self._topic_id)

    def _replica_link(self, deadline: Deadline) -> Link | None:
        if self._replica is not None:
            broker = self.cluster.brokers.get(self._replica)
            if broker is not None and self.cluster.pace.now() < self._replica_until:
                try:
                    return self.cluster.link(broker.address, deadline)
                except LinkError:
                    pass
            self._replica = None
        return None

    def _look(self, part: PartitionData, deadline: Deadline) -> Fetched | None:
        """An answer without an error: where it ends, and the next Fetch; None if there is nothing in it."""
        if part.preferred_read_replica >= 0 and part.preferred_read_replica in self.cluster.brokers:
            self._replica = part.preferred_read_replica
            self._replica_until = self.cluster.pace.now() + self.cluster.settings.metadata_max_age_ms / 1000
        records = part.records
        if records is None or not isinstance(records, Slice) or records.size == 0:
            return self._nothing(part, deadline)
        end, next_offset = whole_batches(records, self.where)
        if end == records.start:
            self._ask_for_more(records)
            return None
        if next_offset <= self.position:
            raise ProtocolError(f"the broker answered with records before {self.position}", self._which)
        self.position = next_offset
        if next_offset < self.until:
            try:
                self._send(deadline)
            except Retriable:
                self._ticket = None  # it will be tried again when it is needed
        return self._fetched(part, records.buf, records.start, end)

    def _fetched(self, part: PartitionData, buf: bytes, start: int, end: int) -> Fetched:
        aborted = tuple([(one.producer_id, one.first_offset) for one in part.aborted_transactions or ()])
        stable, log_start = part.last_stable_offset, part.log_start_offset
        return Fetched(buf, start, end, aborted, self.position, part.high_watermark, stable, log_start)

    def _nothing(self, part: PartitionData, deadline: Deadline) -> Fetched | None:
        """Not written yet: ask again. Below the end, on the broker's own disk: a gap that compaction left."""
        if self._from_replica:
            self._replica = None
            return None
        stable = part.last_stable_offset if self.isolation == READ_COMMITTED else part.high_watermark
        if deadline.left() <= _GIVE_UP_SECONDS + self.max_wait_ms / 1000:
            raise self._not_there(stable)
        if stable <= self.position or self._replica is not None or self._local_start(deadline) > self.position:
            return None
        self.position = min(stable, self.until)
        return self._fetched(part, b"", 0, 0)

    def _not_there(self, stable: int) -> Retriable:
        if stable <= self.position:
            what = f"{self.where} ends at {stable}, before {self.until}"
            return Retriable(what, self._which, "wait for the transaction that is open there, or look what was lost")
        what = f"{self.where} does not give what it has at {self.position}"
        return Retriable(what, self._which, "look whether its tiered storage answers, and in time")

    def _local_start(self, deadline: Deadline) -> int:
        try:
            return list_offsets(self.cluster, {self.where: EARLIEST_LOCAL}, deadline=deadline)[self.where].offset
        except RefusedError as error:
            if error.code != ErrorCode.UNSUPPORTED_VERSION:
                raise
            return self.position  # a broker this old has no tier

    def _ask_for_more(self, cut: Slice) -> None:
        if self.fetch_bytes >= FETCH_BYTES_MAX:
            raise ProtocolError(
                f"a batch of {self.where} is larger than {FETCH_BYTES_MAX} bytes", self._which, "skip it, by its offset"
            )
        needed = batch_size(cut.buf, cut.start) if cut.size >= LOG_OVERHEAD else 0
        self.fetch_bytes = min(max(2 * self.fetch_bytes, needed), FETCH_BYTES_MAX)

    def _out_of_range(self, deadline: Deadline) -> None:
        begin = list_offsets(self.cluster, {self.where: EARLIEST}, deadline=deadline)[self.where].offset
        end = list_offsets(self.cluster, {self.where: LATEST}, deadline=deadline)[self.where].offset
        if begin <= self.position <= end:
            raise Retriable(f"{self.where} did not have offset {self.position} for a moment", self._which)
        if self._by_name:
            self._compare_id(deadline)  # these may be the offsets of another topic
        raise OffsetOutOfRangeError(self.where.topic, self.where.partition, self.position, begin, end)
