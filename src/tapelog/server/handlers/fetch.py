"""Fetch, versions 4 to 18: sessions, min bytes and max wait, bounds over partitions, isolation levels, topic ids.

Records are answered as regions of log files, so the shell can `sendfile` them; nothing here reads a record. A fetch
that finds less than `min_bytes` parks on its partitions and looks again when one of them moves, or when `max_wait_ms`
is over. The first non-empty partition returns at least one whole batch, whatever the bounds say. From version 11 on
consumers may read from followers, up to the high watermark those know of; a leader names the one in the consumer's
rack if `replica.selector.class` asks for that. Fetches of followers are `fetch_replica`'s. What only the tier has is
`fetch_tier`'s: the fetch waits until it is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timer
from tapelog.log.compaction.reading import first_with_records
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import FetchWaiter
from tapelog.server.call import Call
from tapelog.server.fetch_sessions import Key, Session, Wanted
from tapelog.server.handlers import fetch_replica, raft_fetch
from tapelog.server.handlers.fetch_parts import check, find, hint, is_news, missing, nothing, put
from tapelog.server.node_api import NodeApi
from tapelog.server.routes import ON_BROKER
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import AbortedTransaction, FetchResponse, PartitionData

if TYPE_CHECKING:
    from tapelog.log.tier.pieces import Awaited

_READ_COMMITTED: Final = 1
FOLLOWERS_SINCE: Final = 11
MAX_WAIT_MS_MAX: Final = 300_000


class PendingFetch(FetchWaiter):
    """A consumer's fetch being answered, perhaps after a wait."""

    def __init__(self, node: NodeApi, call: Call, request: FetchRequest) -> None:
        super().__init__()
        self.node = node
        self.call = call
        self.request = request
        self.session, self.wanted, self.incremental = node.fetch_sessions.open(request, call.version)
        self.by_id = call.version >= 13
        self.behind = False
        """Whether a partition is read from an older segment: there is more, so nobody waits for it."""
        self.timer: Timer | None = None
        self.parked_on: list[Partition] = []
        self.waits_for: list[Awaited] = []
        """What of the tier is on its way here for this fetch."""

    def start(self) -> None:
        """Answer now, or park."""
        bytes_max = min(self.request.max_bytes, self.node.setting_int("fetch.max.bytes"))
        self.bytes_max = bytes_max
        self.attempt(self.request.max_wait_ms <= 0 or not self.wanted)

    def retry(self) -> None:
        """A partition moved, or the wait is over."""
        self.ripe = False
        if not self.call.done:
            self.attempt(False)

    def expired(self) -> None:
        """The wait is over: answer with what there is."""
        if not self.call.done:
            self.attempt(True)

    def attempt(self, final: bool) -> None:
        """Read; answer if there is enough, an error, or no more time."""
        if self.call.connection.closed:
            self.unpark()
            return
        parts: list[tuple[Wanted, PartitionData]] = []
        total, urgent = 0, False
        self.behind = False
        if self.waits_for:
            self.leave_tier()
        for wanted in self.wanted.values():
            data = self.read(wanted, self.bytes_max - total, total == 0)
            records = data.records
            if records is not None:
                total += records.size  # type: ignore[union-attr]
            if data.error_code or data.diverging_epoch is not None or data.preferred_read_replica >= 0:
                urgent = True
            parts.append((wanted, data))
        if self.waits_for and total == 0 and not urgent and (self.timer is None or not final):
            if self.timer is None:  # whatever it says of waiting: else it would come back at once, for nothing
                self.park()
        elif final or urgent or self.behind or total >= self.request.min_bytes:
            self.unpark()
            self.answer(parts)
        elif self.timer is None:
            self.park()

    def park(self) -> None:
        """Wait on every partition of the fetch."""
        for wanted in self.wanted.values():
            partition = find(self.node, wanted, self.by_id)
            if partition is not None:
                partition.add_fetch(self)
                self.parked_on.append(partition)
        self.call.abandoned = self.unpark
        wait_ms = min(self.request.max_wait_ms, MAX_WAIT_MS_MAX)
        if self.waits_for:
            wait_ms = max(wait_ms, self.node.setting_int("remote.fetch.max.wait.ms"))
        self.timer = self.node.timers.after(wait_ms, self.expired)

    def unpark(self) -> None:
        """Stop waiting."""
        for partition in self.parked_on:
            partition.remove_fetch(self)
        self.parked_on = []
        if self.waits_for:
            self.leave_tier()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def tier_moved(self) -> None:
        """Something is here that it waited for."""
        if not self.ripe:
            self.ripe = True
            self.node.hub.ripe.append(self)

    def leave_tier(self) -> None:
        """Wait for nothing of the tier any more."""
        for piece in self.waits_for:
            piece.waiters.pop(self, None)
        self.waits_for = []

    def read(self, wanted: Wanted, budget: int, min_one: bool) -> PartitionData:
        """What one partition has for this fetch, within the budget."""
        data = nothing(wanted.index)
        partition = find(self.node, wanted, self.by_id)
        if partition is None:
            data.error_code = missing(self.node, wanted, self.by_id)
            return data
        if not check(partition, wanted, data, self.call.version < FOLLOWERS_SINCE):
            return data
        log = partition.log
        data.high_watermark = partition.high_watermark
        data.log_start_offset = log.start_offset
        upper = partition.high_watermark
        data.last_stable_offset = log.last_stable_offset(upper)
        if self.request.isolation_level == _READ_COMMITTED:
            upper = data.last_stable_offset
            data.aborted_transactions = []
        if self.request.rack_id and partition.leading and self.node.rack_aware:
            data.preferred_read_replica = self.node.nearest_replica(partition, wanted.offset, self.request.rack_id)
            if data.preferred_read_replica >= 0:
                return data
        offset, room = wanted.offset, min(wanted.max_bytes, budget)
        try:
            if log.start_offset <= offset < log.local_start_offset:
                from tapelog.server.handlers import fetch_tier

                offset = fetch_tier.read(self, partition, wanted, data, upper, room, min_one)
                if offset < log.local_start_offset:
                    return data
            if offset < log.local_start_offset or offset > log.end_offset:
                # A follower cannot tell what lies beyond its own end: out of range, the consumer would begin anew.
                unsure = offset > log.end_offset and not partition.leading
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER if unsure else ErrorCode.OFFSET_OUT_OF_RANGE, "")
            if offset >= upper:
                return data
            if room > 0 or min_one:
                start = offset
                if start < log.active.base_offset:  # whatever its policy is: it may have been compacted once
                    start = first_with_records(log, start, upper)
                region = log.read(start, max(room, 0), upper, min_one)
                if region is not None:
                    data.records = region
                    if offset < log.active.base_offset:
                        self.behind = True
                    if self.request.isolation_level == _READ_COMMITTED:
                        data.aborted_transactions = [
                            AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
                            for aborted in log.aborted_transactions(offset, region.next_offset)
                        ]
        except KafkaError as error:
            data.error_code = int(error.code)
            data.records = None
        except DiskError as failure:
            self.node.disk_failed(partition, failure)
            data.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
            data.records = None
        return data

    def answer(self, parts: list[tuple[Wanted, PartitionData]]) -> None:
        """Build the response; an incremental one leaves out partitions with nothing new."""
        session = self.session
        response = FetchResponse(session_id=session.id if session is not None else 0)
        with_data: list[Wanted] = []
        for wanted, data in parts:
            records = data.records
            has_data = records is not None
            if records is not None:
                with_data.append(wanted)
                partition = find(self.node, wanted, self.by_id)
                if partition is not None:
                    partition.counted().sent(records.size)  # type: ignore[union-attr]
            if self.incremental and not (has_data or is_news(wanted, data)):
                continue
            put(response, wanted, data)
            if data.error_code:
                hint(self.node, self.call, response, wanted, data)
        if session is not None:
            _rotate(session, with_data, self.by_id)
        self.call.reply(response)


def handle(node: NodeApi, call: Call, request: FetchRequest) -> None:
    """Answer a consumer's fetch, or a follower's; on the controller's listener, of the metadata log only."""
    if call.connection.side != ON_BROKER:
        raft_fetch.handle(node, call, request)
        return
    replica = request.replica_state.replica_id if request.replica_state is not None else request.replica_id
    if replica >= 0:
        fetch_replica.handle(node, call, request)
    else:
        PendingFetch(node, call, request).start()


def _rotate(session: Session, with_data: list[Wanted], by_id: bool) -> None:
    if len(session.wanted) < 2:
        return
    for wanted in with_data:
        key: Key = (wanted.topic_id if by_id else wanted.topic, wanted.index)
        session.wanted[key] = session.wanted.pop(key)
